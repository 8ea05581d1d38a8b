//! The server on a link, in both eras.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use portway::mcp::{Client, Context, Era, Error, Level, Server};
use portway::{Closed, Framing, RpcError, Transport};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use crate::remote::{Remote, Test, options, transport_with_remote};
use crate::test_server::{Outcome, server, text};
use crate::wire::TEST_TIMEOUT;

/// Starts the server of the tests. The test is its client.
fn remote() -> Result<(Remote, Server, Arc<Notify>), Box<dyn std::error::Error>> {
    let (server, cancelled) = server()?;
    let (transport, remote) = transport_with_remote()?;
    let served = server.clone();
    tokio::spawn(async move { served.serve(transport).await });
    Ok((remote, server, cancelled))
}

/// Connects the client of this library to the server.
async fn client(server: &Server, era: Era) -> Result<Client, Box<dyn std::error::Error>> {
    let (near, far) = Transport::pair()?;
    let served = server.clone();
    tokio::spawn(async move { served.serve(far).await });
    let options = options()
        .era(era)
        .method("elicitation/create", |params: Value| async move {
            assert_eq!(params, json!({ "message": "name?" }));
            Ok::<_, RpcError>(json!({ "action": "accept", "content": { "name": "Ada" } }))
        })
        .method("roots/list", |_: Value| async {
            Ok::<_, RpcError>(json!({ "roots": [{ "uri": "file:///project" }] }))
        });
    Ok(Client::connect_over(near, options).await?)
}

pub(crate) fn meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

async fn request(remote: &mut Remote, method: &str, params: Value) -> Result<Value, Box<dyn std::error::Error>> {
    remote.send(json!({ "jsonrpc": "2.0", "id": "r", "method": method, "params": params })).await?;
    loop {
        let message = remote.receive().await?;
        if message["id"] == "r" {
            return Ok(message);
        }
    }
}

async fn initialize(remote: &mut Remote) -> Result<Value, Box<dyn std::error::Error>> {
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {} });
    let response = request(remote, "initialize", params).await?;
    remote.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
    Ok(response)
}

