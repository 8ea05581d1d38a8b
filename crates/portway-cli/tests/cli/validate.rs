//! `portway validate`.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::command::{Test, feed, run};

#[derive(Deserialize)]
struct Vector {
    name: String,
    #[serde(default)]
    message: Option<Box<RawValue>>,
    message_text: Option<String>,
    expect: Option<String>,
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Vector {
    fn text(&self) -> String {
        // `message` is `None` for a vector whose message is `null`.
        let value = self.message.as_deref().map_or("null", RawValue::get);
        self.message_text.clone().unwrap_or_else(|| value.to_owned())
    }
}

#[tokio::test]
async fn the_command_reports_the_errors_and_warnings_of_the_vectors() -> Test {
    let vectors: Vec<Vector> = serde_json::from_str(include_str!("../../../../tests/data/validator.json"))?;
    let mut by_option: BTreeMap<_, Vec<&Vector>> = BTreeMap::new();
    for vector in &vectors {
        by_option.entry(vector.expect.as_deref()).or_default().push(vector);
    }
    assert_eq!(by_option.len(), 3);
    for (expect, vectors) in by_option {
        let option = expect.map(|expect| format!("--{expect}"));
        let lines: String = vectors.iter().map(|vector| vector.text() + "\n").collect();
        let arguments = ["validate", "--lines", "--json"].into_iter().chain(option.as_deref());
        let outcome = feed(arguments, lines.as_bytes()).await?;
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
        let verdicts = outcome.events()?;
        assert_eq!(verdicts.len(), vectors.len());
        for (index, (vector, verdict)) in vectors.iter().zip(verdicts).enumerate() {
            let expected = json!({
                "file": "<stdin>", "line": index + 1, "isValid": vector.errors.is_empty(),
                "errors": vector.errors, "warnings": vector.warnings,
            });
            assert_eq!(verdict, expected, "{}", vector.name);
        }
    }
    Ok(())
}

#[tokio::test]
async fn several_files_are_named_and_summed_up() -> Test {
    let folder = tempfile::tempdir()?;
    let file = |name: &str, text: &str| -> Result<String, Box<dyn std::error::Error>> {
        let path = folder.path().join(name);
        fs::write(&path, text)?;
        Ok(path.to_str().ok_or("no path")?.to_owned())
    };
    let good = file("good.json", "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"method\": \"a\"\n}\n")?;
    let bad = file("bad.json", "[{\"jsonrpc\":\"2.0\",\"method\":\"a\"}, 1]")?;
    let broken = file("broken.json", "{\"jsonrpc\":\n")?;

    let outcome = run(["validate", &good]).await?;
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    assert_eq!(outcome.stdout, format!("{good}: valid\n1 message: 1 valid, 0 invalid\n"));

    let outcome = run(["validate", &good, &bad, &broken]).await?;
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    let expected = format!(
        "{good}: valid\n\
         {bad}: invalid\n  error: [Item 1] Missing or invalid \"jsonrpc\" field (must be \"2.0\")\n  \
         warning: [Item 0] No \"id\" field - this is a notification\n\
         {broken}: invalid\n  error: It is not JSON: EOF while parsing a value at line 2 column 0\n\
         3 messages: 1 valid, 2 invalid\n"
    );
    assert_eq!(outcome.stdout, expected);

    let outcome = run(["validate", &good, "/nonexistent/file", folder.path().to_str().ok_or("no path")?]).await?;
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("cannot read /nonexistent/file: No such file"), "{}", outcome.stderr);
    assert!(outcome.stdout.ends_with("1 message: 1 valid, 0 invalid; 2 not read\n"), "{}", outcome.stdout);
    Ok(())
}

