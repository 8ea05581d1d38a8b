//! A server of the Model Context Protocol (MCP), for clients of both eras.

mod changes;
mod context;
mod dispatch;
mod envelope;
mod errors;
#[cfg(feature = "mcp-http")]
mod http;
mod input;
mod legacy_client;
mod link;
mod registry;
mod run;
mod state;
mod uri_template;

use core::fmt;
use core::future::ready;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard, Weak};

#[cfg(feature = "mcp-http")]
use portway_proto::mcp::http::{Json, ParamHeaders};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::changes::{Change, Listener};
pub use self::context::{Context, Level};
#[cfg(feature = "mcp-http")]
pub use self::http::{HttpBody, HttpProgram, HttpService};
use self::registry::{Handler, Registered, Registry, arguments, key_of};
use self::state::StateKey;
use self::uri_template::UriTemplate;
use super::Error;
use crate::error::{RpcError, invalid_params};
use crate::json_value::write_result;
use crate::native::handlers::HandlerFuture;

/// The future of a handler.
type Work = HandlerFuture;

/// A server of MCP: a registry of tools, resources and prompts, which serves any number of clients of both eras.
///
/// The definitions are JSON values, as lists have them, and the results of handlers are the results on the wire. So a
/// server can use all members that MCP defines, and later versions, too. Clones share one registry. A later
/// registration with the same name replaces the earlier one. Each change of a list is reported to the clients.
///
/// A handler that returns an error answers the request with this error. To let a model see the failure of a tool,
/// return a result with `isError: true`.
///
/// ```
/// use portway::RpcError;
/// use portway::mcp::{Context, Error, Server};
/// use serde::Deserialize;
/// use serde_json::json;
///
/// #[derive(Deserialize)]
/// struct Sum { a: i64, b: i64 }
///
/// fn server() -> Result<Server, Error> {
///     let server = Server::new("calculator", "1.0.0");
///     let add = json!({
///         "name": "add",
///         "description": "Adds two integers.",
///         "inputSchema": {
///             "type": "object",
///             "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
///             "required": ["a", "b"],
///         },
///     });
///     server.tool(add, |Sum { a, b }: Sum, _: Context| async move {
///         let text = a.checked_add(b).ok_or_else(|| RpcError::invalid_params("the sum is too large"))?.to_string();
///         Ok::<_, RpcError>(json!({ "content": [{ "type": "text", "text": text }] }))
///     })?;
///     Ok(server)
/// }
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// // Over the standard streams:
/// server()?.serve_stdio().await?;
/// # Ok(())
/// # }
/// # assert!(server().is_ok());
/// ```
#[derive(Clone)]
pub struct Server(Arc<Shared>);

#[derive(Default)]
struct Shared {
    registry: RwLock<Registry>,
    listeners: Mutex<Vec<Weak<Listener>>>,
    state_key: Arc<StateKey>,
}

