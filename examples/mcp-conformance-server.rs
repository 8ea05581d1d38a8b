//! The server for the conformance suite of MCP (`@modelcontextprotocol/conformance`), with the tools, resources and
//! prompts that its scenarios name. `mcp-conformance-server PORT` serves HTTP on this port; without a port, the program
//! serves its standard streams.
#![allow(clippy::indexing_slicing, reason = "indexing a JSON value returns null for a missing member")]

use std::collections::BTreeMap;
use std::env;
use std::time::Duration;

use portway::RpcError;
use portway::mcp::{Context, Era, Error, HttpService, Level, Server};
use serde_json::{Value, json};
use tokio::time::sleep;

type Outcome = Result<Value, RpcError>;

/// A red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A sound without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

fn text(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": format!("The tool {name} of the conformance suite.") })
}

fn prompt(name: &str, arguments: &[&str]) -> Value {
    let arguments: Vec<Value> =
        arguments.iter().map(|name| json!({ "name": name, "description": name, "required": true })).collect();
    json!({ "name": name, "description": format!("The prompt {name} of the conformance suite."), "arguments": arguments })
}

fn message(content: Value) -> Value {
    json!({ "role": "user", "content": content })
}

/// Returns a question with one field.
fn question(message: &str, field: &str, kind: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { field: { "type": kind } }, "required": [field] });
    json!({ "message": message, "requestedSchema": schema })
}

fn sample(prompt: &str) -> Value {
    json!({ "messages": [message(json!({ "type": "text", "text": prompt }))], "maxTokens": 100 })
}

/// Adds the tools that return fixed contents.
fn add_contents(server: &Server) -> Result<(), Error> {
    let image = || json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
    let contents = [
        ("test_simple_text", text("This is a simple text response for testing.")),
        ("test_image_content", json!({ "content": [image()] })),
        ("test_audio_content", json!({ "content": [{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }] })),
        (
            "test_embedded_resource",
            json!({ "content": [{ "type": "resource", "resource": {
                "uri": "test://embedded-resource",
                "mimeType": "text/plain",
                "text": "This is an embedded resource content.",
            } }] }),
        ),
        (
            "test_multiple_content_types",
            json!({ "content": [
                { "type": "text", "text": "Multiple content types test:" },
                image(),
                { "type": "resource", "resource": {
                    "uri": "test://mixed-content-resource",
                    "mimeType": "application/json",
                    "text": r#"{"test":"data","value":123}"#,
                } },
            ] }),
        ),
        (
            "test_error_handling",
            json!({ "isError": true, "content": [
                { "type": "text", "text": "This tool intentionally returns an error for testing" },
            ] }),
        ),
    ];
    for (name, result) in contents {
        server.tool(tool(name), move |_: Value, _| {
            let result = result.clone();
            async move { Outcome::Ok(result) }
        })?;
    }
    let mut schema = tool("json_schema_2020_12_tool");
    schema["inputSchema"] = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
        } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    });
    server.tool(schema, |arguments: Value, _| async move { Outcome::Ok(text(arguments.to_string())) })?;
    server.tool(tool("test_era"), |_: Value, context: Context| async move {
        Outcome::Ok(text(if context.era() == Era::Modern { "modern" } else { "legacy" }))
    })?;
    let mut header = tool("test_x_mcp_header");
    header["inputSchema"] =
        json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } });
    server.tool(header, |arguments: Value, _| async move { Outcome::Ok(text(arguments.to_string())) })?;
    Ok(())
}

