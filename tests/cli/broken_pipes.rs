//! The exit code if the reader of the output goes away, or the output cannot be written.

use std::error::Error;
use std::fs::File;
use std::io::{PipeWriter, pipe};
use std::process::Stdio;

use portway::Framing;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

use crate::command::{TEST_TIMEOUT, Test, portway};
use crate::fixtures::Server;

/// A pipe without a reader.
fn unread() -> std::io::Result<PipeWriter> {
    pipe().map(|(_, writer)| writer)
}

/// Runs the command with this standard output. Returns the exit code and standard error.
async fn into(arguments: &[&str], output: impl Into<Stdio>) -> Result<(Option<i32>, String), Box<dyn Error>> {
    let child = portway(arguments).stdout(output).spawn()?;
    let output = timeout(TEST_TIMEOUT, child.wait_with_output()).await??;
    Ok((output.status.code(), String::from_utf8(output.stderr)?))
}

#[tokio::test]
async fn the_findings_set_the_exit_code_if_the_reader_leaves_after_a_line() -> Test {
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
async fn a_call_with_an_unread_output_exits_with_the_code_of_its_answer() -> Test {
    let server = Server::start(Framing::ContentLength).await?;
    for (arguments, code) in [
        (&["call", "add", "[1, 2]", "--unix", server.path()][..], 0),
        (&["call", "large", "[1000000]", "--unix", server.path()], 0),
        (&["call", "fail", "--json", "--unix", server.path()], 1),
        (&["call", "fail", "--unix", server.path()], 1),
    ] {
        assert_eq!(into(arguments, unread()?).await?.0, Some(code), "{arguments:?}");
    }
    Ok(())
}

#[tokio::test]
async fn help_ends_with_0_if_it_is_not_read_and_with_2_if_it_cannot_be_written() -> Test {
    for arguments in
        [&["--help"][..], &["call", "--help"], &["help", "decode"], &["--version"], &["completions", "zsh"]]
    {
        assert_eq!(into(arguments, unread()?).await?, (Some(0), String::new()), "{arguments:?}");
        let full = File::options().write(true).open("/dev/full");
        // Only Linux has it.
        if let Ok(full) = full {
            let (code, stderr) = into(arguments, full).await?;
            assert_eq!(code, Some(2), "{arguments:?}");
            assert!(stderr.contains("cannot write to standard output: No space left"), "{arguments:?}: {stderr}");
        }
    }
    Ok(())
}