#[tokio::test]
async fn a_client_of_each_era_uses_every_part_of_the_server() -> Test {
    let (server, _) = server()?;
    for era in [Era::Legacy, Era::Modern] {
        let client = client(&server, era).await?;
        assert_eq!(client.era(), era);
        let tools: Vec<Value> = client.list("tools/list", "tools").await?;
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(names, ["add", "greet", "panic", "steps", "wait"]);
        assert_eq!((&tools[0]["title"], &tools[1]["inputSchema"]), (&json!("Add"), &json!({ "type": "object" })));
        let call = |name: &str, arguments: Value| {
            client.call::<Value>("tools/call", &json!({ "name": name, "arguments": arguments })).into_future()
        };
        assert_eq!(call("add", json!({ "a": 2, "b": 3 })).await?["content"][0]["text"], "5");
        assert_eq!(call("greet", json!({})).await?["content"][0]["text"], r#"hello "Ada" of "file:///project""#);
        let wrong = call("add", json!({ "a": 2 })).await?;
        assert_eq!(wrong["isError"], true);
        assert!(wrong["content"][0]["text"].to_string().contains("missing field `b`"), "{wrong}");
        for (uri, text) in [("text://readme", "é😀"), ("text://a%20b", "a b")] {
            let read: Value = client.call("resources/read", &json!({ "uri": uri })).await?;
            assert_eq!((&read["contents"][0]["uri"], &read["contents"][0]["text"]), (&json!(uri), &json!(text)));
            let time = match (era, uri) {
                (Era::Modern, "text://readme") => json!(0),
                (Era::Modern, _) => json!(5),
                (Era::Legacy, "text://readme") => json!(null),
                (Era::Legacy, _) => json!(5),
            };
            assert_eq!(read["ttlMs"], time);
        }
        let prompt: Value =
            client.call("prompts/get", &json!({ "name": "review", "arguments": { "code": "x" } })).await?;
        assert_eq!(prompt["description"], "x");
        for (method, member, count) in [
            ("resources/list", "resources", 1),
            ("resources/templates/list", "resourceTemplates", 1),
            ("prompts/list", "prompts", 1),
        ] {
            assert_eq!(client.list::<Value>(method, member).await?.len(), count, "{method}");
        }
        let result: Value = serde_json::from_str(client.server().ok_or("there must be a result")?.get())?;
        assert_eq!(result["instructions"], "Add numbers.");
        let info = if era == Era::Legacy {
            &result["serverInfo"]
        } else {
            &result["_meta"]["io.modelcontextprotocol/serverInfo"]
        };
        assert_eq!(info, &json!({ "name": "test-server", "version": "1.2.3" }));
        assert_eq!(
            result["capabilities"],
            json!({
                "logging": {},
                "tools": { "listChanged": true },
                "prompts": { "listChanged": true },
                "resources": { "subscribe": true, "listChanged": true },
            })
        );
        assert_eq!(client.close().await, Closed::Local);
    }
    Ok(())
}

#[tokio::test]
async fn results_of_the_modern_era_have_a_type_and_lists_a_time() -> Test {
    let (mut remote, ..) = remote()?;
    let listed = request(&mut remote, "prompts/list", json!({ "_meta": meta(json!({})) })).await?;
    assert_eq!(
        listed["result"],
        json!({
            "prompts": [{ "name": "review" }], "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        })
    );
    let called = request(
        &mut remote,
        "tools/call",
        json!({ "_meta": meta(json!({})), "name": "add", "arguments": { "a": 1, "b": 2 } }),
    );
    assert_eq!(called.await?["result"]["resultType"], "complete");
    let asked =
        request(&mut remote, "tools/call", json!({ "_meta": meta(json!({ "elicitation": {} })), "name": "greet" }));
    let asked = asked.await?["result"].clone();
    let state = asked["requestState"].as_str().ok_or("there must be a state")?;
    assert!(state.len() == 66 && state.ends_with("{}"), "{state}");
    assert_eq!(
        asked,
        json!({
            "resultType": "input_required",
            "inputRequests": { "name": { "method": "elicitation/create", "params": { "message": "name?" } } },
            "requestState": state,
        })
    );
    Ok(())
}

#[tokio::test]
async fn only_a_state_that_the_server_has_issued_for_the_request_is_accepted() -> Test {
    let (mut remote, server, _) = remote()?;
    let call = |arguments: Value, state: Option<&str>, responses: Value| {
        let mut params = json!({
            "_meta": meta(json!({ "elicitation": {}, "roots": {} })), "name": "greet", "arguments": arguments,
        });
        if let Some(state) = state {
            params["requestState"] = json!(state);
            params["inputResponses"] = responses;
        }
        params
    };
    let name = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
    let first = request(&mut remote, "tools/call", call(json!({ "x": 1 }), None, json!(null))).await?;
    let state = first["result"]["requestState"].as_str().ok_or("there must be a state")?;
    let second = request(&mut remote, "tools/call", call(json!({ "x": 1 }), Some(state), name.clone())).await?;
    let signed = second["result"]["requestState"].as_str().ok_or("there must be a second state")?.to_owned();
    assert!(signed.contains("Ada"), "{second}");
    let roots = json!({ "roots": { "roots": [{ "uri": "file:///project" }] } });
    let refusal = json!({ "reason": "unknown-request-state" });
    for (arguments, state) in [
        (json!({ "x": 1 }), signed.replace("Ada", "Eve")),
        (json!({ "x": 1 }), signed.get(64..).unwrap_or_default().to_owned()),
        (json!({ "x": 1 }), String::new()),
        // The state belongs to another request.
        (json!({ "x": 2 }), signed.clone()),
    ] {
        let refused = request(&mut remote, "tools/call", call(arguments, Some(&state), roots.clone())).await?;
        assert_eq!((&refused["error"]["code"], &refused["error"]["data"]), (&json!(-32602), &refusal), "{refused}");
    }
    let last = call(json!({ "x": 1 }), Some(&signed), roots.clone());
    let greeting = request(&mut remote, "tools/call", last.clone()).await?;
    assert_eq!(greeting["result"]["content"][0]["text"], r#"hello "Ada" of "file:///project""#);
    // A later key refuses the state, and so does another server.
    server.state_key(&[1; 32]);
    assert_eq!(request(&mut remote, "tools/call", last).await?["error"]["data"], refusal);
    Ok(())
}

#[tokio::test]
async fn bad_requests_of_the_modern_era_are_refused() -> Test {
    let (mut remote, ..) = remote()?;
    let version = |version: Value| {
        json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        })
    };
    let greet = |state: Value, responses: Value| {
        json!({
            "_meta": meta(json!({ "elicitation": {} })), "name": "greet", "requestState": state, "inputResponses": responses,
        })
    };
    let answered = |responses: Value| json!({ "_meta": meta(json!({ "elicitation": {} })), "name": "greet", "inputResponses": responses });
    for (method, params, code) in [
        ("server/discover", json!({}), -32602),
        ("server/discover", json!({ "_meta": { "io.modelcontextprotocol/clientCapabilities": {} } }), -32602),
        ("server/discover", json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } }), -32602),
        ("server/discover", json!({ "_meta": version(json!(7)) }), -32602),
        ("server/discover", json!({ "_meta": version(json!("v999")) }), -32022),
        ("tools/list", json!({ "_meta": version(json!("2025-11-25")) }), -32022),
        ("tools/list", json!({ "_meta": meta(json!({})), "cursor": "" }), -32602),
        ("initialize", json!({ "_meta": meta(json!({})) }), -32601),
        ("ping", json!({ "_meta": meta(json!({})) }), -32601),
        ("logging/setLevel", json!({ "_meta": meta(json!({})), "level": "info" }), -32601),
        ("resources/subscribe", json!({ "_meta": meta(json!({})), "uri": "text://readme" }), -32601),
        ("completion/complete", json!({ "_meta": meta(json!({})) }), -32601),
        ("unknown/method", json!({ "_meta": meta(json!({})) }), -32601),
        ("tools/call", json!({ "_meta": meta(json!({})), "name": "nothing" }), -32602),
        ("tools/call", json!({ "_meta": meta(json!({})), "name": 1 }), -32602),
        ("tools/call", json!({ "_meta": meta(json!({})), "name": "greet" }), -32021),
        ("tools/call", json!({ "_meta": meta(json!({})), "name": "panic" }), -32603),
        ("tools/call", greet(json!("{}-TAMPERED"), json!({})), -32602),
        ("tools/call", greet(json!(1), json!({})), -32602),
        ("tools/call", greet(json!("{}"), json!({})), -32602),
        ("tools/call", answered(json!([])), -32602),
        ("tools/call", answered(json!({ "name": 12_345 })), -32602),
        ("prompts/get", json!({ "_meta": meta(json!({})), "name": "nothing" }), -32602),
        ("resources/read", json!({ "_meta": meta(json!({})), "uri": "other://x" }), -32602),
        ("subscriptions/listen", json!({ "_meta": meta(json!({})) }), -32602),
    ] {
        let response = request(&mut remote, method, params.clone()).await?;
        assert_eq!(response["error"]["code"], code, "{method} {params}: {response}");
        match code {
            -32022 => assert_eq!(response["error"]["data"]["supported"], json!(["2026-07-28"])),
            -32021 => {
                let required = json!({ "requiredCapabilities": { "elicitation": {} } });
                assert_eq!(response["error"]["data"], required);
            }
            _ => {}
        }
    }
    let missing =
        request(&mut remote, "resources/read", json!({ "_meta": meta(json!({})), "uri": "other://x" })).await?;
    assert_eq!(missing["error"]["data"], json!({ "uri": "other://x" }));
    Ok(())
}

