//! The checks of an HTTP request before its message is handled.

use std::str::FromStr;

use hyper::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, StatusCode, Uri};
use portway_proto::mcp::http::{Json, ParamHeaders, decode_value, named_param};
use serde_json::value::RawValue;

use super::super::{envelope, errors};
use crate::error::RpcError;
use crate::json_value::Text;
use crate::native::limits::MAX_HTTP_HEADER_BYTES;
use crate::native::mcp::member;

pub(super) static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
static NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The names of this machine for programs on this machine.
const LOCAL_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The refusal of a request: a status, and a text for people.
pub(super) type Refusal = (StatusCode, String);

/// The hosts and origins that a service accepts.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// Names of hosts in lower case, without a port.
    pub(super) hosts: Vec<String>,
    /// Origins in lower case.
    pub(super) origins: Vec<String>,
}

impl Default for Access {
    fn default() -> Self {
        Self { hosts: LOCAL_HOSTS.map(str::to_owned).into(), origins: Vec::new() }
    }
}

impl Access {
    /// Checks the headers `Host` and `Origin`. A page of another site can reach a server on this machine: directly, or
    /// by a name that resolves to this machine (DNS rebinding).
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = match uri.host() {
            Some(host) => Some(host.to_ascii_lowercase()),
            None => single(headers, &HOST).ok().flatten().and_then(host_of),
        };
        if host.is_none_or(|host| !self.hosts.contains(&host)) {
            let problem = format!("Host must be one of {}", self.hosts.join(", "));
            return Err((StatusCode::MISDIRECTED_REQUEST, problem));
        }
        let refused = || (StatusCode::FORBIDDEN, "Origin is not accepted".to_owned());
        match single(headers, &ORIGIN).map_err(|_| refused())? {
            Some(origin) if !self.accepts_origin(origin) => Err(refused()),
            _ => Ok(()),
        }
    }

    fn accepts_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")).and_then(host_of);
        self.origins.contains(&origin) || host.is_some_and(|host| self.hosts.contains(&host))
    }
}

/// Returns the name of a host, without its port and in lower case.
fn host_of(authority: &str) -> Option<String> {
    let authority = Authority::from_str(authority).ok().filter(|authority| !authority.as_str().contains('@'))?;
    Some(authority.host().to_ascii_lowercase())
}

/// Returns the value of a header that occurs at most once.
pub(super) fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(format!("the header {name} must occur once"));
    }
    value
        .to_str()
        .map(|value| Some(value.trim_matches([' ', '\t'])))
        .map_err(|_| format!("the header {name} is not text"))
}

/// Checks the length of each header.
pub(super) fn check_lengths(headers: &HeaderMap) -> Result<(), Refusal> {
    match headers.iter().find(|(name, value)| name.as_str().len() + value.len() > MAX_HTTP_HEADER_BYTES) {
        Some(_) => {
            let problem = format!("a header must have at most {MAX_HTTP_HEADER_BYTES} bytes");
            Err((StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, problem))
        }
        None => Ok(()),
    }
}

/// Checks the type and the encoding of a body, and that the client accepts both forms of a response.
pub(super) fn check_content(headers: &HeaderMap) -> Result<(), Refusal> {
    let unsupported = |problem: &str| Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, problem.to_owned()));
    let kind = single(headers, &CONTENT_TYPE).ok().flatten().unwrap_or_default();
    if !media_type(kind).eq_ignore_ascii_case("application/json") {
        return unsupported("Content-Type must be application/json");
    }
    if headers.get_all(CONTENT_ENCODING).iter().any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return unsupported("Content-Encoding must be identity");
    }
    if !accepts(headers, "application/json") || !accepts(headers, "text/event-stream") {
        let problem = "Accept must have application/json and text/event-stream".to_owned();
        return Err((StatusCode::NOT_ACCEPTABLE, problem));
    }
    Ok(())
}

