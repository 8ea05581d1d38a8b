//! The framing of messages, the methods and commands, and the error codes of JSON-RPC.

use serde_json::{Value, json};

use crate::harness::{Client, SESSION, fix, socket, stdio, stdio_with_file};

fn code(response: &Value) -> i64 {
    response["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {response}"))
}

#[test]
fn k1_k3_standard_streams_carry_frames_with_a_length() {
    let (_server, mut client) = stdio();
    let response = client.configure(&json!({}));
    assert_eq!(response["message"], "Agent configured successfully");
}

#[test]
fn k2_k3_a_socket_serves_several_clients_at_once() {
    let server = socket();
    let (mut one, mut two) = (server.connect(), server.connect());
    two.configure(&json!({}));
    one.configure(&json!({}));
}

#[test]
fn k3_the_case_and_the_spaces_of_a_header_do_not_matter() {
    let (_server, mut client) = stdio();
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"nothing"}"#;
    for header in [
        "content-length:",
        "CONTENT-LENGTH:   ",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-length: ",
    ] {
        client.send_bytes(format!("{header}{}\r\n\r\n{body}", body.len()).as_bytes());
        assert_eq!(code(&client.response(7)), -32601, "{header:?}");
    }
}

#[test]
fn k4_a_frame_that_is_not_json_is_answered_with_32700_and_id_null() {
    let (_server, mut client) = stdio();
    client.send_text("{");
    let response = client.next().unwrap();
    assert_eq!((code(&response), response.get("id")), (-32700, Some(&Value::Null)));
    client.configure(&json!({}));
}

