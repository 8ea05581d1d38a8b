//! Clients that are killed while their question is open, over standard streams and over a socket.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::example_client::{project, start_client};
use crate::harness::{
    JAVA_FILE, SESSION, Server, command, fix, folder, has_node, listen, log_path, temporary, wait_until,
};
use crate::processes::{children, descriptors, entries, exists, is_running, kill, snapshot};
use crate::programs::{has_example_client, has_sdk_agent, sdk_agent};

/// Returns the arguments of `kaiak serve` that follow the transport.
fn backend(folder: &TempDir, is_agent: bool) -> Vec<String> {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    if !is_agent {
        return vec!["--rules".to_owned(), text(&folder.path().join("rules"))];
    }
    let agent = ["--backend", "acp", "--", "node"].map(str::to_owned).into_iter();
    let arguments = [text(&sdk_agent()), "client".to_owned(), "asks".to_owned(), text(&log_path(folder.path()))];
    agent.chain(arguments).collect()
}

#[test]
fn the_kill_of_a_client_on_standard_streams_ends_the_server_and_its_agent_and_changes_no_byte() {
    if !has_example_client() || !has_sdk_agent() {
        return;
    }
    for is_agent in [false, true] {
        let (folder, workspace, incidents) = project();
        let before = snapshot(&workspace);
        let copies = temporary(&folder);
        let mut arguments = vec!["--".to_owned(), env!("CARGO_BIN_EXE_kaiak").to_owned()];
        arguments.extend(["serve", "--stdio"].map(str::to_owned));
        arguments.extend(backend(&folder, is_agent));
        let mut client = start_client(&incidents, &workspace, &arguments, &copies);
        client.until("[y/n]");
        let [server] = children(client.process.id())[..] else { panic!("the client must have one server") };
        let agents = children(server);
        assert_eq!(agents.len(), usize::from(is_agent));
        kill(client.process.id());
        client.process.wait().unwrap();
        wait_until(|| !exists(server) && !agents.iter().any(|agent| is_running(*agent)));
        assert_eq!(entries(&copies), 0);
        assert_eq!(snapshot(&workspace), before);
    }
}

/// Starts a server on a socket, in a workspace with one Java file.
fn server(is_agent: bool) -> Server {
    let folder = folder();
    std::fs::write(folder.path().join("workspace/src/A.java"), JAVA_FILE).unwrap();
    let path = folder.path().join("kaiak.sock");
    let mut command = command(&folder);
    command.args(["serve", "--socket"]).arg(&path).args(backend(&folder, is_agent)).env("TMPDIR", temporary(&folder));
    listen(folder, command, path)
}

/// Starts a client as a process of its own, and waits until it has received a question.
fn client_with_question(server: &Server) -> Child {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/agents/client.mjs");
    let mut command = Command::new("node");
    command.arg(script).arg(server.folder.path().join("kaiak.sock")).arg(SESSION);
    let mut client = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "kaiak/stream/user_interaction"));
    client
}

#[test]
fn the_kill_of_a_client_on_a_socket_releases_its_session_and_leaves_no_descriptor() {
    if !has_node() || !has_sdk_agent() {
        return;
    }
    for is_agent in [false, true] {
        let server = server(is_agent);
        let (pid, copies) = (server.process.id(), server.folder.path().join("tmp"));
        let delete = || -> Value {
            let mut client = server.connect();
            client.call("kaiak/delete_session", &json!({ "session_id": SESSION }))
        };
        assert_eq!(delete()["error"]["code"], -32003);
        let (before, files) = (descriptors(pid), snapshot(&server.workspace()));
        for _ in 0..3 {
            let mut client = client_with_question(&server);
            kill(client.id());
            client.wait().unwrap();
            // When the server has released the lock, another client uses the session. The request of this client needs
            // an answer of this client.
            let mut other = server.connect();
            let mut id = 0;
            wait_until(|| {
                id = other.command("kaiak/generate_fix", &fix(SESSION, &["servlet-import"]));
                let is_reply = |message: &Value| message["id"] == id || message["method"] == "kaiak/stream/progress";
                let is_locked = other.wait_for(is_reply)["error"]["code"] == -32016;
                std::thread::sleep(Duration::from_millis(if is_locked { 20 } else { 0 }));
                !is_locked
            });
            other.approve(false);
            assert_eq!(other.response(id)["result"]["status"], "completed");
            drop(other);
            let mut deleted = Value::Null;
            wait_until(|| {
                deleted = delete();
                deleted["error"]["code"] != -32016
            });
            assert_eq!(deleted["result"]["status"], "deleted", "{deleted}");
            wait_until(|| children(pid).is_empty() && entries(&copies) == 0);
        }
        wait_until(|| descriptors(pid) <= before);
        assert_eq!(snapshot(&server.workspace()), files);
    }
}
