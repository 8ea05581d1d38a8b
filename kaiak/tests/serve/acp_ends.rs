//! Agents that do not start, that exit, and that must be stopped.

use std::fs;

use serde_json::json;

use crate::harness::{SESSION, agent, command, contents, copies, fix, folder, has_node, log, start, wait_until};

#[test]
fn an_agent_that_exits_in_a_turn_is_answered_with_32603_and_is_started_again() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("exit");
    let id = client.generate(&["servlet-import"]);
    let (_, response) = client.run(id);
    assert_eq!(response["error"]["code"], -32603, "{response}");
    assert_eq!(response["error"]["data"]["reason"], "agent-exited");
    let details = response["error"]["data"]["details"].as_str().unwrap();
    assert!(details.contains("the model is on fire") && details.contains('3'), "{details}");
    server.put("fine", "");
    let id = client.generate(&["servlet-import"]);
    let (_, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
}

#[test]
fn an_agent_that_does_not_start_is_answered_with_32006_and_leaves_no_session() {
    if !has_node() {
        return;
    }
    for (behaviour, reason, part) in [
        ("no-start", "agent-exited", "no configuration"),
        ("login", "login-required", "Authentication required; log in with the agent itself: An API key"),
    ] {
        let (server, mut client) = agent(behaviour);
        let id = client.generate(&["servlet-import"]);
        let (_, response) = client.run(id);
        assert_eq!(response["error"]["code"], -32006, "{response}");
        assert_eq!(response["error"]["message"], "Agent initialization failed");
        assert_eq!(response["error"]["data"]["reason"], reason);
        assert!(response["error"]["data"]["details"].as_str().unwrap().contains(part), "{response}");
        assert_eq!(client.call("kaiak/delete_session", &json!({ "session_id": SESSION }))["error"]["code"], -32003);
        wait_until(|| copies(&server) == 0);
    }
    let folder = folder();
    let mut command = command(&folder);
    command.args(["serve", "--stdio", "--backend", "acp", "--", "/no/such/agent"]);
    let (_server, mut client) = start(folder, command);
    let id = client.generate(&["servlet-import"]);
    let response = client.response(id);
    assert_eq!(
        (&response["error"]["code"], &response["error"]["data"]["reason"]),
        (&json!(-32006), &json!("not-started"))
    );
    assert!(response["error"]["data"]["details"].as_str().unwrap().contains("/no/such/agent"), "{response}");
}

#[test]
fn an_agent_that_does_not_start_is_ended_before_its_copy_is_removed() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("login-and-write");
    let id = client.generate(&["servlet-import"]);
    let (_, response) = client.run(id);
    assert_eq!(response["error"]["data"]["reason"], "login-required", "{response}");
    assert_eq!(copies(&server), 0);
}

/// The cancellation and the second request arrive together, so that the second request waits for the end of the first
/// request.
#[test]
fn a_request_that_follows_a_cancelled_start_runs_in_a_session_that_exists() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("slow-start");
    let first = client.generate(&["servlet-import"]);
    wait_until(|| log(&server).contains("initialize"));
    server.put("fine", "");
    let cancel = json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": first } });
    let params = json!({ "command": "kaiak/generate_fix", "arguments": [fix(SESSION, &["servlet-import"])] });
    let second = json!({ "jsonrpc": "2.0", "id": 100, "method": "workspace/executeCommand", "params": params });
    let frame = |message: String| format!("Content-Length: {}\r\n\r\n{message}", message.len());
    client.send_bytes((frame(cancel.to_string()) + &frame(second.to_string())).as_bytes());
    assert_eq!(client.response(first)["error"]["code"], -32800);
    let response = client.response(100);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    let deleted = client.call("kaiak/delete_session", &json!({ "session_id": SESSION }));
    assert_eq!(deleted["result"]["status"], "deleted", "{deleted}");
    assert_eq!(copies(&server), 0);
}

#[test]
fn a_session_that_cannot_have_a_private_copy_is_answered_with_32001() {
    let folder = folder();
    let mut command = command(&folder);
    command.args(["serve", "--stdio", "--backend", "acp", "--", "node"]).env("TMPDIR", "/no/such/folder");
    let (_server, mut client) = start(folder, command);
    let id = client.generate(&["servlet-import"]);
    let response = client.response(id);
    assert_eq!(response["error"]["code"], -32001, "{response}");
    assert_eq!(response["error"]["data"]["reason"], "no-private-copy");
}

