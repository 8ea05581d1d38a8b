//! The notifications of a request.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{SESSION, contents, is_time, stdio_with_file};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Runs a request that causes each kind of notification that the backend `rules` sends. Returns all messages up to the
/// response.
fn messages() -> (Vec<Value>, Value) {
    let (_server, mut client) = stdio_with_file();
    let id = client.generate(&["by-hand", "servlet-import"]);
    let question = client.wait_for(|message| message["method"] == "kaiak/stream/user_interaction");
    client.answer(&question["params"]["content"]["interaction_id"], true);
    let (mut notifications, response) = client.run(id);
    let number = |message: &Value| {
        message["params"]["message_id"].as_str().unwrap().strip_prefix("msg-").unwrap().parse::<usize>().unwrap()
    };
    // `wait_for` has taken the question out of the order.
    notifications.insert(number(&question) - 1, question);
    for (index, notification) in notifications.iter().enumerate() {
        assert_eq!(number(notification), index + 1, "the messages must be in the order of their numbers");
    }
    (notifications, response)
}

#[test]
fn k19_k33_each_notification_has_its_session_its_request_a_number_and_a_time() {
    let (notifications, response) = messages();
    let request_id = response["result"]["request_id"].as_str().unwrap();
    assert_eq!(request_id.len(), "req-".len() + 36, "{request_id}");
    for notification in &notifications {
        assert_eq!(keys(notification), ["jsonrpc", "method", "params"]);
        let params = &notification["params"];
        assert_eq!(keys(params), ["content", "message_id", "request_id", "session_id", "timestamp"]);
        assert_eq!(params["session_id"], SESSION);
        assert_eq!(params["request_id"], request_id);
        assert!(is_time(&params["timestamp"]), "{params}");
    }
}

#[test]
fn k20_to_k26_each_content_has_exactly_the_members_of_the_contract() {
    let (notifications, _) = messages();
    let mut seen = BTreeSet::new();
    for notification in &notifications {
        let name = notification["method"].as_str().unwrap().strip_prefix("kaiak/stream/").unwrap();
        let content = &notification["params"]["content"];
        let members: &[&str] = match name {
            "progress" => &["current_step", "description", "percentage", "phase", "total_steps"],
            "tool_call" => &["operation", "parameters", "result", "status", "tool_name"],
            "user_interaction" => {
                &["default_response", "interaction_id", "interaction_type", "options", "prompt", "timeout"]
            }
            "file_modification" => {
                &["diff", "file_path", "operation", "proposal_id", "requires_approval", "risk_level"]
            }
            "error" => &["details", "error_code", "message", "recoverable", "suggested_action"],
            "system" => &["component", "level", "message"],
            other => panic!("a notification that rules do not send: {other}"),
        };
        assert_eq!(keys(content), members, "{name}");
        seen.insert(name.to_owned());
    }
    let expected = ["error", "file_modification", "progress", "system", "tool_call", "user_interaction"];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn k20_the_percentage_of_progress_rises_to_100() {
    let (notifications, _) = messages();
    let progress: Vec<&Value> = notifications
        .iter()
        .filter(|notification| notification["method"] == "kaiak/stream/progress")
        .map(|notification| &notification["params"]["content"])
        .collect();
    let percentages: Vec<_> = progress.iter().map(|content| content["percentage"].as_u64().unwrap()).collect();
    assert_eq!(percentages, [0, 50, 100]);
    assert_eq!(progress[0]["current_step"], "Processing incident 1 of 2");
    assert_eq!(progress[0]["total_steps"], 2);
}

#[test]
fn k22_a_tool_call_passes_through_its_states_and_ends_with_a_result() {
    let (notifications, _) = messages();
    let calls: Vec<&Value> = notifications
        .iter()
        .filter(|notification| notification["method"] == "kaiak/stream/tool_call")
        .map(|notification| &notification["params"]["content"])
        .filter(|content| content["tool_name"] == "write_file")
        .collect();
    let statuses: Vec<_> = calls.iter().map(|call| call["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["pending", "approved", "executing", "completed"]);
    assert!(calls[..3].iter().all(|call| call["result"].is_null()));
    let result = &calls[3]["result"];
    assert_eq!(keys(result), ["error", "execution_time", "output", "success"]);
    assert_eq!((&result["success"], &result["output"]), (&json!(true), &json!("1 of 1 files changed")));
}

#[test]
fn k24_a_proposal_has_a_unified_diff() {
    let (notifications, _) = messages();
    let proposal = notifications.iter().find(|message| message["method"] == "kaiak/stream/file_modification").unwrap();
    let content = &proposal["params"]["content"];
    assert_eq!(content["proposal_id"], "proposal-1");
    assert_eq!(content["file_path"], "src/A.java");
    assert_eq!(content["operation"], "modify");
    let diff = content["diff"].as_str().unwrap();
    assert!(diff.contains("-import javax.servlet.Filter;\n+import jakarta.servlet.Filter;\n"), "{diff}");
}

#[test]
fn k27_progress_arrives_before_the_response_and_while_the_request_waits() {
    let (_server, mut client) = stdio_with_file();
    let id = client.generate(&["servlet-import"]);
    // The request waits for an answer, and its first notification has arrived.
    let progress = client.notification("progress");
    assert_eq!(progress["percentage"], 0);
    client.approve(true);
    let (before, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    let percentages: Vec<_> = contents(&before, "progress").iter().map(|content| &content["percentage"]).collect();
    assert_eq!(percentages, [&json!(100)]);
    // No notification follows the response, up to the end of the output.
    let configured = client.command("kaiak/configure", &json!({ "configuration": {} }));
    let (mut after, _) = client.run(configured);
    client.close();
    after.extend(std::iter::from_fn(|| client.next()));
    assert_eq!(after, Vec::<Value>::new());
}