#[tokio::test]
async fn a_client_of_the_legacy_era_gets_its_version_or_the_newest() -> Test {
    for (requested, version) in
        [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("2030-01-01", "2025-11-25")]
    {
        let (mut remote, ..) = remote()?;
        let params = json!({ "protocolVersion": requested, "capabilities": {}, "clientInfo": {} });
        assert_eq!(request(&mut remote, "initialize", params).await?["result"]["protocolVersion"], version);
        assert_eq!(request(&mut remote, "ping", json!({})).await?["result"], json!({}));
        let missing = request(&mut remote, "resources/read", json!({ "uri": "other://x" })).await?;
        assert_eq!(missing["error"]["code"], -32002);
    }
    let (mut remote, ..) = remote()?;
    for params in
        [json!({}), json!({ "protocolVersion": 1, "capabilities": {} }), json!({ "protocolVersion": "2025-11-25" })]
    {
        assert_eq!(request(&mut remote, "initialize", params).await?["error"]["code"], -32602);
    }
    Ok(())
}

#[tokio::test]
async fn the_level_of_a_client_filters_log_messages() -> Test {
    let (mut remote, ..) = remote()?;
    initialize(&mut remote).await?;
    let steps = async |remote: &mut Remote, params: Value| -> Result<Vec<Value>, Box<dyn std::error::Error>> {
        remote.send(json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params })).await?;
        let mut messages = Vec::new();
        loop {
            let message = remote.receive().await?;
            if message["id"] == 9 {
                return Ok(messages);
            }
            messages.push(message["params"].clone());
        }
    };
    let call = json!({ "name": "steps", "arguments": { "count": 1 } });
    let logged = json!({ "level": "info", "data": { "step": 1 } });
    assert_eq!(steps(&mut remote, call.clone()).await?, std::slice::from_ref(&logged));
    assert_eq!(request(&mut remote, "logging/setLevel", json!({ "level": "notice" })).await?["result"], json!({}));
    assert_eq!(steps(&mut remote, call.clone()).await?, [Value::Null; 0]);
    request(&mut remote, "logging/setLevel", json!({ "level": "debug" })).await?;
    assert_eq!(steps(&mut remote, call.clone()).await?.len(), 1);
    assert_eq!(request(&mut remote, "logging/setLevel", json!({ "level": "loud" })).await?["error"]["code"], -32602);
    // In the modern era, each request names its level. A token requests progress.
    let modern = |added: Value| {
        let mut meta = meta(json!({}));
        meta.as_object_mut().into_iter().for_each(|meta| meta.extend(added.as_object().cloned().unwrap_or_default()));
        json!({ "_meta": meta, "name": "steps", "arguments": { "count": 1 } })
    };
    assert_eq!(steps(&mut remote, modern(json!({}))).await?, [Value::Null; 0]);
    let level = json!({ "io.modelcontextprotocol/logLevel": "info", "progressToken": "p" });
    let progress = json!({ "progressToken": "p", "progress": 1 });
    assert_eq!(steps(&mut remote, modern(level)).await?, [progress, logged]);
    Ok(())
}

