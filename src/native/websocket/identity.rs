//! The request that opens a WebSocket, and the admission or refusal of the request.

use core::any::Any;
use core::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use subtle::ConstantTimeEq;
use tungstenite::http::{HeaderMap, Uri};

use super::head::list;

/// The prefix of a subprotocol that contains a token. A page sends the token in this way, because it cannot set
/// headers.
const TOKEN_SUBPROTOCOL: &str = "ticket.";

/// The head of a request that opens a WebSocket, see [`WebSocketPolicy::check`](super::WebSocketPolicy::check).
///
/// The debug text contains only the path, because the query and the headers may contain secrets.
#[derive(Clone)]
pub struct RequestHead {
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) remote: SocketAddr,
}

/// The admission of a request, with an optional identity of the client that handlers can read.
#[derive(Clone, Default)]
pub struct Admission(pub(crate) Option<Arc<dyn Any + Send + Sync>>);

/// The refusal of a request. The client receives only the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// 401: the request shows no valid identity.
    Unauthorized,
    /// 403: the identity may not connect.
    Forbidden,
}

impl RequestHead {
    /// Returns the path of the request, without its query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.uri.path()
    }

    /// Returns the query of the request, without the question mark.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.uri.query()
    }

    /// Returns the first header with this name. The case of the name does not matter. A value that is not visible ASCII
    /// counts as missing.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the subprotocols that the client offers.
    pub fn subprotocols(&self) -> impl Iterator<Item = &str> {
        list(&self.headers, "Sec-WebSocket-Protocol")
    }

    /// Returns the address of the client. Behind a proxy, this is the address of the proxy.
    #[must_use]
    pub const fn remote_address(&self) -> SocketAddr {
        self.remote
    }

    /// Returns whether the request has this token. Programs send the header `Authorization: Bearer TOKEN`. A page
    /// cannot set headers, so it offers the subprotocols `jsonrpc-2.0` and `ticket.TOKEN`. The server chooses
    /// `jsonrpc-2.0`, and never sends the token back.
    ///
    /// For tokens of the same length, the time of the comparison does not depend on the position of a difference. An
    /// empty token never matches.
    #[must_use]
    pub fn has_token(&self, token: &str) -> bool {
        let bearer = self.header("Authorization").and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim())
        });
        let ticket = self.subprotocols().find_map(|subprotocol| subprotocol.strip_prefix(TOKEN_SUBPROTOCOL));
        let matches = |sent: Option<&str>| sent.is_some_and(|sent| sent.as_bytes().ct_eq(token.as_bytes()).into());
        !token.is_empty() && (matches(bearer) | matches(ticket))
    }
}

impl Admission {
    /// Admits a request without an identity.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// Admits a request, and attaches an identity: a user, a tenant, or any other value. Handlers read the identity
    /// with [`Context::identity`](crate::Context::identity).
    #[must_use]
    pub fn with_identity(identity: impl Any + Send + Sync) -> Self {
        Self(Some(Arc::new(identity)))
    }
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHead").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").field("has_identity", &self.0.is_some()).finish()
    }
}