/// Returns whether a client accepts a type. A client without the header accepts all types.
pub(super) fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    if !headers.contains_key(ACCEPT) {
        return true;
    }
    let group = wanted.split('/').next().unwrap_or_default();
    let ranges =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    ranges.map(media_type).any(|range| {
        let is_group = range.strip_suffix("/*").is_some_and(|range| range.eq_ignore_ascii_case(group));
        range == "*/*" || is_group || range.eq_ignore_ascii_case(wanted)
    })
}

/// Returns the type without its parameters.
fn media_type(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

/// Checks that the headers of a request of the modern era repeat members of the body.
pub(super) fn check_modern(
    headers: &HeaderMap,
    method: &str,
    params: Option<&RawValue>,
    tools: impl FnOnce(&str) -> Option<ParamHeaders>,
) -> Result<(), RpcError> {
    let version = envelope::version(params).unwrap_or_default();
    if routing(headers, &VERSION)?.as_deref() != Some(&version) {
        return Err(errors::header_mismatch("MCP-Protocol-Version must be the version in params._meta"));
    }
    if routing(headers, &METHOD)?.as_deref() != Some(method) {
        return Err(errors::header_mismatch("Mcp-Method must be the method"));
    }
    let Some(member_name) = named_param(method) else { return Ok(()) };
    let Some(name) = params.and_then(|params| member::<String>(params, member_name)) else { return Ok(()) };
    if routing(headers, &NAME)?.as_deref() != Some(&*name) {
        return Err(errors::header_mismatch(format!("Mcp-Name must be params.{member_name}")));
    }
    let Some(tool) = tools(&name).filter(|_| method == "tools/call") else { return Ok(()) };
    let arguments = params.and_then(|params| member::<Text>(params, "arguments"));
    let arguments = arguments.and_then(|text| serde_json::from_str(text.get()).ok()).unwrap_or_default();
    for (header, expected) in tool.texts(&name, &Json::from(&arguments)) {
        let name =
            HeaderName::from_bytes(header.as_bytes()).map_err(|error| errors::header_mismatch(error.to_string()))?;
        if routing(headers, &name)? != expected {
            return Err(errors::header_mismatch(format!("{header} must be the argument of the tool")));
        }
    }
    Ok(())
}

/// Returns the decoded value of a header that repeats a member of the body.
fn routing(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, RpcError> {
    let invalid = || errors::header_mismatch(format!("the header {name} must have valid Base64"));
    let value = single(headers, name).map_err(errors::header_mismatch)?;
    value.map(|value| decode_value(value).ok_or_else(invalid)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_hosts_and_their_origins_are_accepted() {
        let access = Access::default();
        let uri = Uri::from_static("/mcp");
        let check = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            for (name, value) in [(HOST, Some(host)), (ORIGIN, origin)] {
                if let Some(value) = value.and_then(|value| value.parse().ok()) {
                    headers.insert(name, value);
                }
            }
            access.check(&uri, &headers).err().map_or(200, |(status, _)| status.as_u16())
        };
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:3000", "[::1]", "[::1]:3000"] {
            assert_eq!(check(host, None), 200, "{host}");
        }
        for host in ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "x@localhost", "[::2]"]
        {
            assert_eq!(check(host, None), 421, "{host}");
        }
        for origin in ["http://localhost", "https://LocalHost:3000", "http://127.0.0.1:1", "http://[::1]:1"] {
            assert_eq!(check("localhost", Some(origin)), 200, "{origin}");
        }
        for origin in
            ["null", "", "http://evil.example", "http://localhost.evil.example", "http://x@localhost", "file://"]
        {
            assert_eq!(check("localhost", Some(origin)), 403, "{origin}");
        }
    }

    #[test]
    fn both_forms_of_a_response_must_be_accepted() {
        for (value, expected) in [
            ("application/json, text/event-stream", true),
            ("text/event-stream;q=0.5,application/JSON;q=1", true),
            ("*/*", true),
            ("application/*, text/*", true),
            ("application/json", false),
            ("text/event-stream", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, "application/json; charset=utf-8".parse().unwrap_or_else(|_| unreachable!()));
            headers.insert(ACCEPT, value.parse().unwrap_or_else(|_| unreachable!()));
            assert_eq!(check_content(&headers).is_ok(), expected, "{value}");
        }
    }
}
