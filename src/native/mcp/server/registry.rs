//! The tools, resources and prompts of a server.

use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(feature = "mcp-http")]
use portway_proto::mcp::http::ParamHeaders;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::to_raw_value;

use super::super::Error;
use super::context::Context;
use super::uri_template::UriTemplate;
use crate::error::RpcError;
use crate::json_value::Text;

/// The handler of a tool, a resource or a prompt. It reads its arguments from the params in the context.
pub(super) type Handler = dyn Fn(Context) -> super::Work + Send + Sync;

/// The handler of a resource with a template. It also receives the URI and the values of the variables.
pub(super) type TemplateHandler = dyn Fn(String, Value, Context) -> super::Work + Send + Sync;

#[derive(Default)]
pub(super) struct Registry {
    pub(super) info: Value,
    pub(super) instructions: Option<String>,
    pub(super) tools: BTreeMap<String, Registered<Arc<Handler>>>,
    pub(super) resources: BTreeMap<String, Registered<Arc<Handler>>>,
    pub(super) templates: BTreeMap<String, Registered<(UriTemplate, Arc<TemplateHandler>)>>,
    pub(super) prompts: BTreeMap<String, Registered<Arc<Handler>>>,
    pub(super) completion: Option<Arc<Handler>>,
    /// The params of tools that are also HTTP headers.
    #[cfg(feature = "mcp-http")]
    pub(super) param_headers: BTreeMap<String, ParamHeaders>,
}

/// A registered item of a list.
pub(super) struct Registered<H> {
    /// The definition, as the list has it.
    definition: Text,
    pub(super) handler: H,
}

impl<H> Registered<H> {
    pub(super) fn new(definition: &Value, handler: H) -> Result<Self, Error> {
        let definition = to_raw_value(definition).map_err(|problem| Error::Definition(problem.to_string()))?;
        Ok(Self { definition, handler })
    }
}

/// Returns the member that identifies a definition.
pub(super) fn key_of(definition: &Value, member: &str) -> Result<String, Error> {
    let key = definition.get(member).and_then(Value::as_str).filter(|key| !key.is_empty());
    key.map(str::to_owned).ok_or_else(|| {
        Error::Definition(format!("a definition must be an object with the text {member}, got {definition}"))
    })
}

/// Returns the result of a list. `member` is the name of the member with the items.
pub(super) fn list<H>(member: &str, items: &BTreeMap<String, Registered<H>>) -> Result<Text, RpcError> {
    let definitions: Vec<&Text> = items.values().map(|item| &item.definition).collect();
    to_raw_value(&BTreeMap::from([(member, definitions)])).map_err(|problem| RpcError::internal(problem.to_string()))
}

/// Reads the arguments of a tool or of a prompt. Omitted arguments are `{}`.
pub(super) fn arguments<P: DeserializeOwned>(context: &Context) -> Result<P, String> {
    let arguments: Option<Text> = context.param("arguments");
    crate::json_value::read_params(arguments.as_deref())
}
