//! Tests with an agent that uses the official SDK of the Agent Client Protocol. The agent writes files by requests to
//! the server, or directly.

use serde_json::json;

use crate::harness::{Client, Server, agent_program, contents, copies, log, wait_until};
use crate::processes::{FileState, snapshot};
use crate::programs::{has_sdk_agent, sdk_agent};

const JAVA_FILE: &str = "import javax.servlet.Filter;\r\n\r\nclass A {}";
const FIXED_JAVA_FILE: &str = "import jakarta.servlet.Filter;\r\n\r\nclass A {}";

/// The ways in which the agent writes.
const WRITES: [&str; 2] = ["client", "direct"];

/// Starts the server with the agent, in a workspace with one Java file.
fn agent(writes: &str, questions: &str, options: &[&str]) -> (Server, Client, Vec<FileState>) {
    let (server, client) = agent_program(&sdk_agent(), &[writes, questions], options);
    server.put("src/A.java", JAVA_FILE);
    server.put("pom.xml", "<project/>\n");
    let before = snapshot(&server.workspace());
    (server, client, before)
}

/// Ends the server. Checks that its exit code is 0, and that no private copy is left.
fn end(mut server: Server, mut client: Client) {
    client.close();
    while client.next().is_some() {}
    assert!(server.wait().success());
    assert_eq!(copies(&server), 0);
}

#[test]
fn an_approved_edit_changes_only_its_file_after_one_question() {
    if !has_sdk_agent() {
        return;
    }
    for writes in WRITES {
        let (server, mut client, before) = agent(writes, "asks", &[]);
        let id = client.generate(&["servlet-import"]);
        let question = client.notification("user_interaction");
        assert_eq!(question["interaction_type"], "file_approval", "{writes}: {question}");
        assert_eq!(snapshot(&server.workspace()), before, "nothing must be written before the approval");
        client.answer(&question["interaction_id"], true);
        let (notifications, response) = client.run(id);
        assert_eq!(response["result"]["status"], "completed", "{response}");
        assert_eq!(contents(&notifications, "user_interaction").len(), 0, "{writes}: {notifications:#?}");
        assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE, "{writes}");
        let after = snapshot(&server.workspace());
        let is_other = |state: &&FileState| !state.0.ends_with("A.java");
        assert_eq!(after.len(), before.len());
        assert!(after.iter().filter(is_other).eq(before.iter().filter(is_other)), "{writes}");
        assert!(log(&server).ends_with("permission yes\nwritten\n"), "{}", log(&server));
        end(server, client);
    }
}

#[test]
fn a_denied_edit_leaves_every_byte_even_if_the_agent_disobeys() {
    if !has_sdk_agent() {
        return;
    }
    for writes in WRITES {
        for questions in ["asks", "disobeys"] {
            let (server, mut client, before) = agent(writes, questions, &[]);
            let id = client.generate(&["servlet-import"]);
            client.approve(false);
            if questions == "disobeys" {
                // The agent writes nevertheless, and the server asks a second question, about this write.
                client.approve(false);
            }
            let (_, response) = client.run(id);
            assert_eq!(response["result"]["status"], "completed", "{response}");
            assert_eq!(snapshot(&server.workspace()), before, "{writes} {questions}");
            assert!(log(&server).contains("permission no"), "{}", log(&server));
            end(server, client);
        }
    }
}

#[test]
fn a_question_without_an_answer_leaves_every_byte() {
    if !has_sdk_agent() {
        return;
    }
    for writes in WRITES {
        let (server, mut client, before) = agent(writes, "asks", &["--interaction-timeout", "1"]);
        let id = client.generate(&["servlet-import"]);
        let (_, response) = client.run(id);
        assert_eq!(response["result"]["status"], "completed", "{response}");
        assert_eq!(snapshot(&server.workspace()), before, "{writes}");
        assert!(log(&server).ends_with("permission no\n"), "{}", log(&server));
        end(server, client);
    }
}

#[test]
fn a_cancelled_request_leaves_every_byte_and_a_usable_agent() {
    if !has_sdk_agent() {
        return;
    }
    for writes in WRITES {
        let (server, mut client, before) = agent(writes, "asks", &[]);
        let id = client.generate(&["servlet-import"]);
        client.notification("user_interaction");
        client.notify("$/cancelRequest", &json!({ "id": id }));
        assert_eq!(client.response(id)["error"]["code"], -32800);
        wait_until(|| log(&server).contains("permission cancelled") && log(&server).contains("\ncancelled"));
        assert_eq!(snapshot(&server.workspace()), before, "{writes}");
        let id = client.generate(&["servlet-import"]);
        client.approve(true);
        assert_eq!(client.response(id)["result"]["status"], "completed");
        assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
        assert_eq!(log(&server).matches("pid ").count(), 1, "the agent must not be started again");
        end(server, client);
    }
}

#[test]
fn a_write_without_a_permission_request_reaches_the_file_only_after_an_approval() {
    if !has_sdk_agent() {
        return;
    }
    for writes in WRITES {
        for approved in [false, true] {
            let (server, mut client, before) = agent(writes, "silent", &[]);
            let id = client.generate(&["servlet-import"]);
            let question = client.notification("user_interaction");
            assert_eq!(snapshot(&server.workspace()), before, "{writes}");
            client.answer(&question["interaction_id"], approved);
            let (notifications, response) = client.run(id);
            assert_eq!(response["result"]["status"], "completed", "{response}");
            assert_eq!(contents(&notifications, "user_interaction").len(), 0, "{writes}: {notifications:#?}");
            assert_eq!(server.read("src/A.java"), if approved { FIXED_JAVA_FILE } else { JAVA_FILE }, "{writes}");
            if !approved {
                assert_eq!(snapshot(&server.workspace()), before, "{writes}");
            }
            end(server, client);
        }
    }
}