#[tokio::test]
async fn a_cancelled_request_drops_its_handler_and_is_not_answered() -> Test {
    for params in [json!({ "name": "wait" }), json!({ "name": "wait", "_meta": meta(json!({})) })] {
        let (mut remote, _server, cancelled) = remote()?;
        remote.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await?;
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
        remote.send(cancel).await?;
        timeout(TEST_TIMEOUT, cancelled.notified()).await?;
        assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    }
    Ok(())
}

#[tokio::test]
async fn a_spawned_task_learns_that_its_request_was_cancelled() -> Test {
    let server = Server::new("test", "1");
    let (sender, mut seen) = mpsc::unbounded_channel();
    server.tool(json!({ "name": "spawn" }), move |_: Value, context: Context| {
        let sender = sender.clone();
        async move {
            let cancelled = context.cancelled();
            tokio::spawn(async move {
                cancelled.await;
                let _ = sender.send(());
            });
            std::future::pending::<Outcome>().await
        }
    })?;
    let client = client(&server, Era::Modern).await?;
    let call = client.call::<Value>("tools/call", &json!({ "name": "spawn" })).timeout(Duration::from_millis(50));
    assert!(call.await.is_err());
    assert_eq!(timeout(TEST_TIMEOUT, seen.recv()).await?, Some(()));
    Ok(())
}

