//! Sessions: creation, lock, cancellation, deletion.

use serde_json::{Value, json};

use crate::harness::{
    JAVA_FILE, OTHER_SESSION, SESSION, fix, incident, is_time, socket_with_file, stdio, stdio_with, stdio_with_file,
    stdio_with_file_and,
};

fn delete(session_id: &str, force: bool) -> Value {
    json!({ "session_id": session_id, "force": force, "cleanup_files": true })
}

#[test]
fn k15_k30_k32_an_unknown_uuid_creates_a_session_that_later_requests_reuse() {
    let (_server, mut client) = stdio();
    for _ in 0..3 {
        let response = client.fix(&["by-hand"]);
        assert_eq!(response["result"]["status"], "completed", "{response}");
    }
    // The case of the digits of a UUID has no meaning.
    let response = client.call("kaiak/delete_session", &delete(&SESSION.to_uppercase(), false));
    assert_eq!(response["result"]["session_id"], SESSION.to_uppercase(), "{response}");
    assert_eq!(client.call("kaiak/delete_session", &delete(SESSION, false))["error"]["code"], -32003);
}

#[test]
fn k13_a_session_id_that_is_not_a_uuid_is_answered_with_32003() {
    let (_server, mut client) = stdio();
    for id in ["nonexistent-session-id", ""] {
        let response = client.call("kaiak/generate_fix", &fix(id, &["by-hand"]));
        let error = json!({ "code": -32003, "message": "Session not found", "data": { "session_id": id } });
        assert_eq!(response["error"], error);
        assert_eq!(client.call("kaiak/delete_session", &delete(id, false))["error"], error);
    }
}

#[test]
fn k10_an_invalid_argument_is_answered_with_32602_and_its_field() {
    let (_server, mut client) = stdio();
    let with = |change: fn(&mut Value)| {
        let mut argument = fix(SESSION, &["by-hand"]);
        change(&mut argument);
        argument
    };
    for (argument, field) in [
        (json!({ "incidents": [incident("1", "r")] }), "session_id"),
        (json!({ "session_id": SESSION }), "incidents"),
        (json!({ "session_id": SESSION, "incidents": [] }), "incidents"),
        (with(|argument| argument["session_id"] = json!(5)), "session_id"),
        (with(|argument| argument["incidents"][0] = json!("text")), "incidents[0]"),
        (with(|argument| argument["incidents"][0]["id"] = json!("")), "incidents[0].id"),
        (with(|argument| argument["incidents"][0]["rule_id"] = json!("é".repeat(256))), "incidents[0].rule_id"),
        (with(|argument| argument["incidents"][0]["message"] = json!("m".repeat(1_001))), "incidents[0].message"),
        (
            with(|argument| argument["incidents"][0]["description"] = json!("d".repeat(5_001))),
            "incidents[0].description",
        ),
        (with(|argument| argument["incidents"][0]["effort"] = json!("e".repeat(101))), "incidents[0].effort"),
        (with(|argument| argument["incidents"][0]["severity"] = json!("fatal")), "incidents[0].severity"),
        (with(|argument| argument["incidents"][0]["uri"] = json!("u".repeat(4_097))), "incidents[0].uri"),
        (with(|argument| argument["incidents"][0]["lineNumber"] = json!(0)), "incidents[0].lineNumber"),
        (with(|argument| argument["options"] = json!({ "max_processing_time": 0 })), "options.max_processing_time"),
        (with(|argument| argument["options"] = json!({ "auto_apply_safe_fixes": 1 })), "options.auto_apply_safe_fixes"),
        (with(|argument| argument["migration_context"] = json!([])), "migration_context"),
        (
            with(|argument| argument["migration_context"] = json!({ "constraints": [1] })),
            "migration_context.constraints[0]",
        ),
    ] {
        let response = client.call("kaiak/generate_fix", &argument);
        assert_eq!((&response["error"]["code"], &response["error"]["data"]["field"]), (&json!(-32602), &json!(field)));
    }
    let mut argument = fix(SESSION, &["by-hand"]);
    argument["incidents"][0]["rule_id"] = json!("é".repeat(255));
    argument["incidents"][0]["message"] = json!("é".repeat(1_000));
    argument["migration_context"] =
        json!({ "source_technology": "Java 8", "migration_hints": ["h"], "preferences": {} });
    argument["options"] = json!(null);
    assert_eq!(client.call("kaiak/generate_fix", &argument)["result"]["status"], "completed");
}

#[test]
fn k14_k31_a_session_in_use_is_answered_with_32016_at_once_on_each_connection() {
    let server = socket_with_file();
    let (mut one, mut two) = (server.connect(), server.connect());
    let running = one.generate(&["servlet-import"]);
    let question = one.notification("user_interaction");
    for client in [&mut one, &mut two] {
        for (command, argument) in [
            ("kaiak/generate_fix", fix(SESSION, &["by-hand"])),
            ("kaiak/delete_session", delete(SESSION, false)),
            ("kaiak/delete_session", json!({ "session_id": SESSION })),
        ] {
            let error = client.call(command, &argument)["error"].clone();
            assert_eq!(error["code"], -32016);
            assert_eq!(error["message"], "Session is currently in use by another client");
            assert_eq!(error["data"]["session_id"], SESSION);
            assert!(is_time(&error["data"]["in_use_since"]), "{error}");
        }
    }
    one.answer(&question["interaction_id"], true);
    assert_eq!(one.response(running)["result"]["status"], "completed");
    assert_eq!(two.fix(&["by-hand"])["result"]["status"], "completed");
}

