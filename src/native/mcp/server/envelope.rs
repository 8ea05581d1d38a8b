//! The members of `_meta` that each request of the modern era has.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::{MODERN_VERSIONS, member};
use super::{Level, errors};
use crate::error::{RpcError, invalid_params};
use crate::json_value::Text;

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
}

/// Returns whether a request belongs to the modern era.
pub(super) fn is_modern(method: &str, params: Option<&RawValue>) -> bool {
    MODERN_METHODS.contains(&method) || version(params).is_some()
}

/// Returns the version that a request names. A version that is not a string is an empty string.
pub(super) fn version(params: Option<&RawValue>) -> Option<String> {
    let version: Value = member(&meta(params)?, VERSION)?;
    Some(version.as_str().unwrap_or_default().to_owned())
}

fn meta(params: Option<&RawValue>) -> Option<Text> {
    member(params?, "_meta")
}

impl Envelope {
    pub(super) fn read(params: Option<&RawValue>) -> Result<Self, RpcError> {
        let missing = |name| invalid_params(format!("params._meta must have the member {name}"));
        let meta = meta(params).ok_or_else(|| missing(VERSION))?;
        let version: String = member(&meta, VERSION).ok_or_else(|| missing(VERSION))?;
        let capabilities: Map<String, Value> = member(&meta, CAPABILITIES).ok_or_else(|| missing(CAPABILITIES))?;
        if !MODERN_VERSIONS.contains(&&*version) {
            return Err(errors::unsupported_version(&version));
        }
        Ok(Self { capabilities: Value::Object(capabilities), level: member(&meta, LEVEL) })
    }
}
