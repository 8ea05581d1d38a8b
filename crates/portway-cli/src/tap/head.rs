//! The head of the request that opens a WebSocket. The command changes Host to the host of the server. It changes
//! Origin to the origin of the server only if a page of the command's own address has sent the request.

use std::borrow::Cow;
use std::net::IpAddr;

use super::address::WebSocketAddress;

/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

/// Returns the position after the head, or `None` if the head is not complete.
pub(super) fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(END.len()).position(|window| window == END).map(|at| at + END.len())
}

/// Returns the head for the server `to`.
///
/// The host in the head must be an IP address, `localhost` or the host of `listen`. An attacker can have the host name
/// of a web page resolve to this machine. The server could not notice this, because `Host` is replaced.
///
/// # Errors
/// If `Host` is missing, occurs twice, or has another value.
pub(super) fn for_server(head: &[u8], listen: &WebSocketAddress, to: &WebSocketAddress) -> Result<Vec<u8>, String> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.trim_end_matches("\r\n").split("\r\n");
    let request = lines.next().unwrap_or_default();
    let headers: Vec<(&str, &str)> =
        lines.map(|line| line.split_once(':').map_or((line, ""), |(name, value)| (name, value.trim()))).collect();
    let mut hosts = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| *host);
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err("the request must have one header Host".to_owned());
    };
    if !is_own_host(host, &listen.authority) {
        return Err(format!("Host must be an IP address, localhost or the host of --listen, got {host}"));
    }
    let own_origin = format!("http://{host}");
    let mut out = format!("{}\r\n", request_for(request, to));
    for (name, value) in headers {
        let value = match name.to_ascii_lowercase().as_str() {
            "host" => Cow::from(&to.authority),
            "origin" if value.eq_ignore_ascii_case(&own_origin) => format!("http://{}", to.authority).into(),
            // Compressed messages could not be recorded.
            "sec-websocket-extensions" => continue,
            _ => value.into(),
        };
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    out.push_str("\r\n");
    Ok(out.into_bytes())
}

/// Returns the request line for the server. If the client requests the path `/`, the path of `--to` replaces this path.
fn request_for(line: &str, to: &WebSocketAddress) -> String {
    let mut words = line.split(' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(method), Some("/"), Some(version), None) => format!("{method} {} {version}", to.path),
        _ => line.to_owned(),
    }
}

fn is_own_host(host: &str, listen: &str) -> bool {
    let name = |authority: &str| {
        let name = match authority.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => authority,
        };
        name.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase()
    };
    let name_of_host = name(host);
    name_of_host == "localhost" || name_of_host.parse::<IpAddr>().is_ok() || name_of_host == name(listen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(head: &str, path: &str) -> Result<String, String> {
        let listen = WebSocketAddress { authority: "dev.test:9000".into(), path: "/".into() };
        let to = WebSocketAddress { authority: "127.0.0.1:8080".into(), path: path.into() };
        for_server(head.as_bytes(), &listen, &to).map(|head| String::from_utf8_lossy(&head).into_owned())
    }

    #[test]
    fn host_and_own_origin_become_those_of_the_server() {
        let head = "GET /a?b HTTP/1.1\r\nhost: localhost:9000\r\nOrigin: http://localhost:9000\r\nX: a:b\r\n\
                    Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
        let expected = "GET /a?b HTTP/1.1\r\nhost: 127.0.0.1:8080\r\nOrigin: http://127.0.0.1:8080\r\nX: a:b\r\n\r\n";
        assert_eq!(rewritten(head, "/rpc"), Ok(expected.to_owned()));
        // Another origin does not change. The path of `--to` replaces the path `/`.
        let head = "GET / HTTP/1.1\r\nHost: [::1]:9000\r\nOrigin: https://app.example.org\r\n\r\n";
        let expected = "GET /rpc HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nOrigin: https://app.example.org\r\n\r\n";
        assert_eq!(rewritten(head, "/rpc"), Ok(expected.to_owned()));
        assert!(rewritten("GET / HTTP/1.1\r\nHost: DEV.test\r\n\r\n", "/").is_ok());
    }

    #[test]
    fn a_foreign_host_is_refused() {
        for head in [
            "GET / HTTP/1.1\r\nHost: evil.example:9000\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        ] {
            assert!(rewritten(head, "/").is_err(), "{head}");
        }
    }
}