impl Server {
    /// Creates a server with a name and a version, which clients receive as `serverInfo`.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        let server = Self(Arc::default());
        server.info(json!({ "name": name, "version": version }));
        server
    }

    /// Replaces `serverInfo`, for example to add a title.
    pub fn info(&self, info: Value) -> &Self {
        self.registry().info = info;
        self
    }

    /// Sets the key that signs `requestState`, see [`Context::ask`]. Processes that serve the same clients need the
    /// same key, which must be secret and random. Default: a random key for each server.
    pub fn state_key(&self, key: &[u8; 32]) -> &Self {
        self.0.state_key.set(key);
        self
    }

    /// Sets the instructions for models that use the server.
    pub fn instructions(&self, instructions: &str) -> &Self {
        self.registry().instructions = Some(instructions.into());
        self
    }

    /// Registers a tool. `definition` is an item of `tools/list`, with the member `name`. If it has no `inputSchema`,
    /// the tool has no arguments. `P` is the type of the arguments, and the handler returns the result of `tools/call`.
    /// Arguments that are not a `P` are answered with a result `isError: true`, which a model can read.
    ///
    /// # Errors
    /// [`Error::Definition`] if the definition has no name, or has an invalid `x-mcp-header`.
    pub fn tool<P, R, E, F, W>(&self, mut definition: Value, handler: F) -> Result<&Self, Error>
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, E>> + Send + 'static,
    {
        let name = key_of(&definition, "name")?;
        if let Some(members) = definition.as_object_mut() {
            members.entry("inputSchema").or_insert_with(|| json!({ "type": "object" }));
        }
        let handler: Arc<Handler> = Arc::new(move |context| match arguments(&context) {
            Ok(arguments) => work(handler(arguments, context)),
            Err(problem) => Box::pin(ready(write_result(Ok::<_, RpcError>(errors::invalid_arguments(&problem))))),
        });
        let registered = Registered::new(&definition, handler)?;
        #[cfg(feature = "mcp-http")]
        let headers = {
            let mut headers = ParamHeaders::default();
            let schema = definition.get("inputSchema").map(Json::from).unwrap_or_default();
            headers.read_tool(&name, &schema).map_err(Error::Definition)?;
            headers
        };
        let mut registry = self.registry();
        #[cfg(feature = "mcp-http")]
        registry.param_headers.insert(name.clone(), headers);
        let replaced = registry.tools.insert(name, registered);
        drop(registry);
        drop(replaced);
        self.0.publish(Change::Tools);
        Ok(self)
    }

    /// Registers a resource. `definition` is an item of `resources/list`, with the members `uri` and `name`. The
    /// handler receives the URI, and returns the result of `resources/read`.
    ///
    /// # Errors
    /// [`Error::Definition`] if the definition has no URI.
    pub fn resource<R, E, F, W>(&self, definition: Value, handler: F) -> Result<&Self, Error>
    where
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(String, Context) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, E>> + Send + 'static,
    {
        let uri = key_of(&definition, "uri")?;
        let own = uri.clone();
        let handler: Arc<Handler> = Arc::new(move |context| work(handler(own.clone(), context)));
        let registered = Registered::new(&definition, handler)?;
        let replaced = self.registry().resources.insert(uri, registered);
        drop(replaced);
        self.0.publish(Change::Resources);
        Ok(self)
    }

    /// Registers resources whose URIs match a template. `definition` is an item of `resources/templates/list`, with the
    /// members `uriTemplate` and `name`. The variable `{name}` is one segment of a path, and `{+name}` is any text. A
    /// variable ends at the first occurrence of the text that follows it. `P` is a map or a struct with the variables.
    /// The handler also receives the URI.
    ///
    /// # Errors
    /// [`Error::Definition`] if the definition has no template, or if the template has other expressions.
    pub fn resource_template<P, R, E, F, W>(&self, definition: Value, handler: F) -> Result<&Self, Error>
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(String, P, Context) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, E>> + Send + 'static,
    {
        let template = key_of(&definition, "uriTemplate")?;
        let pattern = UriTemplate::parse(&template).map_err(Error::Definition)?;
        let handler: Arc<registry::TemplateHandler> =
            Arc::new(move |uri, values, context| match serde_json::from_value(values) {
                Ok(values) => work(handler(uri, values, context)),
                Err(problem) => Box::pin(ready(Err(invalid_params(problem)))),
            });
        let registered = Registered::new(&definition, (pattern, handler))?;
        let replaced = self.registry().templates.insert(template, registered);
        drop(replaced);
        self.0.publish(Change::Resources);
        Ok(self)
    }

    /// Registers a prompt. `definition` is an item of `prompts/list`, with the member `name`. `P` is the type of the
    /// arguments, and the handler returns the result of `prompts/get`.
    ///
    /// # Errors
    /// [`Error::Definition`] if the definition has no name.
    pub fn prompt<P, R, E, F, W>(&self, definition: Value, handler: F) -> Result<&Self, Error>
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, E>> + Send + 'static,
    {
        let name = key_of(&definition, "name")?;
        let handler: Arc<Handler> = Arc::new(move |context| match arguments(&context) {
            Ok(arguments) => work(handler(arguments, context)),
            Err(problem) => Box::pin(ready(Err(invalid_params(problem)))),
        });
        let registered = Registered::new(&definition, handler)?;
        let replaced = self.registry().prompts.insert(name, registered);
        drop(replaced);
        self.0.publish(Change::Prompts);
        Ok(self)
    }

    /// Registers the handler of `completion/complete`. `P` is the type of the params, and the handler returns the
    /// result.
    pub fn completion<P, R, E, F, W>(&self, handler: F) -> &Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
        F: Fn(P, Context) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, E>> + Send + 'static,
    {
        let handler: Arc<Handler> = Arc::new(move |context| match crate::json_value::read_params(context.params()) {
            Ok(params) => work(handler(params, context)),
            Err(problem) => Box::pin(ready(Err(invalid_params(problem)))),
        });
        let replaced = self.registry().completion.replace(handler);
        drop(replaced);
        self
    }

    /// Removes a tool. Returns whether there was one. Its running handlers continue.
    pub fn remove_tool(&self, name: &str) -> bool {
        let mut registry = self.registry();
        #[cfg(feature = "mcp-http")]
        registry.param_headers.remove(name);
        let removed = registry.tools.remove(name);
        drop(registry);
        self.removed(removed, Change::Tools)
    }

    /// Removes a resource or a template, by its URI or by its template. Returns whether there was one.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let mut registry = self.registry();
        let removed = (registry.resources.remove(uri), registry.templates.remove(uri));
        drop(registry);
        let is_removed = removed.0.is_some() || removed.1.is_some();
        self.removed(is_removed.then_some(removed), Change::Resources)
    }

    /// Removes a prompt. Returns whether there was one.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let removed = self.registry().prompts.remove(name);
        self.removed(removed, Change::Prompts)
    }

    /// Reports a change of a resource to the clients that have subscribed to it.
    pub fn resource_updated(&self, uri: &str) {
        self.0.publish(Change::Resource(uri));
    }

    /// Drops a removed item outside of the lock, because its handler may own values of the application.
    fn removed<T>(&self, removed: Option<T>, change: Change<'_>) -> bool {
        let is_removed = removed.is_some();
        drop(removed);
        if is_removed {
            self.0.publish(change);
        }
        is_removed
    }

    fn registry(&self) -> RwLockWriteGuard<'_, Registry> {
        self.0.registry.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("info", &self.0.registry().info).finish_non_exhaustive()
    }
}

fn work<R, E, W>(handler: W) -> Work
where
    R: Serialize,
    E: Into<RpcError>,
    W: Future<Output = Result<R, E>> + Send + 'static,
{
    Box::pin(async move { write_result(handler.await) })
}
