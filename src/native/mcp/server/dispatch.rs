//! The methods of a server, in both eras.

use core::future::{pending, ready};
use std::sync::{Arc, PoisonError, RwLockReadGuard};

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::{Era, LEGACY_VERSIONS, MODERN_VERSIONS, member};
use super::context::{Caller, Context, Exchange};
use super::legacy_client::LegacyClient;
use super::registry::{self, Registry};
use super::run::{Run, empty};
use super::state::StateSigner;
use super::{Level, Shared, Work, errors};
use crate::echo;
use crate::error::{RpcError, invalid_params, method_not_found};
use crate::json_value::{Text, write_result};

impl Shared {
    pub(super) fn registry(&self) -> RwLockReadGuard<'_, Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the handler of a request.
    pub(super) fn run(&self, method: &str, mut exchange: Exchange) -> Run {
        if exchange.era() == Era::Modern {
            exchange.state_signer = Some(StateSigner::new(&self.state_key, method));
        }
        let exchange = Arc::new(exchange);
        let work = self.start(method, Context(Arc::clone(&exchange)));
        Run::new(method, work.unwrap_or_else(|error| Box::pin(ready(Err(error)))), exchange)
    }

    fn start(&self, method: &str, context: Context) -> Result<Work, RpcError> {
        let unknown = || method_not_found(method);
        let result = match (context.era(), method, &context.0.caller) {
            (Era::Modern, "server/discover", _) => self.discover(),
            (Era::Modern, "subscriptions/listen", _) => {
                let listener = self.listen(&context)?;
                return Ok(Box::pin(async move {
                    let _listener = listener;
                    pending().await
                }));
            }
            (Era::Legacy, "ping", _) => empty(),
            (Era::Legacy, "logging/setLevel", Caller::Legacy(client)) => {
                let level: Level = context.param("level").ok_or_else(|| {
                    invalid_params("level must be debug, info, notice, warning, error, critical, alert or emergency")
                })?;
                client.set_level(level);
                empty()
            }
            (Era::Legacy, "resources/subscribe", Caller::Legacy(client)) if self.registry().has_resources() => {
                client.subscribe(context.required("uri")?)?;
                empty()
            }
            (Era::Legacy, "resources/unsubscribe", Caller::Legacy(client)) if self.registry().has_resources() => {
                client.unsubscribe(&context.required("uri")?);
                empty()
            }
            (_, "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list", _) => {
                self.list(method, &context)
            }
            _ => {
                // The lock is released before the handler runs.
                let start = self.handler(method, &context)?;
                return start.map_or_else(|| Err(unknown()), |start| Ok(start(context)));
            }
        };
        Ok(Box::pin(ready(result)))
    }

    fn list(&self, method: &str, context: &Context) -> Result<Text, RpcError> {
        let registry = self.registry();
        let result = match method {
            "tools/list" if !registry.tools.is_empty() => registry::list("tools", &registry.tools),
            "prompts/list" if !registry.prompts.is_empty() => registry::list("prompts", &registry.prompts),
            "resources/list" if registry.has_resources() => registry::list("resources", &registry.resources),
            "resources/templates/list" if registry.has_resources() => {
                registry::list("resourceTemplates", &registry.templates)
            }
            _ => return Err(method_not_found(method)),
        };
        if context.param::<Value>("cursor").is_some_and(|cursor| !cursor.is_null()) {
            return Err(invalid_params("cursor must be a cursor of this list, which has one page"));
        }
        result
    }

