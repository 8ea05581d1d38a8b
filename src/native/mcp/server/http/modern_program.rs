//! The process of a program for the modern era, which serves the requests of all clients.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;

use super::super::super::error::Error;
use super::super::super::handshake::{Handshake, ServerLink};
use super::super::super::{Era, Options, member};
use super::super::changes::id_value;
use super::super::context::Outlet;
use super::program::{Program, program_error};
use crate::Client;
use crate::error::RpcError;
use crate::json_value::{Text, write_value};
use crate::message::{Id, ObjectPayload, Request, RequestId};
use crate::native::mcp_dialect;
use crate::native::state::LinkState;

/// The member of `_meta` that names the subscription of a notification.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The member of `_meta` with the level of the log messages that the client wants.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

#[derive(Default)]
pub(super) struct Modern {
    process: tokio::sync::Mutex<Process>,
    routes: Arc<Routes>,
}

#[derive(Default)]
enum Process {
    #[default]
    NotStarted,
    Started(ServerLink),
    /// The program has only the legacy era.
    Legacy,
}

impl Modern {
    /// Ends the process, and waits for its exit.
    pub(super) async fn close(&self) {
        let process = std::mem::take(&mut *self.process.lock().await);
        if let Process::Started(link) = process {
            let client = link.client.clone();
            drop(link);
            client.closed().await;
        }
    }
}

impl Program {
    /// Sends a request to the process of the modern era. The drop of the future cancels the request.
    pub(super) async fn call_modern(
        self: Arc<Self>,
        request: Request<Text>,
        outlet: Arc<dyn Outlet>,
    ) -> Result<Text, RpcError> {
        let Request { id, method, params } = request;
        let client = Arc::clone(&self).modern_client().await?;
        let mut call = client.call::<Text>(&method, &params).timeout(None);
        if let Some(token) = mcp_dialect::progress_token(params.as_deref()) {
            let token = write_value(&id_value(&token)).map_err(RpcError::internal)?;
            let outlet = Arc::clone(&outlet);
            call = call.on_progress(move |value: Text| {
                let params = mcp_dialect::with_members(Some(&value), &[("progressToken", Some(&*token))]);
                // If the client does not read, the notification is dropped.
                let _ = params.map(|params| outlet.notify("notifications/progress", Some(&params)));
            });
        }
        let meta: Option<Text> = params.as_ref().and_then(|params| member(params, "_meta"));
        let wants_log = meta.and_then(|meta| member::<Text>(&meta, LOG_LEVEL)).is_some();
        let is_subscription = &*method == "subscriptions/listen";
        let route = Route { id, outlet, wants_log, is_subscription };
        let routes = Arc::clone(&self.modern.routes);
        // The lock is held until the route is known, so that an early notification waits for it.
        let (call, _registered) = {
            let mut open = routes.lock();
            let call = call.start();
            let key = call.id();
            key.map(|key| open.insert(key, route));
            (call, Registered { routes: Arc::clone(&routes), key })
        };
        call.await.map_err(program_error)
    }

    /// Returns the client of the process. Starts the process if necessary. The start continues if the future is
    /// dropped, because further requests wait for it.
    async fn modern_client(self: Arc<Self>) -> Result<Client, RpcError> {
        let started = tokio::spawn(async move {
            let mut process = self.modern.process.lock().await;
            match &*process {
                Process::Legacy => return Err(is_legacy()),
                Process::Started(link) if link.client.link().link_state() == LinkState::Open => {
                    return Ok(link.client.clone());
                }
                _ => {}
            }
            let routes = Arc::clone(&self.modern.routes);
            let transport = self.start()?;
            let options = Options::new("portway", env!("CARGO_PKG_VERSION")).forward(move |method, params| {
                routes.forward(method, params);
            });
            let detection = options.detection();
            let (link, server) =
                Handshake::over(transport, Arc::new(options)).run(detection).await.map_err(|error| {
                    self.warn(&format!("the era of the program cannot be detected: {error}"));
                    failed(error)
                })?;
            if server.era == Era::Legacy {
                *process = Process::Legacy;
                return Err(is_legacy());
            }
            let client = link.client.clone();
            let (program, ended) = (Arc::clone(&self), client.clone());
            tokio::spawn(async move { program.warn_of_end(&ended.closed().await) });
            if self.is_closed.load(Ordering::Acquire) {
                return Err(RpcError::internal("the service ends"));
            }
            *process = Process::Started(link);
            Ok(client)
        });
        started.await.unwrap_or_else(|error| Err(RpcError::internal(error.to_string())))
    }
}

