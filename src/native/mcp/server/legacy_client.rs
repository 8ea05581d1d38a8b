//! The state of a client of the legacy era, which begins with `initialize`.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::Level;
use crate::error::RpcError;
use crate::native::limits::MAX_MCP_SUBSCRIPTIONS;

#[derive(Default)]
pub(super) struct LegacyClient(Mutex<State>);

#[derive(Default)]
struct State {
    capabilities: Option<Value>,
    level: Option<Level>,
    /// The resources whose changes the client wants.
    uris: BTreeSet<String>,
}

impl LegacyClient {
    pub(super) fn initialize(&self, capabilities: Value) {
        self.state().capabilities = Some(capabilities);
    }

    pub(super) fn is_initialized(&self) -> bool {
        self.state().capabilities.is_some()
    }

    pub(super) fn capabilities(&self) -> Value {
        self.state().capabilities.clone().unwrap_or_else(|| json!({}))
    }

    /// Returns the least level of the log messages that the client wants, or `None` if it wants all of them.
    pub(super) fn level(&self) -> Option<Level> {
        self.state().level
    }

    pub(super) fn set_level(&self, level: Level) {
        self.state().level = Some(level);
    }

    pub(super) fn subscribe(&self, uri: String) -> Result<(), RpcError> {
        let mut state = self.state();
        if state.uris.len() >= MAX_MCP_SUBSCRIPTIONS && !state.uris.contains(&uri) {
            return Err(RpcError::internal(format!("a client can subscribe to {MAX_MCP_SUBSCRIPTIONS} resources")));
        }
        state.uris.insert(uri);
        Ok(())
    }

    pub(super) fn unsubscribe(&self, uri: &str) {
        self.state().uris.remove(uri);
    }

    pub(super) fn is_subscribed(&self, uri: &str) -> bool {
        self.state().uris.contains(uri)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
