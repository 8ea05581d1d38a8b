//! The rules of the Model Context Protocol for params, results and progress, see [`Profile::MCP`]. The driver calls
//! these functions only for links with this profile.
//!
//! [`Profile::MCP`]: crate::profile::Profile

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Number;
use serde_json::value::RawValue;

use super::Text;
use crate::codec::json;
use crate::connection::control;
use crate::echo;
use crate::error::{CallError, RpcError, method_not_found};
use crate::json_value::write_value;
use crate::message::{Id, ObjectPayload, RequestId};
use crate::method_name::is_reserved;
use crate::profile::ProgressNotification;

/// The requests that neither peer can cancel. MCP forbids the cancellation of `initialize`. `server/discover` is sent
/// to servers of any era, and some servers exit when they receive a notification before `initialize`.
const NOT_CANCELLABLE: [&str; 2] = ["initialize", "server/discover"];

/// Returns whether a request of this method can be cancelled.
pub(super) fn is_cancellable(method: &str) -> bool {
    !NOT_CANCELLABLE.contains(&method)
}

/// Returns the outcome of a request without a handler. Each peer must answer `ping` (MCP 2025-11-25,
/// basic/utilities/ping).
pub(super) fn answer_without_handler(method: &str) -> Result<Text, RpcError> {
    if method == "ping" { empty_object() } else { Err(method_not_found(method)) }
}

fn empty_object() -> Result<Text, RpcError> {
    write_value(&BTreeMap::<(), ()>::new()).map_err(RpcError::internal)
}

/// Checks a request or a notification before it is sent.
pub(super) fn check_call(method: &str, params: Option<&RawValue>) -> Result<(), CallError> {
    let method_name = echo::first_100_characters(method);
    if is_reserved(method) {
        return Err(CallError::Params(format!(
            "the method must not begin with \"rpc.\" in MCP, got \"{method_name}\"; MCP has no streams"
        )));
    }
    if params.is_some_and(|params| !is_object(params)) {
        return Err(CallError::Params(format!("params of \"{method_name}\" must be an object in MCP, got an array")));
    }
    Ok(())
}

/// Returns the result to send for the result of a handler. A handler that returns nothing sends `{}`.
pub(super) fn object_result(result: Text) -> Result<Text, RpcError> {
    if is_object(&result) {
        return Ok(result);
    }
    let kind = match result.get().as_bytes() {
        b"null" => return empty_object(),
        [b'[', ..] => "an array",
        [b'"', ..] => "a string",
        [b't' | b'f', ..] => "a boolean",
        _ => "a number",
    };
    Err(RpcError::internal(format!("the result must be an object in MCP, got {kind}")))
}

/// Adds `_meta.progressToken` to params. The token is the id of the call.
pub(super) fn with_progress_token(params: Option<&RawValue>, id: &Id) -> Result<Text, CallError> {
    let added = write_value(&BTreeMap::from([("progressToken", id.to_call())])).map_err(CallError::Params)?;
    with_meta(params, &added).map_err(CallError::Params)
}

/// Adds the members of an object to the object `_meta` of params. An added member replaces a member with the same name.
pub(super) fn with_meta(params: Option<&RawValue>, added: &RawValue) -> Result<Text, String> {
    let text = params.map_or("{}", RawValue::get);
    if let Some([None]) = json::members(text.as_bytes(), ["_meta"])
        && let Some(rest) = text.strip_prefix('{')
    {
        // The params of most calls have no `_meta`, so `_meta` can be inserted into their text.
        let comma = if rest.trim_ascii_start().starts_with('}') { "" } else { "," };
        let text = format!(r#"{{"_meta":{added}{comma}{rest}"#);
        return RawValue::from_string(text).map_err(|error| error.to_string());
    }
    let mut params = members_of(params)?;
    let mut meta = members_of(params.get("_meta").copied())?;
    meta.extend(members_of(Some(added))?);
    let meta = write_value(&meta)?;
    params.insert("_meta".into(), &meta);
    write_value(&params)
}

/// Replaces members of params. A member without a value is removed.
#[cfg(feature = "mcp")]
pub(super) fn with_members(
    params: Option<&RawValue>,
    replaced: &[(&'static str, Option<&RawValue>)],
) -> Result<Text, String> {
    let mut params = members_of(params)?;
    for (name, value) in replaced {
        match value {
            Some(value) => params.insert((*name).into(), value),
            None => params.remove(*name),
        };
    }
    write_value(&params)
}

/// Returns the members of an object.
fn members_of(object: Option<&RawValue>) -> Result<BTreeMap<Cow<'_, str>, &RawValue>, String> {
    let text = object.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|_| "params and _meta must be objects in MCP".into())
}

/// Returns the token for the progress of a request, or `None` if the caller has not requested progress.
pub(super) fn progress_token(params: Option<&RawValue>) -> Option<Id> {
    let [meta] = json::members(params?.get().as_bytes(), ["_meta"])?;
    let [token] = json::members(meta?.get().as_bytes(), ["progressToken"])?;
    read_progress_token(token?)
}

/// Returns a token for progress, or `None` if it is null or not an id.
pub(super) fn read_progress_token(token: &RawValue) -> Option<Id> {
    Text::read_id(token).filter(|token| *token != Id::Null)
}

/// Returns the params of a progress notification for a value that a handler reports: a number, or an object with the
/// member `progress`. Without a token, checks the value and returns `None`.
pub(super) fn progress_params(
    form: &ProgressNotification,
    token: Option<&Id>,
    value: Text,
) -> Result<Option<Text>, CallError> {
    let object = if serde_json::from_str::<Number>(value.get()).is_ok() {
        write_value(&BTreeMap::from([("progress", &value)])).map_err(CallError::Params)?
    } else {
        value
    };
    let is_number = |value: &RawValue| serde_json::from_str::<Number>(value.get()).is_ok();
    match object.members(["progress", "progressToken"]) {
        Some([Some(progress), None]) if is_number(progress) => {}
        _ => {
            let text = "progress must be a finite number or an object with the number progress, and without \
                        progressToken";
            return Err(CallError::Params(text.into()));
        }
    }
    Ok(token.and_then(|token| control::write_progress(form, token, &object)))
}

/// Returns whether a JSON text is an object.
fn is_object(text: &RawValue) -> bool {
    text.get().starts_with('{')
}
