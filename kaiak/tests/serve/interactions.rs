//! Questions and their answers.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{
    Client, FIXED_JAVA_FILE, JAVA_FILE, OTHER_SESSION, SESSION, fix, is_time, socket_with_file, stdio, stdio_with_file,
    stdio_with_file_and,
};

fn respond(client: &mut Client, params: &Value) -> Value {
    let id = client.request("kaiak/interaction/respond", params);
    client.response(id)
}

fn approval(interaction_id: &Value) -> Value {
    json!({ "interaction_id": interaction_id, "response_type": "approval", "response_data": { "approved": true } })
}

#[test]
fn k23_k29_a_question_is_answered_on_its_own_connection_while_the_request_runs() {
    let (server, mut client) = stdio_with_file();
    let id = client.generate(&["servlet-import"]);
    let question = client.notification("user_interaction");
    assert_eq!(question["options"], json!(["approve", "deny"]));
    assert_eq!(question["default_response"], "deny");
    assert_eq!(question["timeout"], 30);
    let answer = respond(&mut client, &approval(&question["interaction_id"]));
    assert_eq!(answer["result"]["interaction_id"], question["interaction_id"]);
    assert_eq!(answer["result"]["status"], "processed");
    assert!(is_time(&answer["result"]["responded_at"]), "{answer}");
    assert_eq!(client.response(id)["result"]["status"], "completed");
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
}

#[test]
fn k29_a_question_is_answered_as_a_command_or_by_a_notification() {
    for as_notification in [false, true] {
        let (server, mut client) = stdio_with_file();
        let id = client.generate(&["servlet-import"]);
        let question = client.notification("user_interaction");
        let answer = approval(&question["interaction_id"]);
        if as_notification {
            let params = json!({ "command": "kaiak/interaction/respond", "arguments": [answer] });
            client.notify("workspace/executeCommand", &params);
        } else {
            let response = client.call("kaiak/interaction/respond", &answer);
            assert_eq!(response["result"]["status"], "processed", "{response}");
        }
        client.response(id);
        assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
    }
}

#[test]
fn k29_a_question_is_answered_on_another_connection_of_the_socket() {
    let server = socket_with_file();
    let (mut asked, mut answering) = (server.connect(), server.connect());
    let id = asked.command("kaiak/generate_fix", &fix(SESSION, &["servlet-import"]));
    let question = asked.notification("user_interaction");
    answering.answer(&question["interaction_id"], true);
    asked.response(id);
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
}

#[test]
fn an_unknown_question_is_answered_with_32009() {
    let (server, mut client) = stdio_with_file();
    client.generate(&["servlet-import"]);
    let question = client.notification("user_interaction");
    for id in ["interaction-999", "interaction-", "interaction-01", "interaction-+1", "interaction-0", "x"] {
        let response = respond(&mut client, &approval(&json!(id)));
        assert_eq!(response["error"]["code"], -32009, "{id}: {response}");
        assert_eq!(response["error"]["message"], "Interaction not found");
        assert_eq!(response["error"]["data"]["interaction_id"], id);
    }
    let mut of_another_session = approval(&question["interaction_id"]);
    of_another_session["session_id"] = json!(OTHER_SESSION);
    assert_eq!(respond(&mut client, &of_another_session)["error"]["code"], -32009);
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
}

#[test]
fn a_second_answer_is_answered_with_32010() {
    let (server, mut client) = stdio_with_file();
    let id = client.generate(&["servlet-import"]);
    let question = client.approve(false);
    let response = client.answer(&question["interaction_id"], true);
    assert_eq!(response["error"]["code"], -32010, "{response}");
    assert_eq!(response["error"]["message"], "Interaction already responded");
    client.response(id);
    let response = client.answer(&question["interaction_id"], true);
    assert_eq!(response["error"]["code"], -32010, "{response}");
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
}

#[test]
fn an_invalid_answer_is_answered_with_32011_and_the_question_stays_open() {
    let (server, mut client) = stdio_with_file();
    let id = client.generate(&["servlet-import"]);
    let question = client.notification("user_interaction");
    for (kind, data, field) in [
        (json!("approval"), json!({}), "response_data.approved"),
        (json!("approval"), json!({ "approved": "yes" }), "response_data.approved"),
        (json!("approval"), json!(true), "response_data"),
        (json!("choice"), json!({ "choice": "edit" }), "response_data.choice"),
        (json!("input"), json!({ "text": "allow_always" }), "response_data.text"),
        (json!("shout"), json!({}), "response_type"),
        (Value::Null, json!({ "approved": true }), "response_type"),
    ] {
        let params =
            json!({ "interaction_id": question["interaction_id"], "response_type": kind, "response_data": data });
        let response = respond(&mut client, &params);
        assert_eq!(response["error"]["code"], -32011, "{params}: {response}");
        assert_eq!(response["error"]["data"]["field"], field, "{params}");
    }
    let choice = json!({
        "interaction_id": question["interaction_id"],
        "session_id": SESSION.to_uppercase(),
        "response_type": "choice",
        "response_data": { "choice": "approve" },
        "timestamp": "2025-12-24T10:30:00Z",
    });
    assert_eq!(respond(&mut client, &choice)["result"]["status"], "processed");
    client.response(id);
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
}