#[test]
fn k16_k17_a_deletion_reports_the_counts_of_its_session_and_a_new_session_can_have_the_same_id() {
    let (_server, mut client) = stdio();
    let id = client.generate(&["by-hand"]);
    let (notifications, _) = client.run(id);
    let result = client.call("kaiak/delete_session", &delete(SESSION, false))["result"].clone();
    assert_eq!(result["session_id"], SESSION);
    assert_eq!(result["status"], "deleted");
    let summary = json!({
        "session_removed": true,
        "messages_cleaned": notifications.len(),
        "temp_files_removed": 0,
        "errors": [],
    });
    assert_eq!(result["cleanup_summary"], summary);
    assert!(is_time(&result["deleted_at"]), "{result}");
    let id = client.generate(&["by-hand"]);
    let (notifications, _) = client.run(id);
    assert_eq!(notifications[0]["params"]["message_id"], "msg-1");
}

#[test]
fn k18_an_unknown_session_is_not_deleted() {
    let (_server, mut client) = stdio();
    let response = client.call("kaiak/delete_session", &delete(OTHER_SESSION, true));
    let error = json!({ "code": -32003, "message": "Session not found", "data": { "session_id": OTHER_SESSION } });
    assert_eq!(response["error"], error);
    let response = client.call("kaiak/delete_session", &json!({ "session_id": SESSION, "force": "yes" }));
    assert_eq!((&response["error"]["code"], &response["error"]["data"]["field"]), (&json!(-32602), &json!("force")));
}

#[test]
fn a_forced_deletion_answers_the_running_request_with_32004_and_the_source_file_is_unchanged() {
    let server = socket_with_file();
    let (mut one, mut two) = (server.connect(), server.connect());
    let running = one.generate(&["servlet-import"]);
    let question = one.notification("user_interaction");
    let deleted = two.call("kaiak/delete_session", &delete(SESSION, true));
    assert_eq!(deleted["result"]["status"], "deleted", "{deleted}");
    let response = one.response(running);
    let error = json!({ "code": -32004, "message": "Session already terminated", "data": { "session_id": SESSION } });
    assert_eq!(response["error"], error);
    assert_eq!(two.answer(&question["interaction_id"], true)["error"]["code"], -32010);
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
    assert_eq!(two.fix(&["by-hand"])["result"]["status"], "completed");
}

#[test]
fn a_cancelled_request_is_answered_with_32800_and_releases_its_session() {
    let (server, mut client) = stdio_with_file();
    let running = client.generate(&["servlet-import"]);
    let question = client.notification("user_interaction");
    client.notify("$/cancelRequest", &json!({ "id": running }));
    let (notifications, response) = client.run(running);
    assert_eq!(response["error"]["code"], -32800, "{response}");
    assert!(notifications.len() < 10, "{notifications:?}");
    let id = client.generate(&["by-hand"]);
    let (notifications, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    let request_id = &response["result"]["request_id"];
    assert!(notifications.iter().all(|notification| notification["params"]["request_id"] == *request_id));
    assert_eq!(client.answer(&question["interaction_id"], true)["error"]["code"], -32010);
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
}

#[test]
fn the_time_of_a_question_does_not_count_as_processing_time() {
    let (_server, mut client) = stdio_with_file_and(&["--interaction-timeout", "2"]);
    let mut argument = fix(SESSION, &["servlet-import"]);
    argument["options"] = json!({ "max_processing_time": 1 });
    let start = std::time::Instant::now();
    let response = client.call("kaiak/generate_fix", &argument);
    assert!(start.elapsed() >= std::time::Duration::from_secs(2), "the question was not open for its whole time");
    assert_eq!(response["result"]["status"], "completed", "{response}");
}

#[test]
fn one_session_too_many_is_answered_with_32001() {
    let (_server, mut client) = stdio_with(&["--max-sessions", "1"]);
    client.fix(&["by-hand"]);
    let response = client.call("kaiak/generate_fix", &fix(OTHER_SESSION, &["by-hand"]));
    assert_eq!(response["error"]["code"], -32001, "{response}");
    assert_eq!(response["error"]["message"], "Session creation failed");
    assert_eq!(response["error"]["data"]["reason"], "too-many-sessions");
    client.call("kaiak/delete_session", &delete(SESSION, false));
    assert_eq!(client.call("kaiak/generate_fix", &fix(OTHER_SESSION, &["by-hand"]))["result"]["status"], "completed");
}

#[test]
fn a_thousand_idle_sessions_need_less_than_50_mb() {
    let (server, mut client) = stdio();
    for number in 0..1_000 {
        let session = format!("550e8400-e29b-41d4-a716-{number:012}");
        let response = client.call("kaiak/generate_fix", &fix(&session, &["by-hand"]));
        assert_eq!(response["result"]["status"], "completed", "{response}");
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = memory.trim().trim_end_matches(" kB").parse().unwrap();
    println!("{kilobytes} kB with 1 000 idle sessions");
    assert!(kilobytes < 50_000, "{kilobytes} kB");
}