/// Adds the tools that send messages while they run.
fn add_messages(server: &Server) -> Result<(), Error> {
    for name in ["test_tool_with_logging", "test_logging_tool"] {
        server.tool(tool(name), |_: Value, context: Context| async move {
            for step in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                context.log(Level::Info, step)?;
                sleep(Duration::from_millis(50)).await;
            }
            Outcome::Ok(text("The tool has sent its messages."))
        })?;
    }
    server.tool(tool("test_tool_with_progress"), |_: Value, context: Context| async move {
        for progress in [0, 50, 100] {
            context.progress(&json!({ "progress": progress, "total": 100 }))?;
            sleep(Duration::from_millis(50)).await;
        }
        Outcome::Ok(text("The tool has ended."))
    })?;
    let other = server.clone();
    server.tool(tool("test_trigger_tool_change"), move |_: Value, _| {
        let added = other.tool(tool("test_added_tool"), |_: Value, _| async { Outcome::Ok(text("added")) });
        let outcome = added
            .map(|_| text("The list of tools has changed."))
            .map_err(|error| RpcError::internal(error.to_string()));
        other.remove_tool("test_added_tool");
        async move { outcome }
    })?;
    let other = server.clone();
    server.tool(tool("test_trigger_prompt_change"), move |_: Value, _| {
        let added = other.prompt(prompt("test_added_prompt", &[]), |_: Value, _| async { Outcome::Ok(json!({})) });
        let outcome = added
            .map(|_| text("The list of prompts has changed."))
            .map_err(|error| RpcError::internal(error.to_string()));
        other.remove_prompt("test_added_prompt");
        async move { outcome }
    })?;
    Ok(())
}

/// Adds the tools that ask the client, in both eras.
fn add_questions(server: &Server) -> Result<(), Error> {
    let defaults = json!({ "message": "Please confirm", "requestedSchema": { "type": "object", "properties": {
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    } } });
    let titled = |kind: &str| {
        json!([
            { "const": "value1", "title": format!("First {kind}") },
            { "const": "value2", "title": format!("Second {kind}") },
        ])
    };
    let options = json!(["option1", "option2", "option3"]);
    let enums = json!({ "message": "Please choose", "requestedSchema": { "type": "object", "properties": {
        "untitledSingle": { "type": "string", "enum": options },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    } } });
    let name = || question("What is your name?", "name", "string");
    let questions = [
        ("test_elicitation_sep1034_defaults", "defaults", "elicitation/create", defaults),
        ("test_elicitation_sep1330_enums", "enums", "elicitation/create", enums),
        ("test_streaming_elicitation", "user_name", "elicitation/create", name()),
        ("test_missing_capability", "sample", "sampling/createMessage", sample("Say hello")),
        ("test_input_required_result_elicitation", "user_name", "elicitation/create", name()),
        (
            "test_input_required_result_sampling",
            "capital_question",
            "sampling/createMessage",
            sample("What is the capital of France?"),
        ),
        ("test_input_required_result_list_roots", "client_roots", "roots/list", json!({})),
    ];
    for (tool_name, key, method, params) in questions {
        server.tool(tool(tool_name), move |_: Value, context: Context| {
            let params = params.clone();
            async move {
                let answer: Value = context.ask(key, method, &params).await?;
                Outcome::Ok(text(format!("The answer is {answer}")))
            }
        })?;
    }
    for (name, argument) in [("test_sampling", "prompt"), ("test_elicitation", "message")] {
        let mut definition = tool(name);
        let properties = json!({ argument: { "type": "string" } });
        definition["inputSchema"] = json!({ "type": "object", "properties": properties, "required": [argument] });
        server.tool(definition, move |arguments: BTreeMap<String, String>, context: Context| async move {
            let value = arguments.get(argument).map(String::as_str).unwrap_or_default();
            let answer: Value = if argument == "prompt" {
                context.ask("sample", "sampling/createMessage", &sample(value)).await?
            } else {
                context.ask("user", "elicitation/create", &question(value, "username", "string")).await?
            };
            Outcome::Ok(text(format!("The answer is {answer}")))
        })?;
    }
    for name in ["test_input_required_result_request_state", "test_input_required_result_tampered_state"] {
        server.tool(tool(name), |_: Value, context: Context| async move {
            let answer: Value =
                context.ask("confirm", "elicitation/create", &question("Please confirm", "ok", "boolean")).await?;
            Outcome::Ok(text(format!("state-ok: {answer}")))
        })?;
    }
    server.tool(tool("test_input_required_result_multiple_inputs"), move |_: Value, context: Context| async move {
        let (question, sample) = (name(), sample("Generate a greeting"));
        let (name, greeting, roots) = tokio::join!(
            context.ask::<Value>("user_name", "elicitation/create", &question),
            context.ask::<Value>("greeting", "sampling/createMessage", &sample),
            context.ask::<Value>("client_roots", "roots/list", &()),
        );
        Outcome::Ok(text(format!("{} {} {}", name?, greeting?, roots?)))
    })?;
    server.tool(tool("test_input_required_result_multi_round"), |_: Value, context: Context| async move {
        let name = question("Step 1: What is your name?", "name", "string");
        let name: Value = context.ask("step1", "elicitation/create", &name).await?;
        let color = question("Step 2: What is your favorite color?", "color", "string");
        let color: Value = context.ask("step2", "elicitation/create", &color).await?;
        Outcome::Ok(text(format!("{name} {color}")))
    })?;
    server.tool(tool("test_input_required_result_capabilities"), |_: Value, context: Context| async move {
        let (method, params) = if context.client_capabilities().get("sampling").is_some() {
            ("sampling/createMessage", sample("Say hello"))
        } else {
            ("elicitation/create", question("Who are you?", "name", "string"))
        };
        let answer: Value = context.ask("either", method, &params).await?;
        Outcome::Ok(text(answer.to_string()))
    })?;
    Ok(())
}

