//! Output of a peer does not control a terminal. The command `script` creates a real pseudo-terminal.

use std::error::Error;
use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use crate::command::{TEST_TIMEOUT, Test, feed, run};
use crate::fixtures::{frame_script, printed_frame};

/// Characters that control a terminal, reorder text or are invisible. The text contains C1 controls, DEL, bidirectional
/// controls, fillers, and other code points with the Unicode property `Default_Ignorable_Code_Point`.
const HOSTILE: &str = "\u{9b}31mRED\u{9d}0;title\u{9c}\u{85}\u{7f}\u{202e}gnp.exe\u{2066}\u{2069}\u{200f}\u{61c}\u{2028}\u{200b}\u{ad}\u{e0041}\
\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}\u{180f}\u{2800}\u{3164}\u{ffa0}\u{fff0}\u{fffb}\u{1bca0}\u{1d173}\u{e01ef}";

const PORTWAY: &str = env!("CARGO_BIN_EXE_portway");

/// Returns the standard output and the standard error of a shell command on a terminal.
async fn on_a_terminal(command: &str) -> Result<String, Box<dyn Error>> {
    // `script` of the package bsdutils runs a program on a terminal.
    let script =
        Command::new("script").args(["-qec", command, "/dev/null"]).stdin(Stdio::null()).kill_on_drop(true).output();
    let output = timeout(TEST_TIMEOUT, script).await??;
    Ok(String::from_utf8(output.stdout)?)
}

fn assert_harmless(shown: &str, context: &str) {
    let is_control = |character: &char| !matches!(character, '\r' | '\n') && (*character as u32) < 0x20;
    let hostile =
        shown.chars().find(|character| is_control(character) || HOSTILE.replace(is_text, "").contains(*character));
    assert_eq!(hostile, None, "{context}: {shown:?}");
}

const fn is_text(character: char) -> bool {
    matches!(character, ' '..='~')
}

/// Writes the shell script of a peer that answers a request with `action`. Returns the path of the script.
fn peer(folder: &tempfile::TempDir, action: &str) -> Result<String, Box<dyn Error>> {
    let path = folder.path().join("peer.sh");
    fs::write(&path, &frame_script(action)[3])?;
    Ok(path.display().to_string())
}

