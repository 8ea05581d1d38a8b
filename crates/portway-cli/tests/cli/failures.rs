//! `portway call`: calls that end without a result, and their exit codes.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use portway::Framing;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, UnixListener};
use tokio::process::Command;
use tokio::time::timeout;

use crate::command::{TEST_TIMEOUT, Test, portway, run};
use crate::fixtures::{Server, frame_script, line_script, printed_frame};

#[tokio::test]
async fn an_invalid_command_line_exits_with_2_and_the_reason() -> Test {
    let unix = ["--unix", "/nonexistent/socket"];
    for (arguments, expected) in [
        (&["call"][..], "METHOD"),
        (&["call", "add"], "--unix <PATH>|--tcp <HOST:PORT>|--ws <URL>|PROGRAM"),
        (&["call", "add", "--unix", "/a", "--tcp", "localhost:1"], "cannot be used with"),
        (&["call", "add", "--tcp", "localhost"], "HOST:PORT, such as"),
        (&["call", "add", "--tcp", "tcp://localhost:1"], "HOST:PORT without tcp://, such as 127.0.0.1:4000"),
        (&["call", "add", "--timeout", "soon", unix[0], unix[1]], "number of seconds"),
        (&["call", "add", "--timeout=-1", unix[0], unix[1]], "negative"),
        (&["call", "add", "--framing", "xml", unix[0], unix[1]], "content-length"),
        (&["call", "add", "5", unix[0], unix[1]], "For one positional param: '[5]'"),
        (&["call", "add", "{a: 1}", unix[0], unix[1]], "single quotes"),
        (&["call", "add", "@/nonexistent/file", unix[0], unix[1]], "/nonexistent/file: No such file"),
        (&["call", "add", "-", unix[0], unix[1]], "not JSON"),
        (&["call", "add", "--notify", "--progress", unix[0], unix[1]], "cannot be used with"),
    ] {
        let outcome = run(arguments).await?;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(outcome.stderr.contains(expected), "{arguments:?}: {}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn an_unreachable_peer_exits_with_3() -> Test {
    let folder = tempfile::tempdir()?;
    let dead = folder.path().join("dead.sock");
    drop(std::os::unix::net::UnixListener::bind(&dead)?);
    let dead = dead.to_str().ok_or("no path")?;
    let free = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.to_string();
    for (arguments, expected) in [
        (&["call", "add", "--unix", "/nonexistent/socket"][..], "Is the server running?"),
        (&["call", "add", "--unix", dead], "Is the server running?"),
        (&["call", "add", "--tcp", &free], "Is the server running?"),
        (&["call", "add", "--tcp", "no.such.host.invalid:80"], "cannot connect to no.such.host.invalid:80"),
        (&["call", "add", "--", "/nonexistent/program"], "Is it installed, and in PATH?"),
        (&["call", "add", "--", "/dev/null"], "Is it executable?"),
    ] {
        let outcome = run(arguments).await?;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(3), ""), "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{arguments:?}: {}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn a_script_without_its_interpreter_exits_with_3_and_names_the_interpreter() -> Test {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("script");
    let name = script.to_str().ok_or("no path")?;
    for (first_line, expected) in [
        (
            "#!/bin/sh\r\n",
            "the interpreter /bin/sh in the first line of the script was not found: the line ends with CRLF",
        ),
        ("#!/nonexistent/sh\n", "the interpreter /nonexistent/sh in the first line of the script was not found\n"),
    ] {
        std::fs::write(&script, first_line)?;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
        let outcome = run(["call", "add", "--", name]).await?;
        assert_eq!(outcome.code, Some(3));
        assert!(outcome.stderr.contains(&format!("cannot start {name}: {expected}")), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("Is it installed"), "{}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn a_folder_or_an_empty_name_is_not_a_program() -> Test {
    for (name, expected) in
        [("/", "portway: cannot start /: it is a folder\n"), ("", "portway: the program has no name\n")]
    {
        let outcome = run(["call", "add", "--", name]).await?;
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(3), expected));
    }
    Ok(())
}

#[tokio::test]
async fn a_timeout_exits_with_4() -> Test {
    for framing in [Framing::ContentLength, Framing::Newline] {
        let mut server = Server::start(framing).await?;
        let start = Instant::now();
        let outcome = run(["call", "wait", "--timeout", "0.3", "--unix", server.path()]).await?;
        assert!(start.elapsed() >= Duration::from_millis(300));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(4), ""));
        assert!(outcome.stderr.contains("no answer came within 300ms"), "{}", outcome.stderr);
        assert_eq!(timeout(TEST_TIMEOUT, server.received.recv()).await?.as_deref(), Some("waiting"));
        assert_eq!(timeout(TEST_TIMEOUT, server.received.recv()).await?.as_deref(), Some("cancelled"));
    }
    // The program sends no message. The command does not wait until the program exits.
    let outcome = run(["call", "wait", "--timeout", "0.1", "--", "sleep", "3600"]).await?;
    assert_eq!(outcome.code, Some(4));
    assert!(outcome.stderr.contains("The peer sent no message."), "{}", outcome.stderr);
    Ok(())
}

