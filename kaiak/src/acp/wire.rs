//! The messages of the Agent Client Protocol (version 1) that the server uses.
//!
//! The types are lenient, so that agents of other versions work: an unknown kind of update becomes [`Update::Other`],
//! and an unexpected member has no effect.

use serde_json::{Value, json};

/// The version of the protocol.
pub(super) const PROTOCOL_VERSION: u64 = 1;

/// The error code of an agent that demands a login.
pub(super) const AUTHENTICATION_REQUIRED: i64 = -32_000;
/// The error code for a file that does not exist.
pub(super) const RESOURCE_NOT_FOUND: i64 = -32_002;

/// Returns the params of `initialize`.
pub(super) fn initialize() -> Value {
    json!({
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": { "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": false },
        "clientInfo": { "name": "kaiak", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// The result of `initialize`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Initialized {
    /// The names of the ways to log in.
    pub(super) auth_methods: Vec<String>,
    /// Whether the agent has the method `session/close`.
    pub(super) can_close: bool,
    pub(super) has_sse: bool,
}

impl Initialized {
    pub(super) fn read(result: &Value) -> Self {
        let methods = result.get("authMethods").and_then(Value::as_array).into_iter().flatten();
        let name = |method: &Value| text(method, "name").or_else(|| text(method, "id"));
        Self {
            auth_methods: methods.filter_map(name).collect(),
            can_close: at(result, &["agentCapabilities", "sessionCapabilities", "close"]).is_some_and(Value::is_object),
            has_sse: at(result, &["agentCapabilities", "mcpCapabilities", "sse"]) == Some(&Value::Bool(true)),
        }
    }
}

/// The option of a session that selects its model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelOption {
    pub(super) id: String,
    /// The values of the option, one for each model.
    pub(super) values: Vec<String>,
}

/// Returns the option that selects the model, if the result of `session/new` offers one.
pub(super) fn model_option(result: &Value) -> Option<ModelOption> {
    let options = result.get("configOptions").and_then(Value::as_array)?;
    let is_model = |option: &&Value| {
        text(option, "category").is_some_and(|category| category == "model")
            || text(option, "id").as_deref() == Some("model")
    };
    let option = options.iter().find(is_model)?;
    let values = option.get("options").and_then(Value::as_array).into_iter().flatten();
    // The options may be in groups.
    let values = values.flat_map(|value| match value.get("options").and_then(Value::as_array) {
        Some(group) => group.iter().collect::<Vec<_>>(),
        None => vec![value],
    });
    Some(ModelOption { id: text(option, "id")?, values: values.filter_map(|value| text(value, "value")).collect() })
}

/// An update of a session.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Update {
    /// A part of the agent's response.
    Message(String),
    /// A new tool call, or a change of a tool call.
    ToolCall(Box<ToolCallUpdate>),
    /// The steps of the agent's plan: whether each is complete, and its text.
    Plan(Vec<(bool, String)>),
    /// An update that is not reported to the client of kaiak, such as a thought.
    Other,
}

/// A tool call, or an update of it. An update contains only some of the members.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ToolCallUpdate {
    pub(super) id: String,
    pub(super) title: Option<String>,
    /// The name of the tool, from `_meta.toolName`.
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) status: Option<String>,
    pub(super) raw_input: Option<Value>,
    /// The text of the content, or of the raw output.
    pub(super) output: Option<String>,
    pub(super) diffs: Vec<Diff>,
    pub(super) locations: Vec<String>,
}

/// A change of a file. The texts may be the whole file, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Diff {
    pub(super) path: String,
    /// `None` for a new file.
    pub(super) old: Option<String>,
    pub(super) new: String,
}

/// Reads the params of `session/update`.
pub(super) fn update(params: &Value) -> Update {
    let Some(update) = params.get("update") else { return Update::Other };
    match text(update, "sessionUpdate").as_deref() {
        Some("agent_message_chunk") => {
            let content = update.get("content").and_then(|content| text(content, "text"));
            content.map_or(Update::Other, Update::Message)
        }
        Some("tool_call" | "tool_call_update") => {
            tool_call(update).map_or(Update::Other, |call| Update::ToolCall(Box::new(call)))
        }
        Some("plan") => {
            let entries = update.get("entries").and_then(Value::as_array).into_iter().flatten();
            let entry = |entry: &Value| {
                let is_complete = text(entry, "status").as_deref() == Some("completed");
                Some((is_complete, text(entry, "content")?))
            };
            Update::Plan(entries.filter_map(entry).collect())
        }
        _ => Update::Other,
    }
}