#[tokio::test]
async fn output_of_a_peer_is_escaped() -> Test {
    let folder = tempfile::tempdir()?;
    let result = json!({ "jsonrpc": "2.0", "id": 1, "result": { "k": HOSTILE } }).to_string();
    let error = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": HOSTILE, "data": HOSTILE } });
    let reported = json!({ "jsonrpc": "2.0", "method": "$/progress", "params": { "token": 1, "value": HOSTILE } });
    let unmatched = json!({ "jsonrpc": "2.0", "id": HOSTILE, "result": 1 }).to_string();
    let result = printed_frame(&result);
    for (case, action, expected) in [
        ("a result", result.clone(), "\\u009b31mRED"),
        ("an error", printed_frame(&error.to_string()), "\\u{9b}31mRED"),
        ("progress", format!("{}; {result}", printed_frame(&reported.to_string())), "\\u{9b}31mRED"),
        ("a response without a pending call", format!("{}; {result}", printed_frame(&unmatched)), "\\u{9b}31mRED"),
        ("text that is not a message", format!("echo '{HOSTILE}'; {result}"), "\\u{9b}31mRED"),
    ] {
        let peer = peer(&folder, &action)?;
        for option in ["", "--json"] {
            let call = format!("'{PORTWAY}' call work --progress {option} --framing content-length -- sh {peer}");
            let shown = on_a_terminal(&call).await?;
            assert_harmless(&shown, case);
            let expected = if option.is_empty() { expected } else { "31mRED" };
            assert!(shown.contains(expected) && shown.contains("202e"), "{case}: {shown}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_result_keeps_its_value_on_a_terminal_and_its_text_elsewhere() -> Test {
    let folder = tempfile::tempdir()?;
    let text = json!({ "k": HOSTILE }).to_string();
    let answer = printed_frame(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{text}}}"#));
    let peer = peer(&folder, &answer)?;
    let shown = on_a_terminal(&format!("'{PORTWAY}' call work --json --framing content-length -- sh {peer}")).await?;
    assert_eq!(serde_json::from_str::<Value>(&shown)?, json!({ "k": HOSTILE }));
    let piped = run(["call", "work", "--json", "--framing", "content-length", "--", "sh", &peer]).await?;
    assert_eq!(piped.stdout, format!("{text}\n"));
    Ok(())
}

#[tokio::test]
async fn decoded_and_validated_text_is_escaped() -> Test {
    let folder = tempfile::tempdir()?;
    let message = json!({ "jsonrpc": "2.0", "id": 1, "result": HOSTILE }).to_string();
    let path = folder.path().join(format!("{}.json", HOSTILE.replace('\u{7f}', "")));
    fs::write(&path, &message)?;
    let folder = folder.path().display();
    let shown = on_a_terminal(&format!("cat {folder}/*.json | '{PORTWAY}' decode --framing newline")).await?;
    assert_harmless(&shown, "decode");
    let event: Value = serde_json::from_str(&shown)?;
    assert_eq!(event, json!({ "event": "message", "text": message }), "escaping must not change the value");
    let piped = feed(["decode", "--framing", "newline"], message.as_bytes()).await?;
    assert!(piped.stdout.contains(HOSTILE), "{}", piped.stdout);

    for option in ["", "--json", "--lines"] {
        let shown =
            on_a_terminal(&format!("'{PORTWAY}' validate {option} {folder}/*.json {folder}/*missing.json")).await?;
        assert_harmless(&shown, "validate");
        assert!(shown.to_lowercase().contains("valid"), "{shown}");
    }
    fs::remove_file(&path)?;
    std::os::unix::fs::symlink("nowhere", &path)?;
    let shown = on_a_terminal(&format!("'{PORTWAY}' validate {folder}/*.json")).await?;
    assert_harmless(&shown, "a file that cannot be read");
    assert!(shown.contains("cannot read"), "{shown}");
    Ok(())
}

#[tokio::test]
async fn a_deeply_nested_result_takes_a_small_multiple_of_its_length() -> Test {
    let folder = tempfile::tempdir()?;
    for deep in [100, 12, 9] {
        // If all levels were indented, each of the 20,000 inner arrays would be on a long line.
        let text = format!("{}{}{}", "[".repeat(deep), vec!["[1]"; 20_000].join(","), "]".repeat(deep));
        let file = folder.path().join("answer");
        fs::write(&file, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{text}}}"#))?;
        let length = fs::metadata(&file)?.len();
        let answer = format!("printf 'Content-Length: {length}\\r\\n\\r\\n'; cat '{}'", file.display());
        let peer = peer(&folder, &answer)?;
        let shown = on_a_terminal(&format!("'{PORTWAY}' call work --framing content-length -- sh {peer}")).await?;
        let shown = shown.replace('\r', "");
        assert!(shown.len() <= 16 * text.len(), "{} bytes of {}", shown.len(), text.len());
        assert!(shown.lines().count() > 10, "the first levels must be on separate lines");
        assert_eq!(shown.replace([' ', '\n'], ""), text, "indenting must not change the value");
    }
    Ok(())
}

#[tokio::test]
async fn arguments_are_escaped_in_errors() -> Test {
    let hostile = format!("a\u{1b}[31m{HOSTILE}\u{8}");
    let folder = tempfile::tempdir()?;
    let folder = folder.path().display();
    for (arguments, expected) in [
        (format!("call m --unix '{folder}/{hostile}'"), "cannot connect"),
        (format!("call m --tcp '{hostile}:80'"), "cannot connect"),
        (format!("call m --tcp '{hostile}'"), "HOST:PORT"),
        (format!("call m '@{folder}/{hostile}' --unix a"), "cannot read"),
        (format!("call m '{hostile}' --unix a"), "not JSON"),
        (format!("call m '\"{HOSTILE}\"' --unix a"), "array or an object"),
        (format!("call m -- '{folder}/{hostile}'"), "cannot start"),
        (format!("call m --framing '{hostile}' --unix a"), "invalid value"),
        (format!("call m --timeout '{hostile}' --unix a"), "number of seconds"),
        (format!("call m '--{hostile}' --unix a"), "unexpected argument"),
        (format!("'{hostile}'"), "unrecognized subcommand"),
        (format!("validate '{folder}/{hostile}'"), "cannot read"),
        (format!("completions '{hostile}'"), "invalid value"),
    ] {
        let shown = on_a_terminal(&format!("'{PORTWAY}' {arguments}; true")).await?;
        assert_harmless(&shown, expected);
        assert!(shown.contains(expected), "{expected}: {shown}");
        // Errors are escaped in a pipe, too, since a file with errors may be shown on a terminal later.
        let piped = on_a_terminal(&format!("{{ '{PORTWAY}' {arguments} 2>&1 || true; }} | cat")).await?;
        assert_harmless(&piped, expected);
    }
    Ok(())
}

#[tokio::test]
async fn the_text_of_an_mcp_server_is_escaped() -> Test {
    let folder = tempfile::tempdir()?;
    let result = |id: u32, result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    let tool = json!({ "name": HOSTILE, "description": HOSTILE, "inputSchema": { "properties": { HOSTILE: {} } } });
    let text = json!({ "type": "text", "text": format!("\u{1b}[31m{HOSTILE}") });
    for (action, answer, expected) in [
        ("list", json!({ "tools": [tool] }), "\\u{9b}31mRED"),
        ("call x", json!({ "content": [text] }), "\\u{1b}[31m\\u{9b}31mRED"),
        ("call x", json!({ "content": [text], "isError": true }), "\\u{1b}[31m\\u{9b}31mRED"),
        ("read x", json!({ "contents": [text] }), "\\u{1b}[31m\\u{9b}31mRED"),
        ("get x", json!({ "messages": [{ "role": HOSTILE, "content": text }] }), "\\u{1b}[31m\\u{9b}31mRED"),
    ] {
        let discovered = result(1, json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } }));
        let path = folder.path().join("server.sh");
        let script =
            format!("read -r a\necho '{discovered}'\nread -r b\necho '{}'\ncat > /dev/null", result(2, answer));
        fs::write(&path, script)?;
        for option in ["", "--json"] {
            let shown = on_a_terminal(&format!("'{PORTWAY}' mcp {option} -- sh {} {action}", path.display())).await?;
            assert_harmless(&shown, action);
            let expected = if option.is_empty() { expected } else { "31mRED" };
            assert!(shown.contains(expected), "{action}: {shown}");
        }
    }
    Ok(())
}
