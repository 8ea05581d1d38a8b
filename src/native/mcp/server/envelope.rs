//! The members of `_meta` that each request of the modern era has.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::MODERN_VERSIONS;
use super::{Level, errors};
use crate::codec::json;
use crate::error::{RpcError, invalid_params};
use crate::message::Id;
use crate::native::mcp_dialect;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The methods that only the modern era has.
const MODERN_METHODS: [&str; 2] = ["server/discover", "subscriptions/listen"];

pub(super) struct Envelope {
    /// The capabilities of the client: an object.
    pub(super) capabilities: Value,
    /// The least level of the log messages that the client wants.
    pub(super) level: Option<Level>,
    /// The token for the progress of the request.
    pub(super) progress_token: Option<Id>,
}

/// Returns whether a request belongs to the modern era.
pub(super) fn is_modern(method: &str, params: Option<&RawValue>) -> bool {
    MODERN_METHODS.contains(&method) || meta(params, [VERSION]).is_some_and(|[version]| version.is_some())
}

/// Returns the version that a request names. A version that is not a string is an empty string.
pub(super) fn version(params: Option<&RawValue>) -> Option<String> {
    let [version] = meta(params, [VERSION])?;
    Some(read(version?).unwrap_or_default())
}

/// Returns members of `_meta`, or `None` if `_meta` is not an object.
fn meta<'p, const N: usize>(params: Option<&'p RawValue>, names: [&str; N]) -> Option<[Option<&'p RawValue>; N]> {
    let [meta] = json::members(params?.get().as_bytes(), ["_meta"])?;
    json::members(meta?.get().as_bytes(), names)
}

fn read<T: DeserializeOwned>(member: &RawValue) -> Option<T> {
    serde_json::from_str(member.get()).ok()
}

impl Envelope {
    pub(super) fn read(params: Option<&RawValue>) -> Result<Self, RpcError> {
        let missing = |name| invalid_params(format!("params._meta must have the member {name}"));
        let names = [VERSION, CAPABILITIES, LEVEL, "progressToken"];
        let [version, capabilities, level, token] = meta(params, names).unwrap_or_default();
        let version: String = version.and_then(read).ok_or_else(|| missing(VERSION))?;
        let capabilities: Map<String, Value> = capabilities.and_then(read).ok_or_else(|| missing(CAPABILITIES))?;
        if !MODERN_VERSIONS.contains(&&*version) {
            return Err(errors::unsupported_version(&version));
        }
        let progress_token = token.and_then(mcp_dialect::read_progress_token);
        Ok(Self { capabilities: Value::Object(capabilities), level: level.and_then(read), progress_token })
    }
}
