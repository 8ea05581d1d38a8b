//! Addresses of sockets: paths, TCP addresses and WebSockets.

use std::fmt;
use std::path::PathBuf;

/// The address of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Unix(PathBuf),
    /// HOST:PORT
    Tcp(String),
    WebSocket(WebSocketAddress),
}

/// The URL of a WebSocket without TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebSocketAddress {
    /// HOST:PORT
    pub(crate) authority: String,
    /// The path with the query. The path begins with `/`.
    pub(crate) path: String,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let help = "it must be a path, HOST:PORT or ws://HOST:PORT/, such as ./my.sock or 127.0.0.1:4000";
        if let Some(rest) = text.strip_prefix("ws://") {
            let at = rest.find(['/', '?']).unwrap_or(rest.len());
            let (authority, path) = rest.split_at_checked(at).unwrap_or((rest, ""));
            let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
            let authority = if is_host_and_port(authority) {
                authority.to_owned()
            } else if is_host_and_port(&format!("{authority}:80")) && !authority.ends_with(':') {
                format!("{authority}:80")
            } else {
                return Err(help.to_owned());
            };
            if path.contains(|character: char| !character.is_ascii_graphic() || character == '#') {
                return Err("the path of the URL must be visible ASCII without a fragment".to_owned());
            }
            return Ok(Self::WebSocket(WebSocketAddress { authority, path }));
        }
        let text = text.strip_prefix("tcp://").unwrap_or(text);
        if let Some((scheme, _)) = text.split_once("://") {
            return Err(format!("{help}, got {scheme}://"));
        }
        if text.contains('/') || text.starts_with('@') {
            return Ok(Self::Unix(text.into()));
        }
        if is_host_and_port(text) { Ok(Self::Tcp(text.to_owned())) } else { Err(help.to_owned()) }
    }

    pub(super) const fn is_websocket(&self) -> bool {
        matches!(self, Self::WebSocket(_))
    }
}

fn is_host_and_port(text: &str) -> bool {
    let is_host = |host: &str| !host.is_empty() && !host.contains(['/', ' ', '@', '?', '#']);
    text.rsplit_once(':').is_some_and(|(host, port)| {
        is_host(host) && (!host.contains(':') || host.starts_with('[')) && port.parse::<u16>().is_ok()
    })
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
            Self::WebSocket(WebSocketAddress { authority, path }) => write!(f, "ws://{authority}{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_path_a_tcp_address_or_a_websocket() {
        let ws = |authority: &str, path: &str| {
            Address::WebSocket(WebSocketAddress { authority: authority.into(), path: path.into() })
        };
        for (text, expected) in [
            ("./a:80", Address::Unix("./a:80".into())),
            ("/run/my.sock", Address::Unix("/run/my.sock".into())),
            ("@name", Address::Unix("@name".into())),
            ("localhost:80", Address::Tcp("localhost:80".into())),
            ("tcp://[::1]:0", Address::Tcp("[::1]:0".into())),
            ("ws://localhost:80", ws("localhost:80", "/")),
            ("ws://localhost", ws("localhost:80", "/")),
            ("ws://[::1]:8/rpc?a=b", ws("[::1]:8", "/rpc?a=b")),
            ("ws://h:1?a", ws("h:1", "/?a")),
        ] {
            assert_eq!(Address::parse(text), Ok(expected), "{text}");
        }
        for text in
            ["", "80", ":80", "name", "ws://", "ws://:80/", "ws://u@h:1/", "wss://h:1/", "http://h:1/", "::1:80"]
        {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
