//! `portway call`: its params, results, errors, notifications and progress.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use portway::Framing;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixListener;
use tokio::process::Command;
use tokio::time::timeout;

use crate::command::{TEST_TIMEOUT, Test, feed, portway, run};
use crate::fixtures::{Server, frame_script, line_script, printed_frame};

#[tokio::test]
async fn a_result_is_one_line_on_standard_output() -> Test {
    for (framing, options) in [
        (Framing::ContentLength, vec!["--framing=auto", "--framing=content-length"]),
        (Framing::Newline, vec!["--framing=auto", "--framing=newline"]),
        (Framing::Wipc, vec!["--framing=wipc"]),
    ] {
        let server = Server::start(framing).await?;
        for option in options {
            for target in [["--unix", server.path()], ["--tcp", &server.address]] {
                let outcome = run(["call", "add", "[1, 2]", option, target[0], target[1]]).await?;
                assert_eq!(
                    (outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()),
                    (Some(0), "3\n", ""),
                    "{option}"
                );
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn params_and_results_are_passed_without_changes_except_white_space() -> Test {
    let server = Server::start(Framing::ContentLength).await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("params.json");
    let params = "{ \"z\": 12345678901234567890.10,\n  \"a\": [1e2, \"é\\u0000 \\\" }\", {}, []], \"z\": -0 }";
    let expected = "{\"z\":12345678901234567890.10,\"a\":[1e2,\"é\\u0000 \\\" }\",{},[]],\"z\":-0}\n";
    std::fs::write(&file, params)?;
    let file_argument = format!("@{}", file.display());
    for (argument, input) in [(params, ""), ("-", params), (&file_argument, "")] {
        for framing in ["auto", "content-length"] {
            let arguments = ["call", "echo", argument, "--unix", server.path(), "--framing", framing];
            let outcome = feed(arguments, input.as_bytes()).await?;
            assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), expected), "{}", outcome.stderr);
        }
    }
    // The params `null` have the same effect as missing params.
    for arguments in
        [&["call", "advance", "--unix", server.path()][..], &["call", "advance", "null", "--unix", server.path()]]
    {
        let outcome = run(arguments).await?;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "\"done\"\n"), "{}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn an_error_of_the_peer_is_printed_as_text_or_as_json() -> Test {
    let server = Server::start(Framing::Newline).await?;
    let outcome = run(["call", "fail", "{\"why\": [1, 2]}", "--unix", server.path()]).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""));
    let expected =
        "portway: the peer answered with an error: it \\u{1b}[31mbroke (-32001)\n         data: {\"why\":[1,2]}\n";
    assert_eq!(outcome.stderr, expected, "the escape sequence must be escaped");

    let outcome = run(["call", "fail", "{\"why\": [1, 2]}", "--unix", server.path(), "--json"]).await?;
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    let error = json!({ "code": -32001, "message": "it \u{1b}[31mbroke", "data": { "why": [1, 2] } });
    assert_eq!(outcome.events()?, [error]);

    let outcome = run(["call", "fail", "--unix", server.path(), "--json"]).await?;
    assert_eq!(outcome.events()?, [json!({ "code": -32001, "message": "it \u{1b}[31mbroke" })]);
    let outcome = run(["call", "nothing", "--unix", server.path()]).await?;
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("Method not found: nothing (-32601)"), "{}", outcome.stderr);
    Ok(())
}

#[tokio::test]
async fn a_notification_does_not_wait_for_a_response() -> Test {
    for framing in [Framing::ContentLength, Framing::Newline] {
        let mut server = Server::start(framing).await?;
        for (number, target) in [["--unix", server.path()], ["--tcp", &server.address]].into_iter().enumerate() {
            let params = format!("[{number}]");
            let outcome = run(["call", "log", &params, "--notify", target[0], target[1]]).await?;
            assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(0), "", ""));
        }
        let mut received = [server.received.recv().await, server.received.recv().await];
        received.sort();
        assert_eq!(received, [Some("[0]".to_owned()), Some("[1]".to_owned())]);
    }
    Ok(())
}

#[tokio::test]
async fn progress_is_shown_only_with_the_option() -> Test {
    let server = Server::start(Framing::ContentLength).await?;
    let outcome = run(["call", "advance", "--unix", server.path(), "--progress"]).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "\"done\"\n"));
    assert_eq!(
        outcome.stderr,
        "portway: progress: {\"percent\":50}\nportway: progress: {\"token\":\"mine\",\"value\":1}\n"
    );
    let outcome = run(["call", "advance", "--unix", server.path()]).await?;
    assert_eq!(outcome.stderr, "");
    Ok(())
}

