//! The URL of a server of WebSockets or HTTP.

use std::io;

#[cfg(feature = "mcp-http")]
use hyper::Uri;
#[cfg(not(feature = "mcp-http"))]
use tungstenite::http::Uri;

/// A checked URL, with the parts that a connection needs.
#[derive(Debug)]
pub(super) struct ServerUrl {
    pub(super) uri: Uri,
    /// The name or the address of the host, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Whether the scheme requires TLS.
    pub(super) is_secure: bool,
}

impl ServerUrl {
    /// Checks a URL. `schemes` are the scheme without TLS and the scheme with TLS. No error contains a part of the URL,
    /// because the URL may contain secrets.
    pub(super) fn parse(url: &str, schemes: [&str; 2]) -> io::Result<Self> {
        let invalid = |problem: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("the URL must {problem}"));
        let [plain, secure] = schemes;
        let uri: Uri =
            url.parse().map_err(|_| invalid(&format!("be {plain}://HOST or {secure}://HOST, got an invalid URL")))?;
        let is_secure = match uri.scheme_str() {
            Some(scheme) if scheme == plain => false,
            Some(scheme) if scheme == secure => true,
            _ => return Err(invalid(&format!("begin with {plain}:// or {secure}://"))),
        };
        let authority = uri.authority().ok_or_else(|| invalid("have a host"))?;
        if authority.as_str().contains('@') {
            return Err(invalid("not contain a user; use the header Authorization"));
        }
        let port = authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { uri, host, port, is_secure })
    }

    /// Returns the host and the port, for errors.
    pub(super) fn name(&self) -> String {
        let brackets = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        format!("{}{}{}:{}", brackets.0, self.host, brackets.1, self.port)
    }

    /// Returns the host and the port in lower case, and whether the scheme requires TLS, as one text. Two URLs have the
    /// same text if they have the same origin.
    #[cfg(feature = "mcp-http")]
    pub(super) fn origin(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}", self.name().to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> io::Result<ServerUrl> {
        ServerUrl::parse(url, ["http", "https"])
    }

    #[test]
    fn the_port_has_a_default_and_an_address_has_brackets() -> io::Result<()> {
        for (url, name, is_secure) in [
            ("http://localhost/mcp", "localhost:80", false),
            ("https://localhost", "localhost:443", true),
            ("HTTP://localhost:8080/?a=b", "localhost:8080", false),
            ("https://[::1]:8443/", "[::1]:8443", true),
        ] {
            let parsed = parse(url)?;
            assert_eq!((parsed.name().as_str(), parsed.is_secure), (name, is_secure), "{url}");
            assert!(!parsed.host.contains('['));
        }
        Ok(())
    }

    #[test]
    fn an_invalid_url_is_an_error_without_the_url() {
        for (url, problem) in [
            ("http://", "the URL must be http://HOST or https://HOST, got an invalid URL"),
            ("ws://secret/", "the URL must begin with http:// or https://"),
            ("/secret", "the URL must begin with http:// or https://"),
            ("http://secret@host/", "the URL must not contain a user; use the header Authorization"),
        ] {
            let error = parse(url).err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), Some(problem), "{url}");
        }
    }

    #[cfg(feature = "mcp-http")]
    #[test]
    fn urls_of_one_server_have_one_origin() -> io::Result<()> {
        assert_eq!(parse("http://HOST/a?b")?.origin(), parse("http://host:80/c")?.origin());
        assert_ne!(parse("https://host:80/")?.origin(), parse("http://host:80/")?.origin());
        Ok(())
    }
}
