//! Prints the answers of an MCP server: as text for people, or as JSON for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use portway::stdio;
use portway_cli_support::escape::{escape_control, escape_control_lines};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::call::{PEER_LOST, print};
use crate::json_format::{compact, indented};
use crate::output::{Failure, USAGE_OR_IO_FAILED, exit_after_write, print_detail, print_message};

/// The lists of a server, by the member of the result that contains the list.
pub(super) type Lists = BTreeMap<&'static str, Vec<Box<RawValue>>>;

/// The headings of the lists, in the order in which they are printed.
const HEADINGS: [(&str, &str); 4] = [
    ("tools", "Tools"),
    ("resources", "Resources"),
    ("resourceTemplates", "Resource templates"),
    ("prompts", "Prompts"),
];

pub(super) fn show_lists(lists: &Lists, is_json: bool) -> Result<ExitCode, Failure> {
    if is_json {
        let text = serde_json::to_string(lists).map_err(|error| Failure::new(USAGE_OR_IO_FAILED, error.to_string()))?;
        return print(compact(&text), ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for (member, heading) in HEADINGS {
        let items = lists.get(member).map(Vec::as_slice).unwrap_or_default();
        if items.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{heading}:");
        for item in items {
            let item: Value = serde_json::from_str(item.get()).unwrap_or_default();
            let _ = writeln!(text, "  {}", escape_control(&heading_of(member, &item)));
            let description = text_of(&item, "description").or_else(|| text_of(&item, "title")).unwrap_or_default();
            if let Some(line) = description.lines().map(str::trim).find(|line| !line.is_empty()) {
                let _ = writeln!(text, "      {}", escape_control(line));
            }
        }
    }
    if text.is_empty() {
        print_message("the server offers no tools, resources or prompts");
    }
    write(text.as_bytes(), ExitCode::SUCCESS)
}

/// Returns the line of a tool, a resource or a prompt: its name or its URI, and its parameters.
fn heading_of(member: &str, item: &Value) -> String {
    let name = text_of(item, "name").unwrap_or_default();
    match member {
        "tools" => {
            let properties = item.pointer("/inputSchema/properties").and_then(Value::as_object);
            let required = item.pointer("/inputSchema/required").and_then(Value::as_array);
            let parameter = |(name, schema): (&String, &Value)| {
                let is_required = required.is_some_and(|required| required.iter().any(|item| item == name));
                let kind = text_of(schema, "type").map(|kind| format!(": {kind}")).unwrap_or_default();
                format!("{name}{}{kind}", if is_required { "" } else { "?" })
            };
            let parameters: Vec<_> = properties.into_iter().flatten().map(parameter).collect();
            format!("{name}({})", parameters.join(", "))
        }
        "prompts" => {
            let arguments = item.get("arguments").and_then(Value::as_array);
            let argument = |argument: &Value| {
                let is_required = argument.get("required") == Some(&Value::Bool(true));
                format!("{}{}", text_of(argument, "name").unwrap_or_default(), if is_required { "" } else { "?" })
            };
            let arguments: Vec<_> = arguments.into_iter().flatten().map(argument).collect();
            format!("{name}({})", arguments.join(", "))
        }
        _ => {
            let uri = text_of(item, "uri").or_else(|| text_of(item, "uriTemplate")).unwrap_or_default();
            if name.is_empty() || name == uri { uri.to_owned() } else { format!("{uri}  {name}") }
        }
    }
}

fn text_of<'v>(value: &'v Value, member: &str) -> Option<&'v str> {
    value.get(member)?.as_str()
}

/// Prints the result of a request.
pub(super) fn show_result(method: &str, result: &RawValue, is_json: bool) -> Result<ExitCode, Failure> {
    let value: Value = serde_json::from_str(result.get())
        .map_err(|error| Failure::new(PEER_LOST, format!("the answer of the server cannot be read: {error}")))?;
    let has_failed = method == "tools/call" && value.get("isError") == Some(&Value::Bool(true));
    let code = if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    if is_json {
        return print(compact(result.get()), code);
    }
    match method {
        "tools/call" if has_failed => {
            let text = tool_text(&value);
            print_message("the tool has failed:");
            text.lines().for_each(print_detail);
            Ok(code)
        }
        "tools/call" => show_text(&tool_text(&value), code),
        "resources/read" => show_contents(&value),
        _ => show_text(&prompt_text(&value), code),
    }
}