fn add_resources(server: &Server) -> Result<(), Error> {
    for (name, kind, member, content) in [
        ("static-text", "text/plain", "text", "This is the content of the static text resource."),
        ("static-binary", "image/png", "blob", PNG),
        ("watched-resource", "text/plain", "text", "A resource that may change."),
    ] {
        let uri = format!("test://{name}");
        let definition = json!({ "uri": uri, "name": name, "description": name, "mimeType": kind });
        server.resource(definition, move |uri, _| async move {
            Outcome::Ok(json!({ "contents": [{ "uri": uri, "mimeType": kind, member: content }] }))
        })?;
    }
    let template = json!({
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "Data by id.",
        "mimeType": "application/json",
    });
    server.resource_template(template, |uri, variables: BTreeMap<String, String>, _| async move {
        let id = variables.get("id");
        let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {}", id.map_or("", String::as_str)) });
        Outcome::Ok(json!({ "contents": [{ "uri": uri, "mimeType": "application/json", "text": data.to_string() }] }))
    })?;
    Ok(())
}

fn add_prompts(server: &Server) -> Result<(), Error> {
    server.prompt(prompt("test_simple_prompt", &[]), |_: Value, _| async {
        Outcome::Ok(
            json!({ "messages": [message(json!({ "type": "text", "text": "This is a simple prompt for testing." }))] }),
        )
    })?;
    server.prompt(prompt("test_prompt_with_arguments", &["arg1", "arg2"]), |arguments: Value, _| async move {
        let [one, two] = ["arg1", "arg2"].map(|name| arguments[name].as_str().unwrap_or_default().to_owned());
        let text = format!("Prompt with arguments: arg1='{one}', arg2='{two}'");
        Outcome::Ok(json!({ "messages": [message(json!({ "type": "text", "text": text }))] }))
    })?;
    server.prompt(
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        |arguments: Value, _| async move {
            let resource = json!({
                "uri": arguments["resourceUri"],
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            });
            let request = json!({ "type": "text", "text": "Please process the embedded resource above." });
            Outcome::Ok(
                json!({ "messages": [message(json!({ "type": "resource", "resource": resource })), message(request)] }),
            )
        },
    )?;
    server.prompt(prompt("test_prompt_with_image", &[]), |_: Value, _| async {
        let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
        let request = json!({ "type": "text", "text": "Please analyze the image above." });
        Outcome::Ok(json!({ "messages": [message(image), message(request)] }))
    })?;
    server.prompt(prompt("test_input_required_result_prompt", &[]), |_: Value, context: Context| async move {
        let params = question("What context should the prompt use?", "context", "string");
        let answer: Value = context.ask("user_context", "elicitation/create", &params).await?;
        Outcome::Ok(json!({ "messages": [message(json!({ "type": "text", "text": answer.to_string() }))] }))
    })?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::new("portway-conformance", env!("CARGO_PKG_VERSION"));
    add_contents(&server)?;
    add_messages(&server)?;
    add_questions(&server)?;
    add_resources(&server)?;
    add_prompts(&server)?;
    server.completion(|_: Value, _| async { Outcome::Ok(json!({ "completion": { "values": [], "hasMore": false } })) });
    match env::args().nth(1) {
        Some(port) => {
            let listener = HttpService::bind(port.parse()?).await?;
            println!("http://{}/mcp", listener.local_addr()?);
            HttpService::new(&server).serve(listener).await?;
        }
        None => {
            server.serve_stdio().await?;
        }
    }
    Ok(())
}