#[tokio::test]
async fn a_call_that_times_out_or_is_interrupted_sends_one_cancellation() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("sent");
    let script = format!("cat > '{}'", file.display());
    for framing in ["auto", "content-length", "newline"] {
        let mut arguments = vec!["call", "wait", "--framing", framing, "--timeout", "0.2", "--", "sh", "-c", &script];
        assert_eq!(run(&arguments).await?.code, Some(4));
        let cancel = r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#;
        let sent = std::fs::read_to_string(&file)?;
        assert_eq!(sent.matches(cancel).count(), 1, "{sent}");

        std::fs::remove_file(&file)?;
        // Without a timeout, only the signal ends the call.
        arguments[5] = "0";
        let child = portway(&arguments).spawn()?;
        let process = child.id().ok_or("no process")?.to_string();
        let has_begun = async {
            while std::fs::metadata(&file).map_or(0, |file| file.len()) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(TEST_TIMEOUT, has_begun).await?;
        assert!(Command::new("kill").args(["-INT", &process]).status().await?.success());
        let output = timeout(TEST_TIMEOUT, child.wait_with_output()).await??;
        assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(130), 0, 0));
        let sent = std::fs::read_to_string(&file)?;
        assert_eq!(sent.matches(cancel).count(), 1, "{sent}");
    }
    Ok(())
}

