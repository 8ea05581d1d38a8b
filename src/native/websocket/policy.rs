//! Decides which requests may open a WebSocket.

use core::fmt;
use core::pin::Pin;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use tungstenite::http::{HeaderMap, StatusCode};

use super::head::{list, single};
use super::identity::{Admission, Refusal, RequestHead};
use crate::native::limits::{MAX_WEBSOCKETS, MAX_WEBSOCKETS_PER_ADDRESS};

/// The subprotocol that a server chooses by default, if a client offers it.
const SUBPROTOCOL: &str = "jsonrpc-2.0";

/// The rules for requests that open a WebSocket. A server checks each request before the upgrade. A refused request is
/// answered with an HTTP error, for example 401 or 403.
///
/// A web page of any site can make a browser connect to any server, even to a server on the user's machine or network.
/// The browser adds the cookies of the server to the request. Two headers, which pages cannot forge, distinguish these
/// requests from permitted requests:
///
/// - `Host` must be a name of the server. With DNS rebinding, an attacker binds the name of a site to the address of
///   the server. A page of this site sends the name of the site as `Host`. [`WebSocketPolicy::host`] adds names. The IP
///   address to which the client has connected is always a name of the server. If this address is a loopback address,
///   `localhost` is also a name of the server. The IP address and `localhost` are valid only with the port of the
///   server.
/// - `Origin` must be the origin of the server, or an origin that [`WebSocketPolicy::origin`] has added. Programs other
///   than browsers send no `Origin`. They are admitted, unless [`WebSocketPolicy::require_origin`] is set.
///
/// With [`WebSocketPolicy::check`], the application can refuse further requests.
///
/// ```
/// use portway::{Admission, Refusal, WebSocketPolicy};
///
/// let policy = WebSocketPolicy::new()
///     .host("rpc.example.org")
///     .origin("https://app.example.org")
///     .check(|head| async move {
///         // A real program reads the secret from its configuration.
///         if !head.has_token("correct horse") {
///             return Err(Refusal::Unauthorized);
///         }
///         Ok(Admission::with_identity("ada".to_owned()))
///     });
/// ```
#[derive(Clone)]
#[must_use = "a policy has an effect only on the listener that gets it"]
pub struct WebSocketPolicy {
    hosts: Vec<String>,
    origins: Vec<String>,
    requires_origin: bool,
    subprotocols: Vec<String>,
    check: Option<Arc<Check>>,
    pub(super) max_connections: usize,
    pub(super) max_connections_per_address: usize,
}

type Check = dyn Fn(RequestHead) -> CheckResult + Send + Sync;
type CheckResult = Pin<Box<dyn Future<Output = Result<Admission, Refusal>> + Send>>;

/// The response to a request that is not admitted.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) reason: &'static str,
}

impl Default for WebSocketPolicy {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            origins: Vec::new(),
            requires_origin: false,
            subprotocols: vec![SUBPROTOCOL.to_owned()],
            check: None,
            max_connections: MAX_WEBSOCKETS,
            max_connections_per_address: MAX_WEBSOCKETS_PER_ADDRESS,
        }
    }
}

impl WebSocketPolicy {
    /// Creates the default policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a name of the server: `rpc.example.org` for any port, or `rpc.example.org:8443` for only this port. The
    /// case of the name has no effect.
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// Adds an origin whose pages may connect, in the form that browsers send: `https://app.example.org`, with the port
    /// only if it is not the default port. `null` admits sandboxed pages and files. Any site can create a sandboxed
    /// page, so use a [check](Self::check) with a token to distinguish these pages.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Refuses requests without an `Origin`. Programs other than browsers send no `Origin`. But this option is not a
    /// protection against programs, because a program can send any `Origin`.
    pub fn require_origin(self) -> Self {
        Self { requires_origin: true, ..self }
    }

    /// Adds a subprotocol that the server chooses if a client offers it. Default: `jsonrpc-2.0`. If a client offers
    /// only other subprotocols, the server chooses no subprotocol. In this case, Chromium closes the connection.
    pub fn subprotocol(mut self, name: impl Into<String>) -> Self {
        self.subprotocols.push(name.into());
        self
    }

    /// Sets a function that admits or refuses each request, after `Host` and `Origin` were checked. The request is
    /// answered with 408 if the receipt of its head and this function together take more than 10 seconds.
    pub fn check<F, W>(self, check: F) -> Self
    where
        F: Fn(RequestHead) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Admission, Refusal>> + Send + 'static,
    {
        Self { check: Some(Arc::new(move |head| Box::pin(check(head)))), ..self }
    }

