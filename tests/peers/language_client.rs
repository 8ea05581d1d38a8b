//! An editor as the client of a language server, based on our peer.

use std::path::Path;
use std::time::Duration;

use portway::{Closed, Context, Framing, Peer, RpcError, Transport};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

/// The time in which a server must answer. A server may have to start on a busy machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A session with a language server.
pub(crate) struct Editor {
    pub(crate) peer: Peer,
    diagnostics: UnboundedReceiver<Value>,
}

impl Editor {
    /// Starts a server and begins a session. Returns the session and the capabilities of the server.
    pub(crate) async fn start(command: &mut Command, configuration: Value, options: Value) -> (Self, Value) {
        let transport = Transport::child(command, Framing::ContentLength).unwrap();
        let peer = Peer::new(transport);
        let (sender, diagnostics) = unbounded_channel();
        peer.on_notify("textDocument/publishDiagnostics", move |params: Value, _: Context| {
            // Sending fails if the test has ended and has dropped the receiver.
            let _ = sender.send(params);
        });
        peer.method("workspace/configuration", move |params: Value, _: Context| {
            let items = params["items"].as_array().map_or(0, Vec::len);
            let answer = vec![configuration.clone(); items];
            async move { Ok::<_, RpcError>(answer) }
        });
        peer.method("client/registerCapability", |_: Value, _: Context| async { Ok::<_, RpcError>(()) });
        let params = json!({
            "processId": std::process::id(),
            "clientInfo": { "name": "portway" },
            "rootUri": null,
            "workspaceFolders": null,
            "initializationOptions": options,
            "capabilities": {
                "workspace": { "configuration": true },
                "textDocument": {
                    "publishDiagnostics": { "versionSupport": true },
                    "completion": { "completionItem": { "snippetSupport": true } },
                    "hover": { "contentFormat": ["markdown", "plaintext"] },
                },
            },
        });
        let answer: Value = peer.call("initialize", &params).timeout(TEST_TIMEOUT).await.unwrap();
        peer.notify("initialized", &json!({})).unwrap();
        (Self { peer, diagnostics }, answer["capabilities"].clone())
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        self.peer.call(method, &params).timeout(TEST_TIMEOUT).await.unwrap()
    }

    pub(crate) fn open(&self, uri: &str, language: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": language, "version": 1, "text": text });
        self.peer.notify("textDocument/didOpen", &json!({ "textDocument": document })).unwrap();
    }

    /// Changes the text of a document.
    pub(crate) fn change(&self, uri: &str, version: u32, text: &str) {
        let params =
            json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [{ "text": text }] });
        self.peer.notify("textDocument/didChange", &params).unwrap();
    }

    /// Reads the lists of diagnostics that the server publishes for the document, until `is_wanted` returns true for a
    /// list. Returns this list.
    pub(crate) async fn diagnostics(&mut self, uri: &str, is_wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let found = timeout(TEST_TIMEOUT, async {
            loop {
                let params = self.diagnostics.recv().await.unwrap();
                let list = params["diagnostics"].as_array().unwrap();
                if params["uri"] == uri && is_wanted(list) {
                    return list.clone();
                }
            }
        });
        found.await.unwrap_or_else(|_| panic!("the server sent no such diagnostics for {uri}"))
    }

    /// Ends the session as the Language Server Protocol requires. The server must exit by itself, with success.
    pub(crate) async fn end(self) {
        let answer: Value = self.peer.call("shutdown", &()).timeout(TEST_TIMEOUT).await.unwrap();
        assert_eq!(answer, Value::Null);
        self.peer.notify("exit", &()).unwrap();
        let closed = timeout(TEST_TIMEOUT, self.peer.client().closed()).await.unwrap();
        assert!(matches!(closed, Closed::Exited(status) if status.success()), "{closed:?}");
        assert_eq!(self.peer.client().pending(), 0);
    }
}

/// Returns the position in a document that is `offset` bytes after the start of `text`.
pub(crate) fn position(document: &str, text: &str, offset: usize) -> Value {
    let start = document.find(text).unwrap() + offset;
    let before = &document[..start];
    let line = before.matches('\n').count();
    let character = before.rsplit('\n').next().unwrap().encode_utf16().count();
    json!({ "line": line, "character": character })
}

/// Returns the address of a file that does not exist. The servers never read this file.
pub(crate) fn uri(name: &str) -> String {
    format!("file://{}", Path::new("/nowhere").join(name).display())
}
