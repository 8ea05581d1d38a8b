//! A run of `kaiak/generate_fix` leaves no lock, process, file or descriptor, however the run ends.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::harness::{Client, Server, command, fix, folder, has_node, listen, scripted, temporary, wait_until};

/// The number of runs at the same time.
const AT_A_TIME: usize = 4;

/// Returns the number of runs: 200 if `PORTWAY_FULL` is `1`, and 40 otherwise. Each of the four ends of [`run`] occurs
/// in a quarter of the runs.
fn runs() -> usize {
    if std::env::var("PORTWAY_FULL").is_ok_and(|value| value == "1") { 200 } else { 40 }
}

fn session(run: usize) -> String {
    format!("550e8400-e29b-41d4-a716-{run:012}")
}

/// Returns the number of open descriptors of the server.
fn descriptors(server: &Server) -> usize {
    fs::read_dir(format!("/proc/{}/fd", server.process.id())).unwrap().count()
}

/// Returns the processes whose parent is the server.
fn children(server: &Server) -> Vec<u32> {
    let parent = server.process.id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name of the program is in parentheses, and may contain spaces.
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        if fields.split(' ').nth(1) == Some(&parent) {
            found.push(pid);
        }
    }
    found
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn agent_server() -> Server {
    let folder = folder();
    let path = folder.path().join("kaiak.sock");
    let mut command = command(&folder);
    command.args(["serve", "--backend", "acp", "--socket"]).arg(&path).args(["--", "node"]).arg(scripted());
    command.arg("open-permission").env("TMPDIR", temporary(&folder));
    let server = listen(folder, command, path);
    server.put("src/A.java", "class A {}\n");
    server
}

/// Starts a run, and waits for its question. Returns the client, the id of the request, and the question.
fn begin(server: &Server, session: &str) -> (Client, u64, serde_json::Value) {
    let mut client = server.connect();
    let id = client.command("kaiak/generate_fix", &fix(session, &["any"]));
    let question = client.notification("user_interaction");
    (client, id, question)
}

/// Waits until the request of a session has ended, and deletes the session.
fn delete(server: &Server, session: &str) {
    let mut client = server.connect();
    wait_until(|| {
        let response = client.call("kaiak/delete_session", &json!({ "session_id": session }));
        assert!(response["error"]["code"].is_null() || response["error"]["code"] == -32016, "{response}");
        response["result"]["status"] == "deleted"
    });
}

/// Starts a run, ends it, and deletes its session. `number` selects the end: an answer, a forced deletion, the kill of
/// the agent, or the end of the client. `agents` has the agents that were killed.
fn run(server: &Server, number: usize, agents: &mut Vec<u32>) {
    let session = session(number);
    let known = children(server);
    let (mut client, id, question) = begin(server, &session);
    match number % 4 {
        0 => {
            client.answer(&question["interaction_id"], true);
            assert_eq!(client.response(id)["result"]["status"], "completed");
        }
        1 => {
            client.call("kaiak/delete_session", &json!({ "session_id": session, "force": true }));
            assert_eq!(client.response(id)["error"]["code"], -32004);
            return;
        }
        2 => {
            let agent = children(server).into_iter().find(|pid| !known.contains(pid) && !agents.contains(pid)).unwrap();
            agents.push(agent);
            let pid = rustix::process::Pid::from_raw(agent.cast_signed()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            let response = client.response(id);
            assert_eq!(response["error"]["data"]["reason"], "agent-exited", "{response}");
        }
        _ => drop(client),
    }
    delete(server, &session);
}

#[test]
fn each_end_of_a_run_leaves_no_lock_no_process_no_file_and_no_descriptor() {
    if !has_node() {
        return;
    }
    let server = agent_server();
    let runs = runs();
    // After one run, the server has opened the descriptors that it keeps open.
    run(&server, runs, &mut Vec::new());
    wait_until(|| children(&server).is_empty());
    let before = descriptors(&server);
    // A run that kills its agent finds the agent as the only new process, so the runs of this kind follow one after the
    // other.
    let mut agents = Vec::new();
    (0..runs).filter(|number| number % 4 == 2).for_each(|number| run(&server, number, &mut agents));
    std::thread::scope(|threads| {
        for worker in 0..AT_A_TIME {
            let server = &server;
            threads.spawn(move || {
                let numbers = (0..runs).filter(|number| number % 4 != 2 && number / 4 % AT_A_TIME == worker);
                numbers.for_each(|number| run(server, number, &mut Vec::new()));
            });
        }
    });
    wait_until(|| children(&server).is_empty());
    wait_until(|| files(&server.folder.path().join("tmp")) == 0);
    wait_until(|| descriptors(&server) <= before);
    // The sessions are deleted, so none of them is locked.
    for number in 0..8 {
        let response = server.connect().call("kaiak/delete_session", &json!({ "session_id": session(number) }));
        assert_eq!(response["error"]["code"], -32003, "{response}");
    }
}