#[tokio::test]
async fn with_the_option_lines_each_line_of_standard_input_is_a_message() -> Test {
    // Without the option, the whole input is one message.
    let outcome = feed(["validate"], b"{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":null}").await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "<stdin>: valid\n1 message: 1 valid, 0 invalid\n"));
    let lines = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\r\n\n{}\n\xff\n[1]";
    let outcome = feed(["validate", "-", "--lines"], lines).await?;
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stdout.starts_with("<stdin>:3: invalid\n  error: Missing"), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("<stdin>:4: invalid\n  error: It is not UTF-8 from byte 0 on\n"),
        "{}",
        outcome.stdout
    );
    assert!(outcome.stdout.contains("<stdin>:5: invalid\n  error: [Item 0] "), "{}", outcome.stdout);
    assert!(outcome.stdout.ends_with("4 messages: 1 valid, 3 invalid\n"), "{}", outcome.stdout);
    let outcome = feed(["validate"], b"").await?;
    assert_eq!(outcome.code, Some(1), "an empty input is not a message");
    Ok(())
}

#[tokio::test]
async fn options_select_requests_or_responses() -> Test {
    let request = br#"{"jsonrpc":"2.0","id":1,"method":"a"}"#;
    let response = br#"{"jsonrpc":"2.0","id":1,"result":1}"#;
    for (options, message, code) in [
        (&[][..], &request[..], 0),
        (&["--request"], request, 0),
        (&["--response"], request, 1),
        (&["--response"], response, 0),
        (&["--request"], response, 1),
        (&["--request", "--response"], response, 2),
        (&[], br#"{"jsonrpc":"2.0","id":1,"method":"a","params":null}"#, 1),
        (&["--null-params"], br#"{"jsonrpc":"2.0","id":1,"method":"a","params":null}"#, 0),
    ] {
        let outcome = feed(["validate"].iter().chain(options), message).await?;
        assert_eq!(outcome.code, Some(code), "{options:?} {}", outcome.stdout);
    }
    Ok(())
}

#[tokio::test]
async fn the_member_line_is_present_only_with_the_option_lines() -> Test {
    let outcome = feed(["validate", "--json"], br#"{"jsonrpc":"2.0","method":"a"}"#).await?;
    let warnings = ["No \"id\" field - this is a notification"];
    let expected = json!({ "file": "<stdin>", "isValid": true, "errors": [], "warnings": warnings });
    assert_eq!(outcome.events()?, [expected] as [Value; 1]);
    Ok(())
}

#[tokio::test]
async fn a_message_that_is_too_long_is_invalid() -> Test {
    let message = |length: usize| {
        let start = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"";
        format!("{start}{}\"}}", "x".repeat(length - start.len() - 2))
    };
    let lines = [message(100), message(101), message(1_000_000), message(100)].join("\n");
    let outcome = feed(["validate", "--lines", "--max-bytes", "100"], lines.as_bytes()).await?;
    let too_long = |line| {
        format!("<stdin>:{line}: invalid\n  error: It is longer than 100 bytes. Set a larger limit with --max-bytes\n")
    };
    let expected = format!("{}{}4 messages: 2 valid, 2 invalid\n", too_long(2), too_long(3));
    assert_eq!((outcome.code, outcome.stdout), (Some(1), expected));
    for (length, code) in [(100, 0), (101, 1), (1_000_000, 1)] {
        let outcome = feed(["validate", "--max-bytes", "100"], message(length).as_bytes()).await?;
        assert_eq!(outcome.code, Some(code), "{length}");
    }
    // By default, a message may have 10 MiB.
    for (length, code) in [(10_485_760, 0), (10_485_761, 1)] {
        let outcome = feed(["validate", "--lines"], message(length).as_bytes()).await?;
        assert_eq!(outcome.code, Some(code), "{length}");
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_line_without_a_line_end_takes_no_more_memory_than_a_message() -> Test {
    let mut command = tokio::process::Command::new("sh");
    let script = "ulimit -v 300000; head -c 500000000 /dev/zero | tr '\\0' x | \"$0\" validate --lines";
    command.args(["-c", script, env!("CARGO_BIN_EXE_portway")]).kill_on_drop(true);
    let output = tokio::time::timeout(crate::command::TEST_TIMEOUT, command.output()).await??;
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("<stdin>:1: invalid\n  error: It is longer than 10485760 bytes"), "{output:?}");
    assert_eq!(output.status.code(), Some(1));
    Ok(())
}