#[tokio::test]
async fn a_call_whose_peer_is_lost_exits_with_5() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("closing.sock");
    let listener = UnixListener::bind(&path)?;
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let path = path.to_str().ok_or("no path")?;
    for framing in ["auto", "content-length", "newline"] {
        for (target, expected) in [
            (&["--unix", path][..], "before"),
            (&["--", "sh", "-c", "exit 7"], "the program ended before it answered (exit status: 7)"),
            (&["--", "sh", "-c", "read -r line; kill -9 $$"], "the program ended before it answered (signal: 9"),
        ] {
            let outcome = run(["call", "add", "--framing", framing].iter().chain(target)).await?;
            assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(5), ""), "{target:?}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(expected), "{target:?}: {}", outcome.stderr);
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_protocol_violation_exits_with_5() -> Test {
    let neither = r#"{"jsonrpc":"2.0","id":1}"#;
    let mut lines = vec!["call".to_owned(), "add".to_owned()];
    lines.extend(line_script(&format!("echo '{neither}'")));
    let mut frames = vec!["call".to_owned(), "add".to_owned()];
    frames.extend(frame_script(&printed_frame(neither)));
    for arguments in [lines, frames] {
        let outcome = run(&arguments).await?;
        assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("neither result nor error"), "{}", outcome.stderr);
    }
    // A message has arrived in the named framing, so the command must not suggest another framing. The second program
    // sends no response, so its call ends with the timeout.
    let script = format!("read line; echo '{neither}'; cat >/dev/null");
    let named = run(["call", "--framing", "newline", "add", "--", "sh", "-c", &script]).await?;
    assert_eq!((named.code, named.stderr.contains("framing")), (Some(5), false), "{}", named.stderr);
    let script = r#"read line; echo '{"jsonrpc":"2.0","method":"log"}'; cat >/dev/null"#;
    let slow = run(["call", "--framing", "newline", "--timeout", "1", "add", "--", "sh", "-c", script]).await?;
    assert_eq!((slow.code, slow.stderr.contains("framing")), (Some(4), false), "{}", slow.stderr);
    // The program ends within a frame.
    let mut cut = vec!["call".to_owned(), "add".to_owned()];
    cut.extend(frame_script("printf 'Content-Length: 50\\r\\n\\r\\n{\"jsonrpc\"'; exit"));
    for framing in ["--framing=auto", "--framing=content-length"] {
        cut.insert(1, framing.to_owned());
        let outcome = run(&cut).await?;
        cut.remove(1);
        assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("the stream ended after "), "{}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn a_signal_cancels_the_call_and_ends_the_command() -> Test {
    for framing in [Framing::ContentLength, Framing::Newline] {
        let mut server = Server::start(framing).await?;
        for (name, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
            let mut child = portway(["call", "wait", "--timeout", "0", "--unix", server.path()]).spawn()?;
            assert_eq!(timeout(TEST_TIMEOUT, server.received.recv()).await?.as_deref(), Some("waiting"));
            let process = child.id().ok_or("no process")?.to_string();
            assert!(Command::new("kill").args([name, &process]).status().await?.success());
            assert_eq!(timeout(TEST_TIMEOUT, child.wait()).await??.code(), Some(code));
            assert_eq!(timeout(TEST_TIMEOUT, server.received.recv()).await?.as_deref(), Some("cancelled"));
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_notification_that_cannot_be_sent_exits_with_5() -> Test {
    let params = format!("[\"{}\"]", "x".repeat(100_000));
    for framing in ["auto", "content-length", "newline"] {
        let arguments =
            ["call", "log", &params, "--notify", "--framing", framing, "--", "sh", "-c", "exec <&-; exit 3"];
        let outcome = run(arguments).await?;
        assert_eq!(outcome.code, Some(5), "{framing}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("could not be sent"), "{}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn an_unread_notification_exits_with_4() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("deaf.sock");
    let listener = UnixListener::bind(&path)?;
    let _holding = tokio::spawn(async move {
        let mut open_streams = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            open_streams.push(stream);
        }
    });
    let file = folder.path().join("params.json");
    std::fs::write(&file, format!("[\"{}\"]", "x".repeat(5_000_000)))?;
    let (path, params) = (path.to_str().ok_or("no path")?, format!("@{}", file.display()));
    for framing in ["auto", "content-length", "newline"] {
        let outcome =
            run(["call", "log", &params, "--notify", "--timeout", "0.5", "--framing", framing, "--unix", path]).await?;
        assert_eq!(outcome.code, Some(4), "{framing}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("did not read the notification within 500ms"), "{}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn endless_noise_of_a_peer_does_not_delay_the_timeout() -> Test {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move { while stream.write_all(&[0xff; 4096]).await.is_ok() {} });
        }
    });
    for framing in ["auto", "content-length", "newline"] {
        let mut command = portway(["call", "add", "--timeout", "0.5", "--tcp", &address, "--framing", framing]);
        let mut child = command.stderr(Stdio::null()).spawn()?;
        let code = timeout(TEST_TIMEOUT, child.wait()).await??.code();
        assert!(matches!(code, Some(4 | 5)), "{framing}: {code:?}");
    }
    Ok(())
}
