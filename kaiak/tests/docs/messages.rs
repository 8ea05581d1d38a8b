//! Sends the requests of docs/kaiak.md to a real server, and compares the replies with those of the page.

use serde_json::{Value, json};

use crate::harness::{Client, Server, command, folder, is_time, start};
use crate::page::{Block, HOME, blocks, page, write_file};
use crate::programs::{has_sdk_agent, repository, sdk_agent};

const FILE: &str = "shop/src/Shop.java";

/// Starts the server with the rules and the project of the page.
fn serve(blocks: &[Block], options: &[&str]) -> (Server, Client) {
    let folder = folder();
    let root = folder.path().join("workspace");
    for file in [FILE, "house/rules.yaml", "house/fixes.yaml"] {
        write_file(blocks, file, &root);
    }
    let mut command = command(&folder);
    command.args(["serve", "--stdio", "--rules", "house", "--rules"]).arg(repository().join("kaiak/rules/jakarta"));
    command.args(options);
    start(folder, command)
}

/// Returns the JSON of the blocks with this label.
fn messages(blocks: &[Block], label: &str) -> Vec<Value> {
    let found = blocks.iter().filter(|block| block.language == "json" && block.label == label);
    found.map(|block| serde_json::from_str(&block.text).unwrap()).collect()
}

/// Replaces a text in a message.
fn replace(message: &Value, from: &str, to: &str) -> Value {
    serde_json::from_str(&message.to_string().replace(from, to)).unwrap()
}

/// Replaces the values that differ between two runs: times, and the ids of requests.
fn normalized(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| {
                let is_id = name == "request_id" && value.as_str().is_some_and(|id| id.starts_with("req-"));
                let value = if name == "execution_time" || is_id { json!(name) } else { normalized(value) };
                (name.clone(), value)
            })
            .collect(),
        Value::Array(elements) => elements.iter().map(normalized).collect(),
        time if is_time(time) => json!("a time"),
        other => other.clone(),
    }
}

/// Sends a request of the page. Returns its id.
fn send(client: &mut Client, request: &Value) -> u64 {
    client.request("workspace/executeCommand", request)
}

#[test]
fn the_server_answers_the_requests_of_the_page_with_its_results_and_notifications() {
    let blocks = blocks();
    let (server, mut client) = serve(&blocks, &[]);
    let tour = server.workspace();
    let local = |message: &Value| replace(message, &format!("{HOME}/tour"), tour.to_str().unwrap());
    let [configure, generate, delete] = &messages(&blocks, "request")[..] else {
        panic!("the page must have three requests")
    };
    let results: Vec<Value> = messages(&blocks, "response").iter().map(|result| normalized(&local(result))).collect();
    let [configured, generated, deleted] = &results[..] else { panic!("the page must have three results") };

    let id = send(&mut client, &local(configure));
    assert_eq!(normalized(&client.response(id)["result"]), *configured);

    let id = send(&mut client, &local(generate));
    let question = client.wait_for(|message| message["method"] == "kaiak/stream/user_interaction");
    let [answer] = &messages(&blocks, "answer")[..] else { panic!("the page must have one answer") };
    let answer = client.request("kaiak/interaction/respond", answer);
    let answered = messages(&blocks, "answered").iter().map(normalized).collect::<Vec<_>>();
    assert_eq!([normalized(&client.response(answer)["result"])], *answered);
    let (mut notifications, response) = client.run(id);
    assert_eq!(normalized(&response["result"]), *generated);
    notifications.push(question);

    let sent: Vec<Value> = notifications.iter().map(normalized).collect();
    let [first] = &messages(&blocks, "notification progress")[..] else {
        panic!("the page must have one notification")
    };
    assert!(sent.contains(&normalized(&local(first))), "{sent:#?}");
    for name in ["progress", "tool_call", "user_interaction", "file_modification", "error", "system"] {
        let method = format!("kaiak/stream/{name}");
        let sent: Vec<&Value> = sent.iter().filter(|message| message["method"] == method).collect();
        let [content] = &messages(&blocks, &format!("content {name}"))[..] else {
            panic!("the page must have one content of {name}")
        };
        let content = normalized(&local(content));
        assert!(sent.iter().any(|message| message["params"]["content"] == content), "{content:#} in {sent:#?}");
    }

    let id = send(&mut client, delete);
    let deletion = normalized(&client.response(id)["result"]);
    assert_eq!(deletion["cleanup_summary"]["messages_cleaned"], sent.len());
    assert_eq!(deletion, *deleted);
}

#[test]
fn a_question_without_an_answer_is_reported_as_on_the_page() {
    let blocks = blocks();
    let (server, mut client) = serve(&blocks, &["--interaction-timeout", "1"]);
    let local = |message: &Value| replace(message, &format!("{HOME}/tour"), server.workspace().to_str().unwrap());
    let requests = messages(&blocks, "request");
    for request in &requests[..2] {
        send(&mut client, &local(request));
    }
    let [expected] = &messages(&blocks, "timeout system")[..] else { panic!("the page must have one notification") };
    assert_eq!(client.notification("system"), replace(expected, "30 s", "1 s"));
}

#[test]
fn the_response_of_an_agent_is_as_on_the_page() {
    if !has_sdk_agent() {
        return;
    }
    let blocks = blocks();
    let folder = folder();
    let root = folder.path().join("workspace/shop");
    write_file(&blocks, FILE, root.parent().unwrap());
    let mut command = command(&folder);
    command.args(["serve", "--stdio", "--interaction-timeout", "1", "--backend", "acp", "--", "node"]);
    command.arg(sdk_agent()).args(["direct", "silent"]);
    let (server, mut client) = start(folder, command);
    let local = |message: &Value| replace(message, &format!("{HOME}/tour"), server.workspace().to_str().unwrap());
    let requests = messages(&blocks, "request");
    let id = send(&mut client, &local(&requests[0]));
    client.response(id);
    let id = send(&mut client, &local(&requests[1]));
    let (notifications, _) = client.run(id);
    let [expected] = &messages(&blocks, "agent ai_response")[..] else { panic!("the page must have one response") };
    let is_response =
        |message: &Value| message["method"] == "kaiak/stream/ai_response" && message["params"]["content"] == *expected;
    assert!(notifications.iter().any(is_response), "{notifications:#?}");
}

#[test]
fn each_message_of_the_page_is_compared() {
    let compared = ["request", "response", "notification progress", "agent ai_response", "answer", "answered"];
    for block in blocks().iter().filter(|block| block.language == "json") {
        let is_compared = compared.contains(&&*block.label)
            || block.label == "timeout system"
            || block.label.strip_prefix("content ").is_some();
        assert!(is_compared, "{}", block.text);
    }
    // The page has each error code from -32001 to -32016.
    let page = page();
    for code in 1..=16 {
        assert!(page.contains(&format!("-{}", 32_000 + code)), "{code}");
    }
}
