//! Changes of lists and resources, and the clients that want to know them.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, Weak};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Shared;
use super::context::{Context, Outlet};
use super::legacy_client::LegacyClient;
use crate::error::{RpcError, invalid_params};
use crate::json_value::write_value;
use crate::message::{Id, RequestId};
use crate::native::limits::MAX_MCP_SUBSCRIPTIONS;

/// A change that clients may want to know.
#[derive(Clone, Copy)]
pub(super) enum Change<'c> {
    Tools,
    Prompts,
    Resources,
    /// The content of the resource with this URI.
    Resource(&'c str),
}

/// A client that wants to know changes, as long as the value exists.
pub(super) struct Listener {
    outlet: Arc<dyn Outlet>,
    filter: Filter,
}

enum Filter {
    /// A client of the legacy era receives the changes of all lists.
    Legacy(Arc<LegacyClient>),
    /// A request `subscriptions/listen`, with the id of the request.
    Modern(Wanted, Value),
}

/// The changes that a request `subscriptions/listen` wants.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Wanted {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    resource_subscriptions: BTreeSet<String>,
}

impl Change<'_> {
    const fn method(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Resource(_) => "notifications/resources/updated",
        }
    }
}

impl Listener {
    fn is_wanted(&self, change: Change<'_>) -> bool {
        match (&self.filter, change) {
            (Filter::Legacy(client), Change::Resource(uri)) => client.is_subscribed(uri),
            (Filter::Legacy(client), _) => client.is_initialized(),
            (Filter::Modern(wanted, _), Change::Tools) => wanted.tools_list_changed,
            (Filter::Modern(wanted, _), Change::Prompts) => wanted.prompts_list_changed,
            (Filter::Modern(wanted, _), Change::Resources) => wanted.resources_list_changed,
            (Filter::Modern(wanted, _), Change::Resource(uri)) => wanted.resource_subscriptions.contains(uri),
        }
    }

    /// Sends a notification. A client that does not read loses it.
    fn notify(&self, method: &str, mut params: Value) {
        if let (Filter::Modern(_, id), Some(params)) = (&self.filter, params.as_object_mut()) {
            params.insert("_meta".into(), json!({ "io.modelcontextprotocol/subscriptionId": id }));
        }
        if let Ok(params) = write_value(&params) {
            let _ = self.outlet.notify(method, Some(&params));
        }
    }
}

impl Shared {
    /// Reports a change to the clients that want to know it.
    pub(super) fn publish(&self, change: Change<'_>) {
        let listeners: Vec<_> = {
            let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
            listeners.retain(|listener| listener.strong_count() > 0);
            listeners.iter().filter_map(Weak::upgrade).collect()
        };
        for listener in listeners.iter().filter(|listener| listener.is_wanted(change)) {
            let params = if let Change::Resource(uri) = change { json!({ "uri": uri }) } else { json!({}) };
            listener.notify(change.method(), params);
        }
    }

    /// Adds a client of the legacy era.
    pub(super) fn listen_legacy(&self, client: &Arc<LegacyClient>, outlet: Arc<dyn Outlet>) -> Arc<Listener> {
        let listener = Arc::new(Listener { outlet, filter: Filter::Legacy(Arc::clone(client)) });
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&listener));
        listener
    }

    /// Begins a request `subscriptions/listen`. The first notification acknowledges the changes that it will receive.
    pub(super) fn listen(&self, context: &Context) -> Result<Arc<Listener>, RpcError> {
        let exchange = &context.0;
        let wanted: Wanted = context
            .param("notifications")
            .ok_or_else(|| invalid_params("notifications must be an object with the wanted changes"))?;
        if wanted.resource_subscriptions.len() > MAX_MCP_SUBSCRIPTIONS {
            return Err(invalid_params(format!(
                "resourceSubscriptions must have at most {MAX_MCP_SUBSCRIPTIONS} items"
            )));
        }
        let acknowledged = json!({ "notifications": wanted });
        let filter = Filter::Modern(wanted, id_value(&exchange.id));
        let listener = Arc::new(Listener { outlet: Arc::clone(&exchange.outlet), filter });
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        // The lock delays changes, so the acknowledgement is the first notification.
        listener.notify("notifications/subscriptions/acknowledged", acknowledged);
        listeners.push(Arc::downgrade(&listener));
        drop(listeners);
        Ok(listener)
    }
}

/// Returns an id as a JSON value.
pub(super) fn id_value(id: &Id) -> Value {
    match id {
        Id::String(text) => Value::String(text.to_string()),
        id => id.to_call().map_or_else(|| serde_json::from_str(&id.to_string()).unwrap_or_default(), Value::from),
    }
}