fn tool_call(value: &Value) -> Option<ToolCallUpdate> {
    let contents = || value.get("content").and_then(Value::as_array).into_iter().flatten();
    let is_diff = |content: &&Value| text(content, "type").as_deref() == Some("diff");
    let diff = |content: &Value| {
        Some(Diff { path: text(content, "path")?, old: text(content, "oldText"), new: text(content, "newText")? })
    };
    let texts: Vec<String> = contents().filter_map(|content| text(content.get("content")?, "text")).collect();
    let raw_output = value.get("rawOutput").filter(|output| !output.is_null());
    let raw_output = raw_output.map(|output| output.as_str().map_or_else(|| output.to_string(), str::to_owned));
    let locations = value.get("locations").and_then(Value::as_array).into_iter().flatten();
    Some(ToolCallUpdate {
        id: text(value, "toolCallId")?,
        title: text(value, "title"),
        name: value.get("_meta").and_then(|meta| text(meta, "toolName")),
        kind: text(value, "kind"),
        status: text(value, "status"),
        raw_input: value.get("rawInput").filter(|input| !input.is_null()).cloned(),
        output: if texts.is_empty() { raw_output } else { Some(texts.join("\n")) },
        diffs: contents().filter(is_diff).filter_map(diff).collect(),
        locations: locations.filter_map(|location| text(location, "path")).collect(),
    })
}

/// The params of `session/request_permission`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PermissionRequest {
    pub(super) tool_call: ToolCallUpdate,
    /// The id of the option that allows this tool call.
    pub(super) allow_once: Option<String>,
    /// The id of the option that rejects this tool call.
    pub(super) reject_once: Option<String>,
}

impl PermissionRequest {
    pub(super) fn read(params: &Value) -> Option<Self> {
        let options = params.get("options").and_then(Value::as_array)?;
        let option = |kind: &str| {
            let found = options.iter().find(|option| text(option, "kind").as_deref() == Some(kind))?;
            text(found, "optionId")
        };
        let tool_call = tool_call(params.get("toolCall")?)?;
        Some(Self { tool_call, allow_once: option("allow_once"), reject_once: option("reject_once") })
    }

    /// Returns the response that allows this tool call, or `None` if the agent has no option that allows a single call.
    pub(super) fn allowed(&self) -> Option<Value> {
        self.allow_once.as_deref().map(selected)
    }

    /// Returns the response that rejects the tool call.
    pub(super) fn rejected(&self) -> Value {
        self.reject_once.as_deref().map_or_else(cancelled, selected)
    }
}

fn selected(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

/// Returns the response to a permission request of a turn that was cancelled.
pub(super) fn cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

/// Returns the string member `name`.
pub(super) fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{PermissionRequest, Update, update};

    #[test]
    fn an_unknown_update_is_not_an_error() {
        for unknown in [
            json!({ "sessionId": "1", "update": { "sessionUpdate": "usage_update", "used": 1, "size": 2 } }),
            json!({ "update": { "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "t" } } }),
            json!({ "update": { "sessionUpdate": "tool_call", "title": "without an id" } }),
            json!({ "update": { "sessionUpdate": 5 } }),
            json!({ "update": [] }),
            json!([]),
            Value::Null,
        ] {
            assert_eq!(update(&unknown), Update::Other, "{unknown}");
        }
    }

    #[test]
    fn only_options_for_a_single_call_are_chosen() {
        let request = |kinds: &[&str]| {
            let options: Vec<Value> = kinds.iter().map(|kind| json!({ "kind": kind, "optionId": kind })).collect();
            PermissionRequest::read(&json!({ "toolCall": { "toolCallId": "1" }, "options": options }))
                .unwrap_or_default()
        };
        let outcome = |response: &Value, member: &str| response.pointer(&format!("/outcome/{member}")).cloned();
        let always = request(&["allow_always", "reject_always"]);
        assert_eq!(always.allowed(), None);
        assert_eq!(outcome(&always.rejected(), "outcome"), Some(json!("cancelled")));
        let once = request(&["allow_always", "allow_once", "reject_once"]);
        assert_eq!(once.allowed().and_then(|allowed| outcome(&allowed, "optionId")), Some(json!("allow_once")));
        assert_eq!(outcome(&once.rejected(), "optionId"), Some(json!("reject_once")));
    }
}