#[tokio::test]
async fn several_questions_are_asked_at_once_and_from_other_tasks() -> Test {
    let server = Server::new("test", "1");
    server.tool(json!({ "name": "both" }), |_: Value, context: Context| async move {
        let other = context.clone();
        let task = tokio::spawn(async move { other.ask::<Value>("roots", "roots/list", &()).await });
        let message = json!({ "message": "name?" });
        let name: Value = context.ask("name", "elicitation/create", &message).await?;
        let roots = task.await.map_err(|error| RpcError::internal(error.to_string()))??;
        Outcome::Ok(text(format!("{} {}", name["action"], roots["roots"][0]["uri"])))
    })?;
    for era in [Era::Legacy, Era::Modern] {
        let client = client(&server, era).await?;
        let call = client.call::<Value>("tools/call", &json!({ "name": "both" }));
        let result = timeout(TEST_TIMEOUT, call.into_future()).await??;
        assert_eq!(result["content"][0]["text"], r#""accept" "file:///project""#);
    }
    Ok(())
}

#[tokio::test]
async fn changes_are_reported_to_the_clients_that_want_them() -> Test {
    let (mut remote, server, _) = remote()?;
    let uri = "text://readme";
    let listen = |id: Value, wanted: Value| {
        json!({
            "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen",
            "params": { "_meta": meta(json!({})), "notifications": wanted },
        })
    };
    let subscription = |id: Value| json!({ "io.modelcontextprotocol/subscriptionId": id });
    for (id, wanted) in [
        (json!("t"), json!({ "toolsListChanged": true, "unknown": true })),
        (json!(7), json!({ "resourceSubscriptions": [uri] })),
    ] {
        remote.send(listen(id.clone(), wanted.clone())).await?;
        let acknowledged = remote.receive().await?;
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(acknowledged["params"]["_meta"], subscription(id));
        assert_eq!(acknowledged["params"]["notifications"]["unknown"], Value::Null);
    }
    let tool = || server.tool(json!({ "name": "new" }), |_: Value, _| async { Outcome::Ok(json!({})) }).map(|_| ());
    tool()?;
    let changed = remote.receive().await?;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(changed["params"]["_meta"], subscription(json!("t")));
    server.resource_updated("text://other");
    server.resource_updated(uri);
    let updated = remote.receive().await?;
    assert_eq!(updated["params"], json!({ "uri": uri, "_meta": subscription(json!(7)) }));
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "t" } });
    remote.send(cancel).await?;
    assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);
    assert!(server.remove_tool("new") && !server.remove_tool("new"));
    assert_eq!(remote.unread_before_response().await?, [Value::Null; 0]);

    // A client of the legacy era receives the changes of all lists after `initialize`.
    initialize(&mut remote).await?;
    tool()?;
    assert_eq!(
        remote.receive().await?,
        json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {} })
    );
    request(&mut remote, "resources/subscribe", json!({ "uri": "text://other" })).await?;
    server.resource_updated("text://other");
    assert_eq!(remote.receive().await?["params"], json!({ "uri": "text://other" }));
    request(&mut remote, "resources/unsubscribe", json!({ "uri": "text://other" })).await?;
    server.resource_updated("text://other");
    assert!(server.remove_prompt("review") && server.remove_resource(uri));
    let methods: Vec<Value> =
        remote.unread_before_response().await?.into_iter().map(|message| message["method"].clone()).collect();
    assert_eq!(methods, ["notifications/prompts/list_changed", "notifications/resources/list_changed"]);
    assert_eq!(request(&mut remote, "prompts/list", json!({})).await?["error"]["code"], -32601);
    Ok(())
}