/// Returns the text of the result of a tool. If the result has only structured content, returns this content as JSON.
fn tool_text(result: &Value) -> String {
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match result.get("structuredContent") {
        Some(structured) if blocks.is_empty() => indented(&structured.to_string()),
        _ => joined(blocks.iter().map(block_text)),
    }
}

/// Returns the messages of a prompt, each with its role.
fn prompt_text(result: &Value) -> String {
    let messages = result.get("messages").and_then(Value::as_array);
    joined(messages.into_iter().flatten().map(|message| {
        let role = text_of(message, "role").unwrap_or("unknown");
        // Old servers send a list of blocks.
        let content = message.get("content").unwrap_or(&Value::Null);
        let blocks = content.as_array().map_or_else(|| std::slice::from_ref(content), Vec::as_slice);
        format!("{role}: {}", joined(blocks.iter().map(block_text)))
    }))
}

/// Joins texts, each on lines of its own.
fn joined(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<_> = texts.map(|text| text.trim_end_matches('\n').to_owned()).collect();
    texts.join("\n")
}

/// Returns the text of a block of content. Content that is not text is described in brackets.
fn block_text(block: &Value) -> String {
    match text_of(block, "type") {
        Some("text") => text_of(block, "text").unwrap_or_default().to_owned(),
        Some(kind @ ("image" | "audio")) => {
            describe(kind, text_of(block, "mimeType"), text_of(block, "data").unwrap_or_default())
        }
        Some("resource_link") => format!("[resource {}]", text_of(block, "uri").unwrap_or_default()),
        Some("resource") => {
            let resource = block.get("resource").unwrap_or(&Value::Null);
            let uri = text_of(resource, "uri").unwrap_or_default();
            match (text_of(resource, "text"), text_of(resource, "blob")) {
                (Some(text), _) => text.to_owned(),
                (None, Some(blob)) => describe(&format!("resource {uri}"), text_of(resource, "mimeType"), blob),
                (None, None) => format!("[resource {uri}]"),
            }
        }
        _ => compact(&block.to_string()),
    }
}

/// Describes content that is not text. `data` is in Base64.
fn describe(what: &str, media_type: Option<&str>, data: &str) -> String {
    let bytes = data.trim_end_matches('=').len() * 3 / 4;
    let media_type = media_type.map(|media_type| format!(", {media_type}")).unwrap_or_default();
    format!("[{what}{media_type}, {bytes} bytes]")
}

/// Prints the contents of a resource. A binary resource is written as its bytes, unless standard output is a terminal.
fn show_contents(result: &Value) -> Result<ExitCode, Failure> {
    let contents = result.get("contents").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if io::stdout().is_terminal() {
        let text = |item: &Value| match (text_of(item, "text"), text_of(item, "blob")) {
            (None, Some(blob)) => describe("resource", text_of(item, "mimeType"), blob),
            (text, _) => text.unwrap_or_default().to_owned(),
        };
        return show_text(&joined(contents.iter().map(text)), ExitCode::SUCCESS);
    }
    let mut bytes = Vec::new();
    for item in contents {
        match (text_of(item, "text"), text_of(item, "blob")) {
            (None, Some(blob)) => {
                let decoded = STANDARD.decode(blob);
                bytes.extend(decoded.map_err(|error| {
                    Failure::new(PEER_LOST, format!("the resource of the server must be in Base64: {error}"))
                })?);
            }
            (text, _) => bytes.extend_from_slice(text.unwrap_or_default().as_bytes()),
        }
    }
    write(&bytes, ExitCode::SUCCESS)
}

/// Prints a text, with a line end. On a terminal, control characters are escaped.
fn show_text(text: &str, code: ExitCode) -> Result<ExitCode, Failure> {
    if text.is_empty() {
        return Ok(code);
    }
    let mut text = if io::stdout().is_terminal() { escape_control_lines(text) } else { text.to_owned() };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    write(text.as_bytes(), code)
}

fn write(bytes: &[u8], code: ExitCode) -> Result<ExitCode, Failure> {
    exit_after_write(stdio::stdout().write_all(bytes), code)
}