/// Returns the error for a program of the legacy era. With its status 400, clients of both eras send `initialize`.
fn is_legacy() -> RpcError {
    RpcError::new(crate::ErrorCode::INVALID_REQUEST, "this server begins with initialize")
}

fn failed(error: Error) -> RpcError {
    match error {
        Error::Call(error) => program_error(error),
        error => RpcError::internal(error.to_string()),
    }
}

/// The running requests of the process, by the ids that the process knows.
#[derive(Default)]
struct Routes(Mutex<HashMap<u64, Route>>);

/// The client of a running request.
struct Route {
    /// The id of the client for the request.
    id: Id,
    outlet: Arc<dyn Outlet>,
    wants_log: bool,
    is_subscription: bool,
}

/// A request in the routes. Its drop removes it.
struct Registered {
    routes: Arc<Routes>,
    key: Option<u64>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let removed = self.key.and_then(|key| self.routes.lock().remove(&key));
        drop(removed);
    }
}

impl Routes {
    /// Passes a notification to the client of its subscription. A notification without a subscription does not name its
    /// request. It is passed on if only one request can be its cause, and dropped otherwise, because another client
    /// must not receive it.
    fn forward(&self, method: &str, params: Option<&RawValue>) {
        let meta: Option<Text> = params.and_then(|params| member(params, "_meta"));
        let subscription: Option<Text> = meta.and_then(|meta| member(&meta, SUBSCRIPTION));
        let Some(subscription) = subscription else {
            let outlet = self.only_outlet(method);
            // If the client does not read, the notification is dropped.
            outlet.map(|outlet| outlet.notify(method, params));
            return;
        };
        let key = Text::read_id(&subscription).and_then(|id| id.to_call());
        let route =
            key.and_then(|key| self.lock().get(&key).map(|route| (route.id.clone(), Arc::clone(&route.outlet))));
        let Some((id, outlet)) = route else { return };
        let renamed = write_value(&BTreeMap::from([(SUBSCRIPTION, id_value(&id))]))
            .and_then(|meta| mcp_dialect::with_meta(params, &meta));
        let _ = renamed.map(|params| outlet.notify(method, Some(&params)));
    }

    fn only_outlet(&self, method: &str) -> Option<Arc<dyn Outlet>> {
        let routes = self.lock();
        let is_log = method == "notifications/message";
        let mut found = routes.values().filter(|route| !route.is_subscription && (route.wants_log || !is_log));
        let (first, second) = (found.next(), found.next());
        first.filter(|_| second.is_none()).map(|route| Arc::clone(&route.outlet))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Route>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::events::{EventQueue, First};
    use super::super::request::ResponseOutlet;
    use super::*;

    /// Adds a request. Returns its messages.
    fn add(routes: &Routes, key: u64, wants_log: bool, is_subscription: bool) -> Arc<EventQueue> {
        let queue = Arc::new(EventQueue::new(false));
        let outlet = Arc::new(ResponseOutlet(Arc::clone(&queue)));
        let route = Route { id: Id::String("mine".into()), outlet, wants_log, is_subscription };
        routes.lock().insert(key, route);
        queue
    }

    fn has_message(queue: &EventQueue) -> bool {
        let context = core::task::Context::from_waker(core::task::Waker::noop());
        matches!(queue.poll_first(&context), core::task::Poll::Ready(First::Stream))
    }

    #[test]
    fn a_notification_without_a_request_is_dropped_if_several_clients_could_receive_it() {
        let routes = Routes::default();
        let subscription = add(&routes, 1, true, true);
        let silent = add(&routes, 2, false, false);
        let one = add(&routes, 3, true, false);
        let other = add(&routes, 4, true, false);
        routes.forward("notifications/message", None);
        assert!([&subscription, &silent, &one, &other].into_iter().all(|queue| !has_message(queue)));
        routes.lock().remove(&4);
        routes.forward("notifications/message", None);
        assert!(has_message(&one) && !has_message(&silent) && !has_message(&subscription));
    }

    #[test]
    fn a_notification_of_a_subscription_reaches_only_its_client() -> Result<(), String> {
        let routes = Routes::default();
        let (one, other) = (add(&routes, 1, false, true), add(&routes, 2, false, true));
        for (id, expected) in [(json!(3), false), (json!("2"), false), (json!(2), true)] {
            let params = write_value(&json!({ "_meta": { SUBSCRIPTION: id } }))?;
            routes.forward("notifications/tools/list_changed", Some(&params));
            assert_eq!((has_message(&one), has_message(&other)), (false, expected), "{id}");
        }
        Ok(())
    }
}
