//! The example agent of the npm package `@agentclientprotocol/sdk`, which `npm ci` installs in the root of the
//! repository.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::harness::{Client, SESSION, Server, agent_program, contents, has_node, is_available};

/// Returns the path of the agent, or `None` if it is not installed.
fn installed() -> Option<PathBuf> {
    let package = "../node_modules/@agentclientprotocol/sdk/dist/examples/agent.js";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(package);
    let found = has_node() && is_available(path.exists(), "`npm ci` installs @agentclientprotocol/sdk");
    found.then_some(path)
}

fn agent(path: &Path, options: &[&str]) -> (Server, Client) {
    let (server, client) = agent_program(path, &[], options);
    server.put("config.json", "{}\n");
    (server, client)
}

/// The agent asks for the permission of one edit, and changes no file.
#[test]
fn the_example_agent_asks_once_and_reports_both_of_its_tools() {
    let Some(path) = installed() else { return };
    for approved in [true, false] {
        let (server, mut client) = agent(&path, &[]);
        let id = client.generate(&["any"]);
        let question = client.approve(approved);
        assert_eq!(question["interaction_type"], "tool_permission");
        assert_eq!(question["prompt"], "Run the tool \"Modifying critical configuration file\"?");
        let (notifications, response) = client.run(id);
        assert_eq!(response["result"]["status"], "completed", "{response}");
        let calls: Vec<_> = contents(&notifications, "tool_call")
            .into_iter()
            .map(|call| (call["tool_name"].as_str().unwrap(), call["status"].as_str().unwrap()))
            .collect();
        let end = if approved { ["approved", "completed"].as_slice() } else { &["denied"] };
        let mut expected = vec![("read_file", "pending"), ("read_file", "completed"), ("write_file", "pending")];
        expected.extend(end.iter().map(|status| ("write_file", *status)));
        assert_eq!(calls, expected);
        let texts = contents(&notifications, "ai_response");
        let whole = texts.last().unwrap();
        assert_eq!(whole["partial"], false);
        let part = if approved { "successfully updated the configuration" } else { "prefer not to make that change" };
        assert!(whole["text"].as_str().unwrap().contains(part), "{whole}");
        assert_eq!(server.read("config.json"), "{}\n");
    }
}

#[test]
fn a_question_without_an_answer_denies_the_edit_of_the_example_agent() {
    let Some(path) = installed() else { return };
    let (server, mut client) = agent(&path, &["--interaction-timeout", "1"]);
    let id = client.generate(&["any"]);
    let (notifications, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    assert_eq!(contents(&notifications, "tool_call").last().unwrap()["status"], "timeout");
    assert_eq!(server.read("config.json"), "{}\n");
}

#[test]
fn the_example_agent_is_cancelled_and_is_used_again() {
    let Some(path) = installed() else { return };
    let (_server, mut client) = agent(&path, &[]);
    let id = client.generate(&["any"]);
    client.notification("tool_call");
    client.notify("$/cancelRequest", &json!({ "id": id }));
    assert_eq!(client.response(id)["error"]["code"], -32800);
    let id = client.generate(&["any"]);
    client.approve(true);
    assert_eq!(client.response(id)["result"]["status"], "completed");
    let deleted = client.call("kaiak/delete_session", &json!({ "session_id": SESSION }));
    assert_eq!(deleted["result"]["cleanup_summary"]["temp_files_removed"], 1, "{deleted}");
}