    /// Sets the maximum number of connections. A new connection above the maximum replaces the oldest connection whose
    /// request is incomplete. If all requests are complete, the listener answers the new connection with 503. Default:
    /// 16 384.
    pub fn max_connections(self, count: usize) -> Self {
        Self { max_connections: count, ..self }
    }

    /// Sets the maximum number of connections of one IPv4 address or IPv6 network (`/64`). A further connection
    /// replaces another connection of this address, or is refused, as in [`Self::max_connections`]. Default: 1 024.
    /// Behind a proxy, all connections have the address of the proxy.
    pub fn max_connections_per_address(self, count: usize) -> Self {
        Self { max_connections_per_address: count, ..self }
    }

    /// Checks `Host` and `Origin`. `local` is the address of the server in this connection.
    pub(super) fn check_headers(&self, headers: &HeaderMap, local: Option<SocketAddr>) -> Result<(), Refused> {
        let bad = |reason| Refused { status: StatusCode::BAD_REQUEST, reason };
        let forbidden = |reason| Refused { status: StatusCode::FORBIDDEN, reason };
        let host = single(headers, "Host").ok().flatten();
        let host = host.ok_or_else(|| bad("the request must have exactly one header Host"))?;
        if !self.serves(host, local) {
            return Err(forbidden("Host must be a name of this server; WebSocketPolicy::host or --host adds names"));
        }
        match single(headers, "Origin").map_err(|()| bad("the request must have at most one header Origin"))? {
            None if self.requires_origin => Err(forbidden("the request must have the header Origin")),
            None => Ok(()),
            Some(origin) if self.allows(origin, host) => Ok(()),
            Some(_) => Err(forbidden(
                "Origin must be the origin of this server; WebSocketPolicy::origin or --origin adds origins",
            )),
        }
    }

    /// Returns whether `host` is a name of this server.
    fn serves(&self, host: &str, local: Option<SocketAddr>) -> bool {
        let (name, port) = split_port(host);
        let is_configured = self.hosts.iter().any(|served| {
            let (served_name, served_port) = split_port(served);
            served_name.eq_ignore_ascii_case(name) && (served_port.is_none() || served_port == port)
        });
        is_configured
            || local.is_some_and(|local| {
                // A browser omits the port if it is the default port of the scheme.
                let is_own_port = match port {
                    Some(port) => port.parse() == Ok(local.port()),
                    None => [80, 443].contains(&local.port()),
                };
                is_own_port && is_own_name(name, local.ip().to_canonical())
            })
    }

    /// Returns whether pages of this origin may connect to `host`.
    fn allows(&self, origin: &str, host: &str) -> bool {
        let origin_host = ["http://", "https://"].iter().find_map(|scheme| origin.strip_prefix(scheme));
        origin_host.is_some_and(|origin_host| origin_host.eq_ignore_ascii_case(host))
            || self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
    }

    /// Returns the subprotocol to choose.
    pub(super) fn choose_subprotocol(&self, headers: &HeaderMap) -> Option<&str> {
        list(headers, "Sec-WebSocket-Protocol")
            .find_map(|offered| self.subprotocols.iter().map(String::as_str).find(|supported| *supported == offered))
    }

    /// Runs the check of the application.
    pub(super) async fn admit(&self, head: RequestHead) -> Result<Admission, Refused> {
        let Some(check) = &self.check else { return Ok(Admission::anonymous()) };
        check(head).await.map_err(|refusal| match refusal {
            Refusal::Unauthorized => {
                Refused { status: StatusCode::UNAUTHORIZED, reason: "the request must have a valid token" }
            }
            Refusal::Forbidden => Refused { status: StatusCode::FORBIDDEN, reason: "this client may not connect" },
        })
    }
}

/// Splits `host` into the name and the port. An IPv6 address is in brackets.
fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, Some(port)),
        _ => (host, None),
    }
}

/// Returns whether a client that has connected to this address may use this name. DNS rebinding can bind a name of an
/// attacker to this address. An IP address and `localhost` cannot be a name of an attacker.
fn is_own_name(name: &str, local: IpAddr) -> bool {
    let literal = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(literal) => literal.parse::<Ipv6Addr>().map(IpAddr::V6).ok(),
        None => name.parse::<Ipv4Addr>().map(IpAddr::V4).ok(),
    };
    match literal {
        Some(literal) => literal == local || (literal.is_loopback() && local.is_loopback()),
        None => local.is_loopback() && name.eq_ignore_ascii_case("localhost"),
    }
}

impl fmt::Debug for WebSocketPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocketPolicy")
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .field("requires_origin", &self.requires_origin)
            .finish_non_exhaustive()
    }
}
