//! A client for the conformance suite of MCP (`@modelcontextprotocol/conformance`), which starts this program for each
//! of its scenarios: `conformance client --command target/debug/examples/mcp-conformance --scenario tools_call`. The
//! last argument is the URL of the server. `MCP_CONFORMANCE_CONTEXT` may name the calls of the scenario.
#![allow(clippy::indexing_slicing, reason = "indexing a JSON value returns null for a missing member")]

use std::env;
use std::error::Error;

use portway::RpcError;
use portway::mcp::{Client, Options};
use serde_json::{Map, Value, json};

/// Answers a request for input with the default of each member, like a form that is sent without changes.
async fn accept_defaults(params: Value) -> Result<Value, RpcError> {
    let properties = params["requestedSchema"]["properties"].as_object().cloned().unwrap_or_default();
    let default = |(name, schema): (String, Value)| Some((name, schema.get("default")?.clone()));
    let content: Map<String, Value> = properties.into_iter().filter_map(default).collect();
    Ok(json!({ "action": "accept", "content": content }))
}

/// Returns an argument of the type in the schema of a parameter.
fn argument(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        _ => json!("text"),
    }
}

/// Returns the calls of a scenario: the calls that the suite names, or else one call of each tool.
fn calls(tools: &[Value]) -> Vec<Value> {
    let context: Value =
        env::var("MCP_CONFORMANCE_CONTEXT").ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    if let Some(calls) = context["toolCalls"].as_array() {
        return calls.clone();
    }
    let call = |tool: &Value| {
        let properties = tool["inputSchema"]["properties"].as_object().cloned().unwrap_or_default();
        let arguments: Map<String, Value> =
            properties.into_iter().map(|(name, schema)| (name, argument(&schema))).collect();
        json!({ "name": tool["name"], "arguments": arguments })
    };
    tools.iter().map(call).collect()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().next_back().ok_or("the last argument must be the URL of the server")?;
    let options = Options::new("portway-conformance", env!("CARGO_PKG_VERSION"))
        .capabilities(json!({ "elicitation": { "form": { "applyDefaults": true } } }))
        .method("elicitation/create", accept_defaults)
        .on_warning(|text| eprintln!("{text}"));
    let client = Client::connect_http(&url, options).await?;
    eprintln!("{:?} {}", client.era(), client.protocol_version());
    let tools: Vec<Value> = client.list("tools/list", "tools").await?;
    for call in calls(&tools) {
        match client.call::<Value>("tools/call", &call).await {
            Ok(result) => eprintln!("{call}: {result}"),
            Err(error) => eprintln!("{call}: {error}"),
        }
    }
    let server: Value =
        client.server().map(|server| serde_json::from_str(server.get())).transpose()?.unwrap_or_default();
    if server["capabilities"].get("resources").is_some() {
        for resource in client.list::<Value>("resources/list", "resources").await? {
            client.call::<Value>("resources/read", &json!({ "uri": resource["uri"] })).await?;
        }
    }
    if server["capabilities"].get("prompts").is_some() {
        for prompt in client.list::<Value>("prompts/list", "prompts").await? {
            client.call::<Value>("prompts/get", &json!({ "name": prompt["name"], "arguments": {} })).await?;
        }
    }
    client.close().await;
    Ok(())
}