#[tokio::test]
async fn a_program_is_started_and_its_other_output_goes_to_standard_error() -> Test {
    let answer =
        r#"echo "[INFO] \033[1mworking"; echo to stderr >&2; echo '{"jsonrpc":"2.0","id":1,"result":[1,  {"a": 2}]}'"#;
    let mut arguments = vec!["call".to_owned(), "work".to_owned()];
    arguments.extend(line_script(answer));
    let outcome = run(&arguments).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "[1,{\"a\":2}]\n"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("to stderr\n"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("portway: the peer printed: [INFO] "), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains('\u{1b}'), "{}", outcome.stderr);

    // This program prints a line, then a text without a line end, and then a frame.
    let frame = printed_frame(r#"{"jsonrpc":"2.0","id":1,"result":5}"#);
    let mut arguments = vec!["call".to_owned(), "work".to_owned()];
    arguments.extend(frame_script(&format!("echo starting; printf half; {frame}")));
    for framing in ["--framing=auto", "--framing=content-length"] {
        arguments.insert(1, framing.to_owned());
        let outcome = run(&arguments).await?;
        arguments.remove(1);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "5\n"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("the peer printed: starting\n"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("the peer printed: half"), "{}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn endless_lines_of_a_peer_are_printed_up_to_a_bound() -> Test {
    for framing in ["auto", "content-length", "wipc"] {
        let start = Instant::now();
        let outcome = run([
            "call",
            "--timeout=1",
            "--framing",
            framing,
            "work",
            "--",
            "sh",
            "-c",
            "yes hello | head -c 200000; exec sleep 9",
        ])
        .await?;
        let lines = outcome.stderr.lines().filter(|line| line.contains("the peer printed: hello")).count();
        assert!((990..=1_000).contains(&lines), "{lines} lines, {framing}");
        assert!(outcome.stderr.contains("portway: further lines about the peer are not shown\n"), "{framing}");
        assert_ne!(outcome.code, Some(0));
        assert!(start.elapsed() < Duration::from_secs(9), "{framing}");
    }
    Ok(())
}

#[tokio::test]
async fn each_line_that_a_peer_prints_is_shown_at_once() -> Test {
    let message = r#"echo '{"jsonrpc":"2.0","method":"n"}'"#;
    for framing in ["auto", "newline"] {
        for begin in ["", message] {
            // The program does not exit, so the command must show the lines while the program runs.
            let script = format!("echo one; {begin}\necho two; echo three; exec cat >/dev/null");
            let mut child = portway(["call", "--timeout=60", "--framing", framing, "x", "--", "sh", "-c", &script])
                .stdin(Stdio::null())
                .spawn()?;
            let mut lines = BufReader::new(child.stderr.take().ok_or("no standard error")?).lines();
            for word in ["one", "two", "three"] {
                let line = timeout(TEST_TIMEOUT, lines.next_line()).await??;
                assert_eq!(line.as_deref(), Some(&*format!("portway: the peer printed: {word}")), "{framing} {begin}");
            }
            child.kill().await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_endless_line_of_a_peer_is_printed_in_pieces() -> Test {
    let script = "head -c 1000000 /dev/zero | tr '\\0' x";
    for framing in ["auto", "newline", "content-length", "wipc"] {
        let outcome = run(["call", "--framing", framing, "x", "--", "sh", "-c", script]).await?;
        let pieces = outcome.stderr.lines().filter_map(|line| line.strip_prefix("portway: the peer printed: "));
        let lengths: Vec<_> = pieces.map(str::len).collect();
        assert!(lengths.iter().all(|length| *length <= 4_096), "{framing}: {lengths:?}");
        assert_eq!(lengths.iter().sum::<usize>(), 1_000_000, "{framing}");
    }
    Ok(())
}

#[tokio::test]
async fn options_after_the_program_are_passed_to_the_program() -> Test {
    let script = r#"IFS= read -r line; printf '{"jsonrpc":"2.0","id":1,"result":"%s"}\n' "$*"; cat >/dev/null"#;
    let outcome =
        run(["call", "work", "--framing", "newline", "--", "sh", "-c", script, "sh", "--json", "-V", "--", "@x"])
            .await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "\"--json -V -- @x\"\n"), "{}", outcome.stderr);
    Ok(())
}

#[tokio::test]
async fn a_result_is_printed_before_the_program_has_exited() -> Test {
    let answer = r#"echo '{"jsonrpc":"2.0","id":1,"result":true}'; trap '' TERM HUP; exec sleep 3600"#;
    let mut arguments = vec!["call".to_owned(), "work".to_owned()];
    arguments.extend(line_script(answer));
    let mut child = portway(&arguments).spawn()?;
    let start = Instant::now();
    let mut stdout = tokio::io::BufReader::new(child.stdout.take().ok_or("no output")?);
    let mut line = String::new();
    timeout(TEST_TIMEOUT, tokio::io::AsyncBufReadExt::read_line(&mut stdout, &mut line)).await??;
    assert_eq!(line, "true\n");
    let time_of_result = start.elapsed();
    assert_eq!(timeout(TEST_TIMEOUT, child.wait()).await??.code(), Some(0));
    let until_exit = start.elapsed() - time_of_result;
    assert!(until_exit > Duration::from_millis(100), "{until_exit:?}");
    Ok(())
}

#[tokio::test]
async fn a_message_within_max_bytes_is_accepted() -> Test {
    let server = Server::start(Framing::ContentLength).await?;
    for framing in ["auto", "content-length"] {
        let arguments = ["call", "large", "[50000]", "--unix", server.path(), "--framing", framing];
        let outcome = run(arguments.iter().chain(&["--max-bytes", "100000"])).await?;
        assert_eq!((outcome.code, outcome.stdout.len()), (Some(0), 50_003), "{}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn a_result_is_indented_on_a_terminal() -> Test {
    let server = Server::start(Framing::ContentLength).await?;
    let command =
        format!("'{}' call echo '{{\"b\":[1],\"a\":{{}}}}' --unix {}", env!("CARGO_BIN_EXE_portway"), server.path());
    for (option, expected) in
        [("", "{\r\n  \"b\": [\r\n    1\r\n  ],\r\n  \"a\": {}\r\n}\r\n"), (" --json", "{\"b\":[1],\"a\":{}}\r\n")]
    {
        // `script` of the package bsdutils runs a program on a terminal.
        let script = Command::new("script")
            .args(["-qec", &format!("{command}{option}"), "/dev/null"])
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = timeout(TEST_TIMEOUT, script).await??;
        assert_eq!(String::from_utf8(output.stdout)?, expected);
    }
    Ok(())
}

#[tokio::test]
async fn a_timeout_and_a_signal_end_a_call_while_invalid_messages_are_read() -> Test {
    // The flood is a frame whose body is not JSON. This body contains many inner frames. The body of each inner frame
    // is not JSON either, and contains another header. The peer sends the whole flood at once.
    let inner = framed("(Content-Length: 2\r\n\r\n");
    let frames = 10_000_000 / inner.len();
    let flood = framed(&format!("(\n{}", inner.repeat(frames)));
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("peer");
    let listener = UnixListener::bind(&path)?;
    let peer = tokio::spawn(async move {
        let mut streams = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(flood.as_bytes()).await;
            // The peer keeps the stream open and sends no further bytes.
            streams.push(stream);
        }
    });
    let path = path.to_string_lossy();
    for framing in ["auto", "content-length"] {
        let outcome = run(["call", "work", "--timeout=0.05", "--framing", framing, "--unix", &path]).await?;
        assert_eq!(outcome.code, Some(4), "{framing}");
        let reported = outcome.stderr.matches("a message that is not JSON").count();
        assert!(reported < 2 * frames, "{framing}: the call must end before all bodies are read, got {reported}");
    }
    let mut child = portway(["call", "work", "--timeout=60", "--unix", &path]).spawn()?;
    let mut stderr = child.stderr.take().ok_or("no standard error")?;
    // The first byte shows that the command has begun to read.
    stderr.read_exact(&mut [0]).await?;
    let process = child.id().ok_or("the command has ended")?.to_string();
    assert!(Command::new("kill").args(["-INT", &process]).status().await?.success());
    let mut reported = String::new();
    timeout(TEST_TIMEOUT, stderr.read_to_string(&mut reported)).await??;
    assert_eq!(timeout(TEST_TIMEOUT, child.wait()).await??.code(), Some(130));
    let reported = reported.matches("a message that is not JSON").count();
    assert!(reported > 0, "the call must report the bodies that it has read");
    assert!(reported < 2 * frames - 1, "the call must end before all bodies are read, got {reported}");
    peer.abort();
    Ok(())
}

/// Returns a frame with this body.
fn framed(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn params_in_a_file_may_begin_with_a_byte_order_mark() -> Test {
    let server = Server::start(Framing::ContentLength).await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(OsStr::from_bytes(b"par\xffms.json"));
    std::fs::write(&file, b"\xef\xbb\xbf[1, 2]")?;
    let mut argument = OsString::from("@");
    argument.push(&file);
    for params in [argument.as_os_str(), OsStr::new("-")] {
        let arguments = ["call", "add", "--unix", server.path()].map(OsStr::new).into_iter().chain([params]);
        let outcome = feed(arguments, b"\xef\xbb\xbf[1, 2]").await?;
        assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(0), "3\n", ""));
    }
    Ok(())
}

#[tokio::test]
async fn an_error_in_a_file_of_params_names_the_file_and_does_not_mention_the_shell() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("params.json");
    let name = file.display().to_string();
    for (text, expected) in [
        (&b"[1, 2"[..], "are not JSON: EOF while parsing a list at line 1 column 5"),
        (b"\xff\xfe[\0", "must be UTF-8, but byte 0 is not"),
        (b"5", "must be an array or an object"),
    ] {
        std::fs::write(&file, text)?;
        for (params, name) in [(format!("@{name}"), name.as_str()), ("-".to_owned(), "standard input")] {
            let outcome = feed(["call", "add", &params, "--unix", "/nonexistent/socket"], text).await?;
            assert_eq!(outcome.code, Some(2));
            assert_eq!(outcome.stderr, format!("portway: the params from {name} {expected}\n"));
        }
    }
    Ok(())
}
