//! The exit code of a command whose reader closes the pipe, or whose output cannot be written.

use std::error::Error;
use std::fs::File;
use std::io::{PipeWriter, pipe};
use std::process::Stdio;

use portway::Framing;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use crate::command::{TEST_TIMEOUT, Test, portway};
use crate::fixtures::Server;

/// Returns the write end of a pipe whose read end is closed.
fn closed_pipe() -> std::io::Result<PipeWriter> {
    pipe().map(|(_, writer)| writer)
}

/// Runs the command with `output` as its standard output. Returns the exit code and standard error.
async fn run_into(arguments: &[&str], output: impl Into<Stdio>) -> Result<(Option<i32>, String), Box<dyn Error>> {
    let child = portway(arguments).stdout(output).spawn()?;
    let output = timeout(TEST_TIMEOUT, child.wait_with_output()).await??;
    Ok((output.status.code(), String::from_utf8(output.stderr)?))
}

#[tokio::test]
async fn a_pipe_that_is_closed_after_a_line_does_not_change_the_exit_code() -> Test {
    let folder = tempfile::tempdir()?;
    let valid = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n";
    for (arguments, first, others, code) in [
        (&["validate", "--lines"][..], "{}\n", "{}\n", 1),
        (&["validate", "--lines", "--json"], "{}\n", valid, 1),
        (&["validate", "--lines", "--json"], valid, valid, 0),
        (&["decode", "--framing", "newline"], "no json\n", valid, 1),
        (&["decode", "--framing", "newline"], valid, valid, 0),
    ] {
        let file = folder.path().join("messages");
        std::fs::write(&file, first.to_owned() + &others.repeat(200_000))?;
        let mut child = portway(arguments).stdin(File::open(&file)?).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        assert!(timeout(TEST_TIMEOUT, lines.next_line()).await??.is_some());
        drop(lines);
        let output = timeout(TEST_TIMEOUT, child.wait_with_output()).await??;
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert_eq!(String::from_utf8(output.stderr)?, "", "{arguments:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_call_into_a_closed_pipe_exits_with_the_code_of_its_response() -> Test {
    let server = Server::start(Framing::ContentLength).await?;
    for (arguments, code) in [
        (&["call", "add", "[1, 2]", "--unix", server.path()][..], 0),
        (&["call", "large", "[1000000]", "--unix", server.path()], 0),
        (&["call", "fail", "--json", "--unix", server.path()], 1),
        (&["call", "fail", "--unix", server.path()], 1),
    ] {
        assert_eq!(run_into(arguments, closed_pipe()?).await?.0, Some(code), "{arguments:?}");
    }
    Ok(())
}

#[tokio::test]
async fn help_exits_with_0_for_a_closed_pipe_and_with_2_for_a_full_device() -> Test {
    for arguments in
        [&["--help"][..], &["call", "--help"], &["help", "decode"], &["--version"], &["completions", "zsh"]]
    {
        assert_eq!(run_into(arguments, closed_pipe()?).await?, (Some(0), String::new()), "{arguments:?}");
        let full = File::options().write(true).open("/dev/full");
        // `/dev/full` exists only on Linux.
        if let Ok(full) = full {
            let (code, stderr) = run_into(arguments, full).await?;
            assert_eq!(code, Some(2), "{arguments:?}");
            assert!(stderr.contains("cannot write to standard output: No space left"), "{arguments:?}: {stderr}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn serve_exits_with_3_if_standard_output_is_full() -> Test {
    // `/dev/full` exists only on Linux.
    let Ok(full) = File::options().write(true).open("/dev/full") else { return Ok(()) };
    let mut process = portway(["serve", "--stdio", "--demo"]).stdin(Stdio::piped()).stdout(full).spawn()?;
    let mut stdin = process.stdin.take().ok_or("the input must be a pipe")?;
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    stdin.write_all(format!("Content-Length: {}\r\n\r\n{request}", request.len()).as_bytes()).await?;
    let output = timeout(TEST_TIMEOUT, process.wait_with_output()).await??;
    let stderr = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("cannot serve: No space left on device"), "{stderr}");
    Ok(())
}
