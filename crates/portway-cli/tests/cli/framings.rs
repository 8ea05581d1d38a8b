//! `portway call`: the bytes on the wire in each framing, and the detection of the framing of a peer.

use std::error::Error;
use std::fs;

use crate::command::{Test, run};
use crate::fixtures::{frame_script, line_script, printed_frame};

/// Returns the bytes that the command sends to a program that does not answer.
async fn sent(framing: &str) -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("sent");
    let script = format!("cat > '{}'", file.display());
    let outcome = run(["call", "log", "[1, 2]", "--notify", "--framing", framing, "--", "sh", "-c", &script]).await?;
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    Ok(fs::read_to_string(file)?)
}

#[tokio::test]
async fn messages_are_sent_in_the_named_framing() -> Test {
    let body = r#"{"jsonrpc":"2.0","method":"log","params":[1, 2]}"#;
    assert_eq!(sent("content-length").await?, format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    assert_eq!(sent("newline").await?, format!("{body}\n"));
    // This message is valid as a frame and as lines: the length includes the line end, which is white space after the
    // JSON.
    assert_eq!(sent("auto").await?, format!("Content-Length: {}\r\n\r\n{body}\n", body.len() + 1));
    Ok(())
}

#[tokio::test]
async fn a_peer_in_either_framing_receives_the_request_once() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("calls");
    let count = format!("echo x >> '{}'", file.display());
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":"yes"}"#;
    for script in [
        line_script(&format!("{count}; echo '{answer}'")),
        frame_script(&format!("{count}; {}", printed_frame(answer))),
        // This peer sends an error for each line that is not JSON, as the specification requires.
        ["--", "sh", "-c", &format!(
            r#"while IFS= read -r line; do case "$line" in '{{'*) {count}; echo '{answer}' ;; *) echo '{{"jsonrpc":"2.0","id":null,"error":{{"code":-32700,"message":"Parse error"}}}}' ;; esac; done"#
        )]
        .map(str::to_owned)
        .to_vec(),
    ] {
        let _ = fs::remove_file(&file);
        let mut arguments = vec!["call".to_owned(), "work".to_owned()];
        arguments.extend(script);
        let outcome = run(&arguments).await?;
        assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(0), "\"yes\"\n", ""));
        assert_eq!(fs::read_to_string(&file)?, "x\n");
    }
    Ok(())
}

#[tokio::test]
async fn every_valid_form_of_a_frame_is_accepted() -> Test {
    let pretty = "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 1,\n  \"result\": [\n    \"a\\nb\"\n  ]\n}\n";
    let file = tempfile::NamedTempFile::new()?;
    fs::write(&file, pretty)?;
    let path = file.path().display();
    for header in [
        format!("Content-Length: {}\\r\\n\\r\\n", pretty.len()),
        format!("Content-Type: application/vscode-jsonrpc; charset=utf-8\\r\\ncontent-length:{}\\n\\n", pretty.len()),
        format!("Content-Length: 4\\r\\n\\r\\nnull\\r\\nContent-Length: {}\\r\\n\\r\\n", pretty.len()),
    ] {
        let mut arguments = vec!["call".to_owned(), "work".to_owned()];
        arguments.extend(frame_script(&format!("printf '{header}'; cat '{path}'")));
        let outcome = run(&arguments).await?;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "[\"a\\nb\"]\n"), "{}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn the_last_line_of_a_program_needs_no_line_end() -> Test {
    let mut arguments = vec!["call".to_owned(), "work".to_owned()];
    arguments.extend(line_script(r#"printf '{"jsonrpc":"2.0","id":1,"result":0}'; exit"#));
    let outcome = run(&arguments).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "0\n"), "{}", outcome.stderr);
    Ok(())
}

#[tokio::test]
async fn a_peer_in_another_framing_than_the_named_framing_is_reported() -> Test {
    let mut lines =
        vec!["call".to_owned(), "work".to_owned(), "--framing=content-length".to_owned(), "--timeout=1".to_owned()];
    lines.extend(["--", "sh", "-c", r#"echo '{"jsonrpc":"2.0","method":"hello"}'; cat >/dev/null"#].map(str::to_owned));
    let outcome = run(&lines).await?;
    assert_eq!(outcome.code, Some(4));
    assert!(
        outcome.stderr.contains("one message a line, not Content-Length frames: use --framing newline"),
        "{}",
        outcome.stderr
    );

    let mut frames = vec!["call".to_owned(), "work".to_owned(), "--framing=newline".to_owned()];
    let hello = printed_frame(r#"{"jsonrpc":"2.0","method":"hello"}"#);
    frames.extend(["--", "sh", "-c", &format!("{hello}; cat >/dev/null")].map(str::to_owned));
    let outcome = run(&frames).await?;
    assert_eq!(outcome.code, Some(5));
    assert!(
        outcome.stderr.contains("Content-Length frames, not one message a line: use --framing content-length"),
        "{}",
        outcome.stderr
    );
    Ok(())
}

#[tokio::test]
async fn a_log_line_in_json_before_the_first_message_is_not_a_message() -> Test {
    let log = r#"echo '{"level":30,"msg":"starting"}'"#;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":"yes"}"#;
    let frames = format!("{log}; {}", printed_frame(answer));
    for script in [
        frame_script(&frames),
        line_script(&format!("{log}; echo '{answer}'")),
        // A log line may contain the name of the protocol.
        frame_script(&format!(r#"echo '{{"jsonrpc":"2.0","level":30}}'; {}"#, printed_frame(answer))),
    ] {
        let mut arguments = vec!["call".to_owned(), "work".to_owned()];
        arguments.extend(script);
        let outcome = run(&arguments).await?;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "\"yes\"\n"), "{}", outcome.stderr);
    }
    // A log line alone does not show a framing, so the error of the call must not name one.
    for framing in ["--framing=content-length", "--framing=auto"] {
        let mut arguments = vec!["call".to_owned(), "work".to_owned(), framing.to_owned(), "--timeout=1".to_owned()];
        arguments.extend(frame_script(log));
        let outcome = run(&arguments).await?;
        assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("The peer uses"), "{}", outcome.stderr);
    }
    Ok(())
}
