//! Tests of our peer with a language server that uses the Python package `pygls`.

use serde_json::{Value, json};
use tokio::process::Command;

use crate::language_client::{Editor, position, uri};
use crate::{file, program};

async fn session() -> Option<(Editor, Value)> {
    let python = program("PORTWAY_PYGLS_PYTHON")?;
    let mut command = Command::new(python);
    let configuration = json!({ "greeting": "héllo 😀" });
    Some(Editor::start(command.arg(file("pygls_server.py")), configuration, Value::Null).await)
}

#[tokio::test]
async fn a_pygls_server_answers_a_complete_session() {
    let Some((mut editor, capabilities)) = session().await else { return };
    assert_eq!(capabilities["completionProvider"]["triggerCharacters"], json!(["."]));

    let uri = uri("notes.txt");
    let text = "first word\nTODO: é€😀 this\nlast\n";
    editor.open(&uri, "plaintext", text);
    let found = editor.diagnostics(&uri, |found| !found.is_empty()).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["message"], "to do: TODO: é€😀 this");
    assert_eq!(found[0]["range"]["start"], json!({ "line": 1, "character": 0 }));

    let at = |part| json!({ "textDocument": { "uri": uri }, "position": position(text, part, 1) });
    let completion = editor.call("textDocument/completion", at("last")).await;
    let labels: Vec<&Value> = completion["items"].as_array().unwrap().iter().map(|item| &item["label"]).collect();
    assert_eq!(labels, ["first", "last", "this", "word"]);
    assert_eq!(editor.call("textDocument/hover", at("word")).await["contents"]["value"], "**word** 😀");
    assert_eq!(editor.call("textDocument/hover", at("\nlast")).await["contents"]["value"], "**last** 😀");

    editor.change(&uri, 2, "nothing left\n");
    assert_eq!(editor.diagnostics(&uri, <[Value]>::is_empty).await, Vec::<Value>::new());
    editor.end().await;
}

#[tokio::test]
async fn a_pygls_server_calls_the_client_during_a_call() {
    let Some((editor, _)) = session().await else { return };
    let params = json!({ "command": "todo.greeting", "arguments": ["Ada"] });
    assert_eq!(editor.call("workspace/executeCommand", params).await, "héllo 😀, Ada");
    editor.end().await;
}

#[tokio::test]
async fn errors_of_a_pygls_server_keep_their_code_message_and_data() {
    let Some((editor, _)) = session().await else { return };
    let failure = editor.peer.call::<Value>("todo/fail", &json!({ "a": 1 })).await.unwrap_err();
    let error = failure.remote().unwrap_or_else(|| panic!("{failure:?}"));
    assert_eq!((error.code.value(), error.message.as_str()), (-32602, "not this"));
    assert_eq!(error.data::<Value>(), Some(Ok(json!({ "param": "name" }))));
    let failure = editor.peer.call::<Value>("todo/crash", &json!({})).await.unwrap_err();
    assert!(failure.remote().is_some_and(|error| error.message.contains("an accident")), "{failure:?}");
    let failure = editor.peer.call::<Value>("todo/nope", &json!({})).await.unwrap_err();
    assert_eq!(failure.remote().map(|error| error.code.value()), Some(-32601), "{failure:?}");
    editor.end().await;
}
