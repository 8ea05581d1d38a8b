//! `portway tap -- pylsp`: the session of an editor, and its records.

use std::fs;
use std::time::Duration;

use portway::tap::{Direction, RecordKind, Tap};
use portway::{Closed, Context, Framing, Peer, Transport};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

use crate::program;

/// The time in which the server must answer. The server may have to start on a busy machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_editor_notices_no_difference_and_each_message_is_recorded() {
    let (Some(portway), Some(pylsp)) = (program("PORTWAY_CLI"), program("PORTWAY_PYLSP")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lsp.jsonl");
    let mut command = Command::new(portway);
    command.args(["tap", "--to-file"]).arg(&file).arg("--").arg(pylsp);
    let (tap, mut editor_records) = Tap::channel();
    let transport = Transport::child(&mut command, Framing::ContentLength).unwrap();
    // The server may take more than two seconds to exit on a busy machine.
    let editor = Peer::new(transport.with_tap(&tap).with_grace(TEST_TIMEOUT));
    let (sender, mut diagnostics) = unbounded_channel();
    editor.on_notify("textDocument/publishDiagnostics", move |params: Value, _: Context| {
        let _ = sender.send(params);
    });
    let params = json!({ "processId": null, "rootUri": null, "capabilities": {} });
    let result: Value = editor.call("initialize", &params).timeout(TEST_TIMEOUT).await.unwrap();
    assert!(result["capabilities"]["hoverProvider"].as_bool().unwrap());
    editor.notify("initialized", &json!({})).unwrap();
    let document =
        json!({ "uri": "file:///a.py", "languageId": "python", "version": 1, "text": "import os\nprint(  1)\n" });
    editor.notify("textDocument/didOpen", &json!({ "textDocument": document })).unwrap();
    let place = json!({ "textDocument": { "uri": "file:///a.py" }, "position": { "line": 1, "character": 1 } });
    let hover: Value = editor.call("textDocument/hover", &place).timeout(TEST_TIMEOUT).await.unwrap();
    assert!(hover["contents"].to_string().contains("print"), "{hover}");
    timeout(TEST_TIMEOUT, diagnostics.recv()).await.unwrap().unwrap();
    editor.call::<Value>("shutdown", &()).timeout(TEST_TIMEOUT).await.unwrap();
    editor.notify("exit", &()).unwrap();
    let closed = timeout(TEST_TIMEOUT, editor.client().closed()).await.unwrap();
    assert!(matches!(closed, Closed::Exited(status) if status.success()), "{closed}");
    drop((editor, tap));
    let records: Vec<Value> =
        fs::read_to_string(&file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let recorded = |direction: &str| {
        let wanted = |record: &&Value| record["kind"] == "message" && record["direction"] == direction;
        records.iter().filter(wanted).map(|record| record["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    while let Some(record) = editor_records.next().await {
        if let RecordKind::Message { direction, text, .. } = record.kind {
            if direction == Direction::Sent { &mut sent } else { &mut received }.push(text);
        }
    }
    assert!(sent.len() >= 6 && received.len() >= 4, "{} {}", sent.len(), received.len());
    assert_eq!(recorded("sent"), sent);
    assert_eq!(recorded("received"), received);
    assert_eq!(records.last().unwrap()["code"], 0);
}
