//! A server on a link: the standard streams, or any other transport.

use core::any::Any;
use std::io;
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::context::{Answer, Caller, Exchange, Outlet};
use super::envelope::{self, Envelope};
use super::legacy_client::LegacyClient;
use super::{Server, Shared};
use crate::Client;
use crate::Framing;
use crate::error::{CallError, Closed, RpcError};
use crate::json_value::Text;
use crate::message::Id;
use crate::native::handlers::HandlerOutcome;
use crate::native::peer::Peer;
use crate::native::transport::Transport;
use crate::profile::Profile;

/// The methods that a link passes to the server. The server answers -32601 to those that it does not have.
const METHODS: [&str; 15] = [
    "initialize",
    "server/discover",
    "subscriptions/listen",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "completion/complete",
];

struct LinkOutlet(Client);

impl Outlet for LinkOutlet {
    fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), CallError> {
        self.0.link().notify(method, params)
    }

    fn call(&self, method: &str, params: Option<Text>) -> Answer {
        let call = self.0.call::<Text>(method, &params).timeout(None);
        Box::pin(async move { call.await.map_err(RpcError::from) })
    }
}

impl Server {
    /// Serves a client over a transport, for example a socket with the framing
    /// [`Framing::Newline`](crate::Framing::Newline). Returns the reason why the link has ended. The profile is always
    /// [`Profile::MCP`].
    pub async fn serve(&self, transport: Transport) -> Closed {
        let peer = Peer::from_parts(transport.with_profile(Profile::MCP), true);
        let client = Arc::new(LegacyClient::default());
        let outlet: Arc<dyn Outlet> = Arc::new(LinkOutlet(peer.client().clone()));
        let listener = self.0.listen_legacy(&client, Arc::clone(&outlet));
        let identity = peer.client().link().identity.as_ref().map(|identity| Arc::clone(&identity.0));
        let served = Arc::new(Served { shared: Arc::clone(&self.0), client, outlet, identity });
        for method in METHODS {
            let served = Arc::clone(&served);
            let handler = move |params: Option<&RawValue>, context: crate::Context| {
                served.respond(method, context.id().unwrap_or(Id::Null), params)
            };
            peer.server().add_method(method, Arc::new(handler));
        }
        for name in ["notifications/initialized", "notifications/roots/list_changed"] {
            peer.on_notify(name, |_: IgnoredAny, _| {});
        }
        drop(served);
        let closed = peer.run().await;
        drop(listener);
        closed
    }

    /// Serves a client over the standard streams of this process. Returns when the client has closed standard input.
    /// Other code must not print to standard output.
    ///
    /// # Errors
    /// If the function is called outside of a tokio runtime.
    pub async fn serve_stdio(&self) -> io::Result<Closed> {
        Ok(self.serve(Transport::stdio(Framing::Newline)?).await)
    }
}

/// The parts of a link that its handlers need.
struct Served {
    shared: Arc<Shared>,
    client: Arc<LegacyClient>,
    outlet: Arc<dyn Outlet>,
    identity: Option<Arc<dyn Any + Send + Sync>>,
}

impl Served {
    fn respond(&self, method: &str, id: Id, params: Option<&RawValue>) -> HandlerOutcome {
        let caller = if envelope::is_modern(method, params) {
            match Envelope::read(params) {
                Ok(envelope) => Caller::Modern(envelope),
                Err(error) => return HandlerOutcome::Ready(Err(error)),
            }
        } else if method == "initialize" {
            return HandlerOutcome::Ready(self.shared.initialize(params, &self.client).map(|(_, result)| result));
        } else {
            Caller::Legacy(Arc::clone(&self.client))
        };
        let mut exchange = Exchange::new(id, params.map(ToOwned::to_owned), caller, Arc::clone(&self.outlet));
        exchange.identity = self.identity.clone();
        HandlerOutcome::Pending(Box::pin(self.shared.run(method, exchange)))
    }
}
