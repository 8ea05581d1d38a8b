//! The custom tools of a configuration, as MCP servers of an agent.

use serde_json::{Value, json};

use super::wire::text;

/// Returns the MCP server of a custom tool, or the reason why the agent cannot use the tool.
///
/// # Errors
/// If the kind of the tool has no counterpart, or its configuration lacks a member.
pub(super) fn server(tool: &Value) -> Result<Value, String> {
    let name = text(tool, "name").unwrap_or_default();
    let config = tool.get("config").cloned().unwrap_or_default();
    let missing = |member: &str| format!("the custom tool {name} has no effect: config.{member} must be a string");
    match text(tool, "extension_type").as_deref() {
        Some("stdio") => {
            let command =
                text(&config, "command").or_else(|| text(&config, "cmd")).ok_or_else(|| missing("command"))?;
            let arguments = config.get("args").cloned().unwrap_or_else(|| json!([]));
            let variables = config.get("env").and_then(Value::as_object).into_iter().flatten();
            let variables: Vec<Value> =
                variables.map(|(name, value)| json!({ "name": name, "value": value })).collect();
            Ok(json!({ "name": name, "command": command, "args": arguments, "env": variables }))
        }
        Some("sse") => {
            let url = text(&config, "url").or_else(|| text(&config, "uri")).ok_or_else(|| missing("url"))?;
            Ok(json!({ "type": "sse", "name": name, "url": url, "headers": [] }))
        }
        kind => Err(format!(
            "the custom tool {name} has no effect: agents have no tools of the type {}",
            kind.unwrap_or("null")
        )),
    }
}
