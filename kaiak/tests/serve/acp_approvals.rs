//! Approvals of the changes of an agent. An approval applies only to the change that was shown, and an agent cannot
//! change the workspace without an approval.

use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::harness::{
    FIXED_JAVA_FILE, JAVA_FILE, Server, agent, agent_with, contents, has_node, log, statuses, wait_until,
};

/// Returns the resident memory of the server in kilobytes.
fn memory(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    memory.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn the_change_of_a_tool_that_is_allowed_by_name_needs_an_approval() {
    if !has_node() {
        return;
    }
    for approved in [false, true] {
        let (server, mut client) = agent("named-with-diff");
        client.configure(&json!({ "permissions": { "tool_permissions": { "replace": "allow" } } }));
        let id = client.generate(&["servlet-import"]);
        let proposal = client.notification("file_modification");
        assert_eq!(proposal["requires_approval"], true, "{proposal}");
        client.approve(approved);
        client.response(id);
        assert_eq!(server.read("src/A.java"), if approved { FIXED_JAVA_FILE } else { JAVA_FILE });
    }
}

#[test]
fn a_change_that_the_question_did_not_show_causes_a_second_question() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("other-change");
    let id = client.generate(&["servlet-import"]);
    // The agent has replaced the diff of its tool while the question is open.
    client.wait_for(|message| message["params"]["content"]["status"] == "executing");
    let question = client.approve(true);
    assert_eq!(question["prompt"], "Apply this fix to src/A.java?");
    client.approve(false);
    let (_, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
}

#[test]
fn the_approval_of_a_part_of_a_file_is_no_approval_of_this_part_as_the_whole_file() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("part-as-file");
    let id = client.generate(&["servlet-import"]);
    client.approve(true);
    client.approve(false);
    let (_, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    assert!(log(&server).contains("write refused"), "{}", log(&server));
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
}

#[test]
fn a_read_request_whose_question_has_no_answer_has_the_status_timeout() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent_with("fs-write", &["--interaction-timeout", "1"]);
    client.configure(&json!({ "permissions": { "tool_permissions": { "read_file": "approve" } } }));
    let id = client.generate(&["servlet-import"]);
    let (notifications, _) = client.run(id);
    assert_eq!(statuses(&notifications), ["timeout", "timeout"]);
    assert!(log(&server).contains("the user has not answered in time whether read_file may run"), "{}", log(&server));
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
}

#[test]
fn an_update_between_two_turns_belongs_to_neither() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("text-between-turns");
    let id = client.generate(&["servlet-import"]);
    client.response(id);
    wait_until(|| log(&server).contains("sent between turns"));
    // The server needs a moment to receive the update.
    thread::sleep(Duration::from_millis(300));
    server.put("fine", "");
    let id = client.generate(&["servlet-import"]);
    let (notifications, _) = client.run(id);
    let texts: Vec<_> = contents(&notifications, "ai_response").iter().map(|content| &content["text"]).collect();
    assert_eq!(texts, ["Hello, ", "world", "Hello, world"]);
}

#[test]
fn contents_that_an_agent_overwrites_do_not_stay_in_memory() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("writes-again");
    client.configure(&json!({ "permissions": { "tool_permissions": { "write_file": "allow" } } }));
    let id = client.generate(&["servlet-import"]);
    let question = client.notification("user_interaction");
    let kilobytes = memory(&server);
    client.answer(&question["interaction_id"], false);
    client.response(id);
    assert!(kilobytes < 100_000, "{kilobytes} kB after 150 MB were written");
}

#[test]
fn the_changed_files_of_a_turn_are_not_all_in_memory_at_once() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("many-large-files");
    let id = client.generate(&["servlet-import"]);
    client.notification("user_interaction");
    let kilobytes = memory(&server);
    client.notify("$/cancelRequest", &json!({ "id": id }));
    assert_eq!(client.response(id)["error"]["code"], -32800);
    assert!(kilobytes < 100_000, "{kilobytes} kB after 152 MB were changed");
}