#[test]
fn an_answer_without_the_id_of_a_question_is_answered_with_32602() {
    let (_server, mut client) = stdio();
    for params in [json!({}), json!({ "interaction_id": 1 }), json!([]), json!({ "interaction_id": "" })] {
        assert_eq!(respond(&mut client, &params)["error"]["code"], -32602, "{params}");
    }
}

#[test]
fn k26_an_unanswered_question_is_denied_and_sends_interaction_timeout_and_a_late_answer_gets_32010() {
    let (server, mut client) = stdio_with_file_and(&["--interaction-timeout", "1"]);
    let id = client.generate(&["servlet-import"]);
    let question = client.notification("user_interaction");
    assert_eq!(question["timeout"], 1);
    let event = client.notification("system");
    assert_eq!((&event["level"], &event["component"]), (&json!("warning"), &json!("interaction")));
    let interaction_id = question["interaction_id"].as_str().unwrap();
    let expected = format!("interaction_timeout: {interaction_id} has no answer after 1 s; default_action: deny");
    assert_eq!(event["message"], expected);
    assert_eq!(client.answer(&question["interaction_id"], true)["error"]["code"], -32010);
    assert_eq!(client.response(id)["result"]["status"], "completed");
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
}

#[test]
fn an_open_question_blocks_neither_another_session_nor_another_command() {
    let server = socket_with_file();
    let (mut one, mut two) = (server.connect(), server.connect());
    let waiting = one.generate(&["servlet-import"]);
    let question = one.notification("user_interaction");
    two.configure(&json!({}));
    assert_eq!(two.call("kaiak/generate_fix", &fix(OTHER_SESSION, &["by-hand"]))["result"]["status"], "completed");
    // A second session on the same connection.
    let session = "550e8400-e29b-41d4-a716-446655440002";
    assert_eq!(one.call("kaiak/generate_fix", &fix(session, &["by-hand"]))["result"]["status"], "completed");
    one.answer(&question["interaction_id"], true);
    assert_eq!(one.response(waiting)["result"]["status"], "completed");
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
}

#[test]
fn two_sessions_ask_at_once_and_each_answer_reaches_its_own_question() {
    let server = socket_with_file();
    server.put("src/a.properties", "old.name=1\n");
    let (mut one, mut two) = (server.connect(), server.connect());
    let first = one.generate(&["servlet-import"]);
    let second = two.command("kaiak/generate_fix", &fix(OTHER_SESSION, &["old-property"]));
    let (question, other) = (one.notification("user_interaction"), two.notification("user_interaction"));
    assert_ne!(question["interaction_id"], other["interaction_id"]);
    two.answer(&other["interaction_id"], false);
    two.response(second);
    one.answer(&question["interaction_id"], true);
    one.response(first);
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
    assert_eq!(server.read("src/a.properties"), "old.name=1\n");
}

#[test]
fn a_client_that_vanishes_while_its_question_is_open_releases_the_session() {
    let server = socket_with_file();
    let mut gone = server.connect();
    gone.generate(&["servlet-import"]);
    let question = gone.notification("user_interaction");
    drop(gone);
    let mut client = server.connect();
    // The server waits for a grace period before it ends the request of the first client, so the session may still be
    // in use.
    let deleted = loop {
        let response = client.call("kaiak/delete_session", &json!({ "session_id": SESSION }));
        if response["error"]["code"] != -32016 {
            break response;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(deleted["result"]["status"], "deleted", "{deleted}");
    assert_eq!(client.answer(&question["interaction_id"], true)["error"]["code"], -32010);
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
}

#[test]
fn an_answer_after_the_client_has_left_is_not_applied() {
    for is_half_closed in [false, true] {
        let server = socket_with_file();
        let (mut gone, mut other) = (server.connect(), server.connect());
        gone.generate(&["servlet-import"]);
        let question = gone.notification("user_interaction");
        // The test does not wait, so the answer arrives within the grace period of the link.
        if is_half_closed {
            gone.shut_down_writing();
        } else {
            drop(gone);
        }
        assert_eq!(other.answer(&question["interaction_id"], true)["error"]["code"], -32010);
        // The request of the client has ended, so its session can be used at once.
        let response = other.fix(&["by-hand"]);
        assert_eq!(response["result"]["status"], "completed", "{response}");
        assert_eq!(server.read("src/A.java"), JAVA_FILE);
    }
}

#[test]
fn a_request_is_answered_with_32800_when_the_client_of_its_question_has_ended_its_input() {
    let (mut server, mut client) = stdio_with_file();
    let id = client.generate(&["servlet-import"]);
    client.notification("user_interaction");
    client.close();
    let response = client.response(id);
    assert_eq!(
        (&response["error"]["code"], &response["error"]["data"]["reason"]),
        (&json!(-32800), &json!("client-left"))
    );
    assert!(server.wait().success());
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
}