#[test]
fn a_forced_deletion_cancels_the_turn_and_every_open_permission() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("open-permission");
    let id = client.generate(&["servlet-import"]);
    client.notification("user_interaction");
    let deleted = client.call("kaiak/delete_session", &json!({ "session_id": SESSION, "force": true }));
    let summary = &deleted["result"]["cleanup_summary"];
    assert_eq!(summary["temp_files_removed"], 1, "{deleted}");
    assert_eq!(copies(&server), 0);
    let (_, response) = client.run(id);
    assert_eq!(response["error"]["code"], -32004, "{response}");
    let log = log(&server);
    assert!(log.contains("session/cancel") && log.contains(r#"permission {"outcome":"cancelled"}"#), "{log}");
}

/// The time of an open question does not count as processing time. So the agent requests the permission only after its
/// turn was cancelled.
#[test]
fn a_timeout_is_answered_with_32013_and_cancels_the_turn_and_a_late_permission() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("permission-at-cancel");
    let mut argument = fix(SESSION, &["servlet-import", "servlet-import"]);
    argument["options"] = json!({ "max_processing_time": 3 });
    let id = client.command("kaiak/generate_fix", &argument);
    let (notifications, response) = client.run(id);
    assert_eq!(response["error"]["code"], -32013, "{response}");
    assert_eq!(response["error"]["message"], "Tool execution timeout");
    assert_eq!(response["error"]["data"]["max_processing_time"], 3);
    let log = log(&server);
    assert!(log.contains("session/cancel") && log.contains(r#"permission {"outcome":"cancelled"}"#), "{log}");
    let summary = contents(&notifications, "system").pop().unwrap()["message"].clone();
    assert_eq!(summary, "0 of 2 incidents fixed, 0 not fixed, 2 not processed");
    server.put("fine", "");
    let id = client.generate(&["servlet-import"]);
    assert_eq!(client.response(id)["result"]["status"], "completed");
}

/// The agent sends updates faster than the server handles them.
#[test]
fn an_agent_that_sends_updates_without_a_pause_does_not_delay_the_timeout() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("flood");
    let mut argument = fix(SESSION, &["servlet-import"]);
    argument["options"] = json!({ "max_processing_time": 2 });
    let id = client.command("kaiak/generate_fix", &argument);
    let (_, response) = client.run(id);
    assert_eq!(response["error"]["code"], -32013, "{response}");
    assert!(log(&server).contains("session/cancel"), "{}", log(&server));
}

#[test]
fn a_request_whose_agent_does_not_stop_is_answered_after_sigterm() {
    if !has_node() {
        return;
    }
    let (mut server, mut client) = agent("hang-for-ever");
    let id = client.generate(&["servlet-import"]);
    client.notification("ai_response");
    server.terminate();
    let response = client.response(id);
    assert_eq!(response["error"]["data"]["reason"], "server-ended", "{response}");
    assert!(server.wait().success());
    assert_eq!(copies(&server), 0);
}

#[test]
fn a_cancelled_turn_leaves_a_usable_agent() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("hang");
    let id = client.generate(&["servlet-import"]);
    client.notification("ai_response");
    client.notify("$/cancelRequest", &json!({ "id": id }));
    assert_eq!(client.response(id)["error"]["code"], -32800);
    server.put("fine", "");
    let id = client.generate(&["servlet-import"]);
    let response = client.response(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    assert_eq!(log(&server).matches("session/new").count(), 1);
}

#[test]
fn an_agent_that_ignores_a_cancellation_is_answered_with_32005_and_is_started_again() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("hang-for-ever");
    let id = client.generate(&["servlet-import"]);
    client.notification("ai_response");
    client.notify("$/cancelRequest", &json!({ "id": id }));
    assert_eq!(client.response(id)["error"]["code"], -32800);
    server.put("fine", "");
    let id = client.generate(&["servlet-import"]);
    let response = client.response(id);
    assert_eq!(response["error"]["code"], -32005, "{response}");
    assert_eq!(response["error"]["message"], "Session not ready");
    assert_eq!(response["error"]["data"], json!({ "session_id": SESSION, "state": "processing" }));
    wait_until(|| {
        let id = client.generate(&["servlet-import"]);
        let response = client.response(id);
        assert!(response["error"].is_null() || response["error"]["code"] == -32005, "{response}");
        response["result"]["status"] == "completed"
    });
    assert_eq!(log(&server).matches("session/new").count(), 2);
}

#[test]
fn the_agent_and_its_descendants_end_with_the_session() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("sleeper");
    let id = client.generate(&["servlet-import"]);
    client.notification("ai_response");
    let pid = log(&server).lines().find_map(|line| line.strip_prefix("pid ").map(str::to_owned)).unwrap();
    let is_running = || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(is_running());
    client.call("kaiak/delete_session", &json!({ "session_id": SESSION, "force": true }));
    client.response(id);
    wait_until(|| !is_running());
}

#[test]
fn a_turn_that_the_agent_refuses_is_a_recoverable_error() {
    if !has_node() {
        return;
    }
    let (_server, mut client) = agent("refusal");
    let id = client.generate(&["servlet-import"]);
    let (notifications, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    let error = contents(&notifications, "error")[0].clone();
    assert_eq!((&error["error_code"], &error["recoverable"]), (&json!("AGENT_STOPPED"), &json!(true)));
}
