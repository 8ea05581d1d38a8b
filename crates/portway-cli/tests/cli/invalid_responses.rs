//! `portway call`: an answer that cannot be read, or that arrived while the command was suspended.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Duration;

use portway::Framing;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use crate::command::{Run, TEST_TIMEOUT, Test, portway, run};
use crate::fixtures::{Server, frame_script, line_script};

/// Returns arguments that start a program. The program answers a call with the content of the file `body`.
fn answering(framing: Framing, body: &Path) -> Vec<String> {
    match framing {
        Framing::Newline => line_script(&format!("cat '{}'; echo", body.display())),
        _ => frame_script(&format!(
            "printf 'Content-Length: %d\\r\\n\\r\\n' $(wc -c < '{0}'); cat '{0}'",
            body.display()
        )),
    }
}

/// Calls `work` of a program without a timeout. `program` has the arguments that start the program.
async fn call(options: &[&str], program: Vec<String>) -> Result<Run, Box<dyn Error>> {
    let mut arguments: Vec<String> = ["call", "work", "--timeout=0"].iter().map(|text| (*text).to_owned()).collect();
    arguments.extend(options.iter().map(|text| (*text).to_owned()));
    arguments.extend(program);
    run(&arguments).await
}

#[tokio::test]
async fn an_unreadable_answer_ends_the_call_at_once_and_is_not_reported_as_an_error_of_the_peer() -> Test {
    let file = tempfile::NamedTempFile::new()?;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let long = format!("\"{}\"", "x".repeat(30_000));
    for (result, expected) in [
        ("NaN", "it is not JSON"),
        (r#""\ud83d""#, "half of a surrogate pair"),
        ("1e400", "too large for a double"),
        (r#"1,"result":2"#, "comes twice"),
        (&deep, "nested deeper than the limit"),
        (&long, "longer than the limit of messages"),
    ] {
        fs::write(&file, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#))?;
        for framing in [Framing::ContentLength, Framing::Newline] {
            let name = if framing == Framing::Newline { "newline" } else { "content-length" };
            for option in ["--framing=auto".to_owned(), format!("--framing={name}")] {
                let outcome = call(&[&option, "--max-bytes=20000"], answering(framing, file.path())).await?;
                let context = format!("{result:.20} {framing} {option}: {}", outcome.stderr);
                assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(5), ""), "{context}");
                assert!(outcome.stderr.contains("the answer of the peer cannot be read: "), "{context}");
                assert!(outcome.stderr.contains(expected), "{context}");
                assert!(!outcome.stderr.contains("answered with an error"), "{context}");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_over_the_limit_ends_the_call_and_names_the_option() -> Test {
    let server = Server::start(Framing::ContentLength).await?;
    for framing in ["auto", "content-length"] {
        let arguments = ["call", "large", "[50000]", "--unix", server.path(), "--framing", framing, "--timeout=0"];
        let outcome = run(arguments.iter().chain(&["--max-bytes", "10000"])).await?;
        assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("--max-bytes BYTES allows longer messages"), "{}", outcome.stderr);
    }
    // The first message is longer than the limit, so the framing is detected before the message has ended.
    let file = tempfile::NamedTempFile::new()?;
    fs::write(&file, format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{}"}}"#, "x".repeat(200_000)))?;
    let outcome = call(&["--max-bytes=100000"], answering(Framing::Newline, file.path())).await?;
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--max-bytes BYTES allows longer messages"), "{}", outcome.stderr);
    Ok(())
}

/// Waits until a script has created a file.
async fn wait_for_file(path: &Path) -> Test {
    let waits = async {
        while !path.exists() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TEST_TIMEOUT, waits).await?;
    Ok(())
}

#[tokio::test]
async fn an_answer_that_arrived_while_the_command_was_suspended_is_read() -> Test {
    const LIMIT: Duration = Duration::from_secs(1);
    for (framing, length) in [("auto", 10), ("content-length", 10), ("auto", 50_000)] {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        let (read, stopped, answered, answer) = (path("read"), path("stopped"), path("answered"), path("answer"));
        fs::write(&answer, format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{}"}}"#, "x".repeat(length)))?;
        let script = format!(
            "read -r header; touch '{}'; while ! [ -e '{}' ]; do sleep 0.01; done; \
             printf 'Content-Length: %d\\r\\n\\r\\n' $(wc -c < '{answer}'); cat '{answer}'; touch '{}'; cat >/dev/null",
            read.display(),
            stopped.display(),
            answered.display(),
            answer = answer.display(),
        );
        let mut command = portway(["call", "work", "--timeout=1", "--framing", framing, "--", "sh", "-c", &script]);
        let child = command.spawn()?;
        let process = child.id().ok_or("the command has ended")?.to_string();
        wait_for_file(&read).await?;
        assert!(Command::new("kill").args(["-STOP", &process]).status().await?.success());
        fs::write(&stopped, "")?;
        wait_for_file(&answered).await?;
        // The timeout of the call must pass before the command continues.
        sleep(LIMIT).await;
        assert!(Command::new("kill").args(["-CONT", &process]).status().await?.success());
        let output = timeout(TEST_TIMEOUT, child.wait_with_output()).await??;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), length + 3), "{framing}: {stderr}");
    }
    Ok(())
}
