//! Standard output consists of frames only, whatever an agent prints and whatever is logged.

use std::fs::{self, File};
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{SESSION, command, fix, folder, has_node, scripted, temporary, wait_until};

/// Returns the messages of an output. Each byte must belong to a frame.
fn messages(output: &[u8]) -> Vec<Value> {
    let mut messages = Vec::new();
    let mut rest = output;
    while !rest.is_empty() {
        let end = rest.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        let header = std::str::from_utf8(&rest[..end]).unwrap();
        let length: usize = header.strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        let body = &rest[end + 4..end + 4 + length];
        messages.push(serde_json::from_slice(body).unwrap());
        rest = &rest[end + 4 + length..];
    }
    messages
}

#[test]
fn banners_logs_and_stderr_of_an_agent_do_not_reach_standard_output() {
    if !has_node() {
        return;
    }
    for behaviour in ["banner", "exit", "output", "no-start"] {
        let folder = folder();
        fs::write(folder.path().join("workspace/src/A.java"), "import javax.servlet.Filter;\n").unwrap();
        let path = folder.path().join("output");
        let mut command = command(&folder);
        command.args(["serve", "--stdio", "--log-level", "debug", "--backend", "acp", "--", "node"]).arg(scripted());
        command.arg(behaviour).env("TMPDIR", temporary(&folder));
        command.stdin(Stdio::piped()).stdout(File::create(&path).unwrap()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut stdin = process.stdin.take().unwrap();
        let mut send = |id: u64, argument: &Value| {
            let params = json!({ "command": "kaiak/generate_fix", "arguments": [argument] });
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": "workspace/executeCommand", "params": params });
            let request = request.to_string();
            write!(stdin, "Content-Length: {}\r\n\r\n{request}", request.len()).unwrap();
        };
        send(1, &fix(SESSION, &["servlet-import"]));
        send(2, &json!({}));
        let is_complete = || {
            let output = fs::read_to_string(&path).unwrap();
            output.contains("\"id\":1,") && output.contains("\"id\":2,")
        };
        wait_until(is_complete);
        drop(stdin);
        let ended = process.wait_with_output().unwrap();
        assert!(ended.status.success(), "{behaviour}");
        let log = String::from_utf8(ended.stderr).unwrap();
        assert!(log.contains("failed: "), "the log must contain `failed: `: {log}");
        let output = fs::read(&path).unwrap();
        let messages = messages(&output);
        let responses = messages.iter().filter(|message| message.get("method").is_none()).count();
        assert_eq!(responses, 2, "{behaviour}: {messages:#?}");
        assert!(messages.iter().all(|message| message["jsonrpc"] == "2.0"), "{behaviour}");
    }
}
