//! The custom tools of a configuration, as MCP servers of an agent.

use serde_json::{Value, json};

use super::wire::text;

/// Returns the MCP server of a custom tool, or the reason why the agent cannot use the tool.
///
/// # Errors
/// If the kind of the tool has no counterpart, or if a member of its configuration is missing or invalid.
pub(super) fn server(tool: &Value) -> Result<Value, String> {
    let name = text(tool, "name").unwrap_or_default();
    let config = tool.get("config").cloned().unwrap_or_default();
    let invalid = |member: &str, requirement: &str| {
        format!("the custom tool {name} has no effect: config.{member} must be {requirement}")
    };
    let missing = |member: &str| invalid(member, "a string");
    match text(tool, "extension_type").as_deref() {
        Some("stdio") => {
            let command =
                text(&config, "command").or_else(|| text(&config, "cmd")).ok_or_else(|| missing("command"))?;
            let arguments = member(&config, "args", json!([]));
            let are_texts = arguments.as_array().is_some_and(|list| list.iter().all(Value::is_string));
            if !are_texts {
                return Err(invalid("args", "a list of strings"));
            }
            let environment = member(&config, "env", json!({}));
            let variables = environment.as_object().filter(|members| members.values().all(Value::is_string));
            let variables = variables.ok_or_else(|| invalid("env", "an object with strings"))?;
            let variables: Vec<Value> =
                variables.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
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

/// Returns a member of a configuration, or `default` if it is missing or null.
fn member(config: &Value, name: &str, default: Value) -> Value {
    config.get(name).filter(|value| !value.is_null()).cloned().unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_custom_tool_with_an_invalid_member_has_no_effect_and_the_member_is_named() {
        for (config, part) in [
            (json!({}), "config.command must be a string"),
            (json!({ "command": 5 }), "config.command must be a string"),
            (json!({ "command": "c", "args": "a" }), "config.args must be a list of strings"),
            (json!({ "command": "c", "args": [1] }), "config.args must be a list of strings"),
            (json!({ "command": "c", "env": [] }), "config.env must be an object with strings"),
            (json!({ "command": "c", "env": { "K": 1 } }), "config.env must be an object with strings"),
        ] {
            let tool = json!({ "name": "t", "extension_type": "stdio", "config": config });
            assert_eq!(server(&tool), Err(format!("the custom tool t has no effect: {part}")));
        }
        let tool = json!({ "name": "t", "extension_type": "stdio", "config": { "command": "c", "args": null } });
        assert_eq!(server(&tool), Ok(json!({ "name": "t", "command": "c", "args": [], "env": [] })));
    }
}