#[tokio::test]
async fn a_client_can_subscribe_to_at_most_1024_resources() -> Test {
    let (mut remote, ..) = remote()?;
    initialize(&mut remote).await?;
    for number in 0..1_025 {
        let response =
            request(&mut remote, "resources/subscribe", json!({ "uri": format!("text://{number}") })).await?;
        assert_eq!(response["error"].is_null(), number < 1_024, "{number}");
    }
    assert_eq!(request(&mut remote, "resources/subscribe", json!({ "uri": "text://0" })).await?["result"], json!({}));
    let uris: Vec<String> = (0..1_025).map(|number| number.to_string()).collect();
    let params = json!({ "_meta": meta(json!({})), "notifications": { "resourceSubscriptions": uris } });
    assert_eq!(request(&mut remote, "subscriptions/listen", params).await?["error"]["code"], -32602);
    Ok(())
}

#[tokio::test]
async fn invalid_definitions_are_refused() {
    let server = Server::new("test", "1");
    let done = |_: Value, _: Context| async { Outcome::Ok(json!({})) };
    for definition in [json!({}), json!({ "name": "" }), json!({ "name": 1 }), json!([]), json!("add")] {
        assert!(matches!(server.tool(definition.clone(), done), Err(Error::Definition(_))), "{definition}");
        assert!(matches!(server.prompt(definition, done), Err(Error::Definition(_))));
    }
    for uri in ["a:{", "a:{?q}"] {
        let template =
            server.resource_template(json!({ "uriTemplate": uri }), |_, _: Value, _| async { Outcome::Ok(json!({})) });
        assert!(matches!(template, Err(Error::Definition(_))), "{uri}");
    }
    #[cfg(feature = "mcp-http")]
    {
        let schema = json!({ "properties": { "a": { "type": "number", "x-mcp-header": "A" } } });
        assert!(matches!(server.tool(json!({ "name": "a", "inputSchema": schema }), done), Err(Error::Definition(_))));
    }
}

#[tokio::test]
async fn the_identity_of_a_transport_reaches_the_handlers_and_completions_are_served() -> Test {
    let server = Server::new("test", "1");
    server.completion(|params: Value, context: Context| async move {
        let user = context.identity::<String>().map(|user| user.to_string());
        context.log(Level::Error, "seen")?;
        Outcome::Ok(json!({ "completion": { "values": [user, params["argument"]["value"]] } }))
    });
    let (transport, mut remote) = transport_with_remote()?;
    let served = server.clone();
    tokio::spawn(async move { served.serve(transport.with_identity("Ada".to_owned())).await });
    let response = request(&mut remote, "completion/complete", json!({ "argument": { "value": "x" } })).await?;
    assert_eq!(response["result"]["completion"]["values"], json!(["Ada", "x"]));
    assert_eq!(request(&mut remote, "tools/list", json!({})).await?["error"]["code"], -32601);
    Ok(())
}

#[tokio::test]
async fn the_server_ends_with_its_input() -> Test {
    let (server, cancelled) = server()?;
    let (near, far) = tokio::io::duplex(1_024);
    let (reader, writer) = tokio::io::split(near);
    let transport = Transport::new(reader, writer, Framing::Newline)?.with_grace(Duration::ZERO);
    let serving = tokio::spawn(async move { server.serve(transport).await });
    let mut far = far;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "wait" } });
    tokio::io::AsyncWriteExt::write_all(&mut far, format!("{call}\n").as_bytes()).await?;
    tokio::io::AsyncWriteExt::shutdown(&mut far).await?;
    assert_eq!(timeout(TEST_TIMEOUT, serving).await??, Closed::End);
    timeout(TEST_TIMEOUT, cancelled.notified()).await?;
    Ok(())
}