#[test]
fn k4_a_message_that_is_not_a_request_is_answered_with_32600() {
    let (_server, mut client) = stdio();
    for message in
        [r#"{"id":1}"#, r#"{"jsonrpc":"2.0","id":1,"method":5}"#, r#"{"jsonrpc":"2.0","id":1,"method":"m","params":5}"#]
    {
        client.send_text(message);
        assert_eq!(code(&client.next().unwrap()), -32600, "{message}");
    }
}

#[test]
fn a_batch_is_rejected_with_one_error() {
    let (_server, mut client) = stdio();
    client.send_text(r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]"#);
    let response = client.next().unwrap();
    assert_eq!((code(&response), &response["id"]), (-32600, &Value::Null));
    client.configure(&json!({}));
}

#[test]
fn k4_an_unknown_method_is_answered_with_32601_even_if_it_is_the_name_of_a_command() {
    let (_server, mut client) = stdio();
    for method in ["initialize", "kaiak/configure", "kaiak/generate_fix", "kaiak/delete_session"] {
        let id = client.request(method, &json!({}));
        let response = client.response(id);
        assert_eq!(code(&response), -32601, "{method}");
        let details = response["error"]["data"]["details"].as_str().unwrap_or_default();
        assert_eq!(details.contains("workspace/executeCommand"), method.starts_with("kaiak/"), "{response}");
    }
}

#[test]
fn k5_k6_an_unknown_command_is_answered_with_the_three_commands() {
    let (_server, mut client) = stdio();
    let response = client.call("kaiak/frobnicate", &json!({}));
    assert_eq!(code(&response), -32601);
    let commands = json!(["kaiak/configure", "kaiak/generate_fix", "kaiak/delete_session"]);
    assert_eq!(response["error"]["data"]["supported_methods"], commands);
    assert_eq!(response["error"]["data"]["requested_method"], "kaiak/frobnicate");
    let response = client.call(&"x".repeat(1_000_000), &json!({}));
    assert_eq!(response["error"]["data"]["requested_method"], "x".repeat(100));
}

#[test]
fn k5_params_that_are_not_a_command_with_one_object_are_answered_with_32602() {
    let (_server, mut client) = stdio();
    for (params, field) in [
        (json!([]), "params"),
        (Value::Null, "params"),
        (json!({}), "command"),
        (json!({ "command": 5 }), "command"),
        (json!({ "command": "kaiak/configure" }), "arguments"),
        (json!({ "command": "kaiak/configure", "arguments": null }), "arguments"),
        (json!({ "command": "kaiak/configure", "arguments": {} }), "arguments"),
        (json!({ "command": "kaiak/configure", "arguments": [] }), "arguments"),
        (json!({ "command": "kaiak/configure", "arguments": [{}, {}] }), "arguments"),
        (json!({ "command": "kaiak/configure", "arguments": ["{}"] }), "arguments[0]"),
    ] {
        let id = client.request("workspace/executeCommand", &params);
        let response = client.response(id);
        assert_eq!((code(&response), &response["error"]["data"]["field"]), (-32602, &json!(field)), "{params}");
        assert!(response["error"]["data"]["details"].is_string(), "{response}");
    }
}

#[test]
fn a_command_without_an_id_runs_nothing_and_a_later_request_is_served() {
    let (_server, mut client) = stdio_with_file();
    client.notify(
        "workspace/executeCommand",
        &json!({ "command": "kaiak/generate_fix", "arguments": [fix(SESSION, &["servlet-import"])] }),
    );
    client.notify("kaiak/unknown", &json!({}));
    client.configure(&json!({}));
    let response = client.call("kaiak/delete_session", &json!({ "session_id": SESSION }));
    assert_eq!(code(&response), -32003);
}

#[test]
fn a_message_of_more_than_10_mib_is_answered_with_32600_and_the_next_is_served() {
    let (_server, mut client) = stdio();
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":["{}"]}}"#, "x".repeat(10_485_760));
    client.send_text(&body);
    let response = client.next().unwrap();
    assert_eq!((code(&response), &response["error"]["data"]["reason"]), (-32600, &json!("oversize")));
    client.configure(&json!({}));
}

#[test]
fn the_end_of_the_input_ends_the_program_without_output() {
    let (mut server, mut client) = stdio();
    client.configure(&json!({}));
    client.close();
    assert_eq!(client.next(), None);
    assert!(server.wait().success());
}

#[test]
fn sigterm_ends_the_program() {
    let mut server = socket();
    server.terminate();
    assert!(server.wait().success());
}

#[test]
fn sigterm_answers_a_request_whose_question_is_open() {
    let on_socket = socket();
    let client = on_socket.connect();
    for (mut server, mut client) in [stdio(), (on_socket, client)] {
        server.put("src/A.java", "import javax.servlet.Filter;\n");
        let id = client.generate(&["servlet-import"]);
        client.notification("user_interaction");
        server.terminate();
        let response = client.response(id);
        assert_eq!((code(&response), &response["error"]["data"]["reason"]), (-32603, &json!("server-ended")));
        assert!(server.wait().success());
        assert_eq!(server.read("src/A.java"), "import javax.servlet.Filter;\n");
    }
}

#[test]
fn a_request_with_the_id_of_an_open_request_is_answered_with_32600_and_runs_nothing() {
    let (_server, mut client) = stdio_with_file();
    let request = |method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": "same", "method": method, "params": params }).to_string()
    };
    let command = json!({ "command": "kaiak/generate_fix", "arguments": [fix(SESSION, &["servlet-import"])] });
    client.send_text(&request("workspace/executeCommand", command.clone()));
    let question = client.notification("user_interaction");
    let answer = json!({ "interaction_id": question["interaction_id"], "response_type": "choice",
        "response_data": { "choice": "approve" } });
    let next_response = |client: &mut Client| client.wait_for(|message| message["id"] == "same");
    for (method, params) in [("workspace/executeCommand", command.clone()), ("kaiak/interaction/respond", answer)] {
        client.send_text(&request(method, params));
        let response = next_response(&mut client);
        assert_eq!((code(&response), &response["error"]["data"]["reason"]), (-32600, &json!("duplicate-id")));
    }
    client.answer(&question["interaction_id"], true);
    assert_eq!(next_response(&mut client)["result"]["status"], "completed");
    // After the response, the id can be used again.
    client.send_text(&request("workspace/executeCommand", command));
    assert_eq!(next_response(&mut client)["result"]["status"], "completed");
}