    /// Returns a function that starts the handler of a request, or `None` if the method is unknown.
    fn handler(&self, method: &str, context: &Context) -> Result<Option<Start>, RpcError> {
        let registry = self.registry();
        let unknown = |kind, name: &str| {
            RpcError::invalid_params(format!("Unknown {kind}: {}", echo::first_100_characters(name)))
        };
        let handler = match method {
            "tools/call" if !registry.tools.is_empty() => {
                let name = context.required("name")?;
                registry.tools.get(&name).ok_or_else(|| unknown("tool", &name))?.handler.clone()
            }
            "prompts/get" if !registry.prompts.is_empty() => {
                let name = context.required("name")?;
                registry.prompts.get(&name).ok_or_else(|| unknown("prompt", &name))?.handler.clone()
            }
            "resources/read" if registry.has_resources() => {
                let uri = context.required("uri")?;
                match registry.resources.get(&uri) {
                    Some(resource) => resource.handler.clone(),
                    None => {
                        let is_modern = context.era() == Era::Modern;
                        let found = registry.template(uri).map_err(|uri| errors::resource_not_found(&uri, is_modern));
                        return found.map(Some);
                    }
                }
            }
            "completion/complete" => match &registry.completion {
                Some(handler) => Arc::clone(handler),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(Box::new(move |context| handler(context))))
    }

    /// Returns the version and the result of `initialize`, and stores the capabilities of the client. The version is
    /// the requested version, or else the newest version.
    pub(super) fn initialize(
        &self,
        params: Option<&RawValue>,
        client: &LegacyClient,
    ) -> Result<(&'static str, Text), RpcError> {
        let required = |name: &str| invalid_params(format!("{name} is missing, or has another type"));
        let requested: String =
            params.and_then(|params| member(params, "protocolVersion")).ok_or_else(|| required("protocolVersion"))?;
        let capabilities: Map<String, Value> =
            params.and_then(|params| member(params, "capabilities")).ok_or_else(|| required("capabilities"))?;
        let known = LEGACY_VERSIONS.iter().copied().find(|version| *version == requested);
        let version = known.or_else(|| LEGACY_VERSIONS.first().copied()).unwrap_or_default();
        let registry = self.registry();
        let mut result = json!({
            "protocolVersion": version,
            "capabilities": registry.capabilities(),
            "serverInfo": registry.info,
        });
        registry.add_instructions(&mut result);
        client.initialize(Value::Object(capabilities));
        Ok((version, write_result(Ok::<_, RpcError>(result))?))
    }

    fn discover(&self) -> Result<Text, RpcError> {
        let registry = self.registry();
        let mut result = json!({
            "supportedVersions": MODERN_VERSIONS,
            "capabilities": registry.capabilities(),
            "_meta": { "io.modelcontextprotocol/serverInfo": registry.info },
        });
        registry.add_instructions(&mut result);
        write_result(Ok::<_, RpcError>(result))
    }
}

/// Starts a handler.
type Start = Box<dyn FnOnce(Context) -> Work>;

impl Registry {
    pub(super) fn has_resources(&self) -> bool {
        !self.resources.is_empty() || !self.templates.is_empty()
    }

    /// Returns the start of the handler of the first template that matches a URI. Returns the URI if there is none.
    fn template(&self, uri: String) -> Result<Start, String> {
        for template in self.templates.values() {
            let (pattern, handler) = &template.handler;
            if let Some(values) = pattern.matches(&uri) {
                let (handler, values) = (Arc::clone(handler), json!(values));
                return Ok(Box::new(move |context| handler(uri, values, context)));
            }
        }
        Err(uri)
    }

    fn capabilities(&self) -> Value {
        let mut capabilities = Map::new();
        let mut add = |name: &str, capability| capabilities.insert(name.into(), capability);
        add("logging", json!({}));
        if !self.tools.is_empty() {
            add("tools", json!({ "listChanged": true }));
        }
        if !self.prompts.is_empty() {
            add("prompts", json!({ "listChanged": true }));
        }
        if self.has_resources() {
            add("resources", json!({ "subscribe": true, "listChanged": true }));
        }
        if self.completion.is_some() {
            add("completions", json!({}));
        }
        Value::Object(capabilities)
    }

    fn add_instructions(&self, result: &mut Value) {
        if let (Some(instructions), Some(result)) = (&self.instructions, result.as_object_mut()) {
            result.insert("instructions".into(), json!(instructions));
        }
    }
}
