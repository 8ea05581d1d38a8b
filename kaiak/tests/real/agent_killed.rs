//! Agents that are killed while they are idle, and in the middle of a turn.

use serde_json::json;

use crate::harness::{FIXED_JAVA_FILE, JAVA_FILE, SESSION, agent, agent_program, copies, has_node, log, wait_until};
use crate::processes::{children, descriptors, exists, is_running, kill, snapshot};
use crate::programs::{has_sdk_agent, sdk_agent};

#[test]
fn an_agent_that_is_killed_while_idle_is_started_again_by_the_next_request() {
    if !has_sdk_agent() {
        return;
    }
    let (server, mut client) = agent_program(&sdk_agent(), &["client", "asks"], &[]);
    server.put("src/A.java", JAVA_FILE);
    let id = client.generate(&["servlet-import"]);
    client.approve(false);
    client.response(id);
    let [agent] = children(server.process.id())[..] else { panic!("the server must have one agent") };
    let before = descriptors(server.process.id());
    kill(agent);
    // The server waits for the killed agent, so the agent does not remain as a zombie. Then the server closes the pipes
    // of the agent.
    wait_until(|| !exists(agent) && descriptors(server.process.id()) < before);
    let id = client.generate(&["servlet-import"]);
    client.approve(true);
    let (_, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
    assert_eq!(log(&server).matches("pid ").count(), 2, "{}", log(&server));
    assert_eq!(children(server.process.id()).len(), 1);
    assert_eq!(copies(&server), 1, "the copy of the killed agent must be removed");
    wait_until(|| descriptors(server.process.id()) <= before);
    let deleted = client.call("kaiak/delete_session", &json!({ "session_id": SESSION }));
    assert_eq!(deleted["result"]["status"], "deleted", "{deleted}");
    wait_until(|| children(server.process.id()).is_empty());
    assert_eq!(copies(&server), 0);
}

#[test]
fn an_agent_that_is_killed_in_a_turn_leaves_no_descendant_and_no_change() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("sleeper");
    let before = snapshot(&server.workspace());
    let id = client.generate(&["servlet-import"]);
    client.notification("ai_response");
    let descendant = log(&server).lines().find_map(|line| line.strip_prefix("pid ")?.parse().ok()).unwrap();
    let [agent] = children(server.process.id())[..] else { panic!("the server must have one agent") };
    assert!(is_running(descendant));
    kill(agent);
    let (_, response) = client.run(id);
    assert_eq!(response["error"]["code"], -32603, "{response}");
    assert_eq!(response["error"]["data"]["reason"], "agent-exited", "{response}");
    wait_until(|| !exists(agent) && !is_running(descendant));
    assert_eq!(snapshot(&server.workspace()), before);
    let deleted = client.call("kaiak/delete_session", &json!({ "session_id": SESSION }));
    assert_eq!(deleted["result"]["status"], "deleted", "{deleted}");
    assert_eq!(copies(&server), 0);
}
