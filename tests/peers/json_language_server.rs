//! Tests of our peer with the JSON language server of Visual Studio Code, from npm `vscode-langservers-extracted`.

use std::path::PathBuf;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::language_client::{Editor, position, uri};
use crate::program;

/// Starts a session with the server. Returns the session and the capabilities of the server, or `None` if the server
/// is not installed.
async fn session() -> Option<(Editor, Value)> {
    let server: PathBuf = program("PORTWAY_JSON_LANGUAGE_SERVER")?;
    let mut command = Command::new(server);
    let options = json!({ "provideFormatter": true, "handledSchemaProtocols": ["file"] });
    let (editor, capabilities) = Editor::start(command.arg("--stdio"), Value::Null, options).await;
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "What it is called: é€😀" },
            "port": { "type": "integer", "maximum": 65535 },
        },
        "required": ["name"],
    });
    let association = json!({ "uri": "schema://service", "fileMatch": ["*.service.json"], "schema": schema });
    let settings = json!({ "settings": { "json": { "validate": { "enable": true }, "schemas": [
        { "url": association["uri"], "fileMatch": association["fileMatch"], "schema": association["schema"] }
    ] } } });
    editor.peer.notify("workspace/didChangeConfiguration", &settings).unwrap();
    Some((editor, capabilities))
}

#[tokio::test]
async fn the_json_language_server_answers_a_complete_session() {
    let Some((mut editor, capabilities)) = session().await else { return };
    assert_eq!(capabilities["hoverProvider"], true);
    assert!(capabilities["completionProvider"].is_object());

    let uri = uri("a.service.json");
    let text = "{\n  \"name\": 5,\n  \"port\": 99999,\n}\n";
    editor.open(&uri, "json", text);
    let found = editor.diagnostics(&uri, |found| found.len() >= 3).await;
    let messages: Vec<&str> = found.iter().map(|found| found["message"].as_str().unwrap()).collect();
    for part in ["Incorrect type", "above the maximum", "Trailing comma"] {
        assert!(messages.iter().any(|message| message.contains(part)), "{part}: {messages:?}");
    }

    let text = "{\n  \"name\": \"é€😀\",\n  \"\": 1\n}\n";
    editor.change(&uri, 2, text);
    editor.diagnostics(&uri, <[Value]>::is_empty).await;

    let at = |part, offset| json!({ "textDocument": { "uri": uri }, "position": position(text, part, offset) });
    let completion = editor.call("textDocument/completion", at("\"\":", 1)).await;
    let labels: Vec<&str> =
        completion["items"].as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap()).collect();
    assert!(labels.contains(&"port") && !labels.contains(&"name"), "{labels:?}");

    let hover = editor.call("textDocument/hover", at("name", 1)).await;
    assert!(hover["contents"].to_string().contains("What it is called: é€😀"), "{hover}");
    let hover = editor.call("textDocument/hover", at("1\n", 0)).await;
    assert!(!hover.to_string().contains("called"), "{hover}");

    let formatted = editor
        .call(
            "textDocument/formatting",
            json!({ "textDocument": { "uri": uri }, "options": { "tabSize": 8, "insertSpaces": true } }),
        )
        .await;
    assert!(formatted.as_array().is_some_and(|edits| !edits.is_empty()), "{formatted}");
    editor.end().await;
}

#[tokio::test]
async fn the_json_language_server_refuses_an_unknown_method() {
    let Some((editor, _)) = session().await else { return };
    let failure = editor.peer.call::<Value>("textDocument/frobnicate", &json!({})).await.unwrap_err();
    assert_eq!(failure.remote().map(|error| error.code.value()), Some(-32601), "{failure:?}");
    editor.end().await;
}

#[tokio::test]
async fn the_json_language_server_answers_300_concurrent_calls() {
    let Some((editor, _)) = session().await else { return };
    let uri = uri("many.json");
    let lines: Vec<String> = (0..300).map(|number| format!("  \"key{number}\": {number}")).collect();
    let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
    editor.open(&uri, "json", &text);
    let calls: Vec<_> = (0..300)
        .map(|line| {
            let params = json!({ "textDocument": { "uri": uri }, "ranges": [], "positions": [{ "line": line + 1, "character": 4 }] });
            (line, editor.peer.call::<Value>("textDocument/selectionRange", &params).start())
        })
        .collect();
    for (line, call) in calls {
        let ranges = call.await.unwrap();
        assert_eq!(ranges[0]["range"]["start"]["line"], line + 1, "{ranges}");
    }
    editor.end().await;
}
