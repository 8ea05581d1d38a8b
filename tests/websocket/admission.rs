//! The admission of WebSockets: the headers `Host` and `Origin`, the check of the application, and the number of
//! connections.

use std::net::SocketAddr;

use portway::{Admission, Client, Context, Listener, Refusal, RpcError, WebSocketOptions, WebSocketPolicy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::raw::{RawClient, Test, request, serve, within};

/// Returns the status of the response to a request with these headers.
async fn status(address: SocketAddr, host: &str, headers: &str) -> std::io::Result<u16> {
    let (mut client, head) = RawClient::ask(address, &request(host, headers)).await?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    if status == 101 {
        client.assert_served().await.map_err(|error| std::io::Error::other(error.to_string()))?;
    } else {
        // The server must not upgrade the connection, and must close it.
        assert!(!head.to_ascii_lowercase().contains("sec-websocket-accept"), "{head}");
        while within(client.stream.read(&mut [0; 100])).await?? > 0 {}
    }
    Ok(status)
}

#[tokio::test]
async fn a_host_that_is_not_served_is_refused_before_the_upgrade() -> Test {
    let address = serve(WebSocketPolicy::new()).await?;
    let port = address.port();
    for host in ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.0.0.2"] {
        assert_eq!(status(address, &format!("{host}:{port}"), "").await?, 101, "{host}");
    }
    let other_port = port.wrapping_add(1);
    for host in [
        // DNS rebinding: a name of the attacker resolves to the address of the server.
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("evil.example:{port}@localhost:{port}"),
        format!("localhost:{other_port}"),
        "localhost".to_owned(),
        "localhost:".to_owned(),
        format!("10.0.0.1:{port}"),
        format!("[::2]:{port}"),
        format!("0x7f.1:{port}"),
        format!("2130706433:{port}"),
        format!("127.1:{port}"),
        format!("localhost.:{port}"),
    ] {
        let origin = format!("Origin: http://{host}\r\n");
        assert_eq!(status(address, &host, "").await?, 403, "{host}");
        assert_eq!(status(address, &host, &origin).await?, 403, "{host} as host and origin");
    }
    // The first request has two headers `Host`, and the second request has none.
    let own_host = format!("localhost:{port}");
    assert_eq!(status(address, &own_host, "Host: evil.example\r\n").await?, 400);
    let (_, head) = RawClient::ask(address, &request("x", "").replace("Host: x\r\n", "")).await?;
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    // In this request, the URL and the header `Host` have different hosts.
    let absolute = request(&own_host, "").replace("GET /rpc", "GET http://evil.example/rpc");
    let (_, head) = RawClient::ask(address, &absolute).await?;
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    Ok(())
}

#[tokio::test]
async fn a_configured_host_is_served_at_any_port_unless_it_names_a_port() -> Test {
    let address = serve(WebSocketPolicy::new().host("rpc.example.org").host("other.example:8443")).await?;
    for (host, expected) in [
        ("rpc.example.org", 101),
        ("RPC.example.org:443", 101),
        ("other.example:8443", 101),
        ("other.example", 403),
        ("other.example:443", 403),
        ("example.org", 403),
        ("evil-rpc.example.org", 403),
    ] {
        assert_eq!(status(address, host, "").await?, expected, "{host}");
    }
    Ok(())
}

#[tokio::test]
async fn a_foreign_origin_is_refused_before_the_upgrade() -> Test {
    let address = serve(WebSocketPolicy::new().origin("https://app.example.org")).await?;
    let host = address.to_string();
    for origin in [format!("http://{host}"), format!("https://{host}"), "https://app.example.org".to_owned()] {
        assert_eq!(status(address, &host, &format!("Origin: {origin}\r\n")).await?, 101, "{origin}");
    }
    for origin in [
        "https://evil.example",
        "https://app.example.org.evil.example",
        "https://app.example.org:8443",
        "http://app.example.org",
        "https://evil.app.example.org",
        "https://10.0.0.1",
        "file://",
        "null",
        "",
        "chrome-extension://abc",
        // Pages from other ports of this machine.
        "http://127.0.0.1:1",
        "http://localhost",
    ] {
        assert_eq!(status(address, &host, &format!("Origin: {origin}\r\n")).await?, 403, "{origin:?}");
    }
    let both = "Origin: https://app.example.org\r\nOrigin: https://evil.example\r\n";
    assert_eq!(status(address, &host, both).await?, 400);
    // A program that is not a browser sends no header `Origin`.
    assert_eq!(status(address, &host, "").await?, 101);
    Ok(())
}

#[tokio::test]
async fn a_policy_may_admit_the_origin_null_and_may_require_an_origin() -> Test {
    let address = serve(WebSocketPolicy::new().origin("null").require_origin()).await?;
    let host = address.to_string();
    assert_eq!(status(address, &host, "Origin: null\r\n").await?, 101);
    assert_eq!(status(address, &host, "Origin: https://evil.example\r\n").await?, 403);
    assert_eq!(status(address, &host, "").await?, 403);
    Ok(())
}

#[tokio::test]
async fn the_check_of_the_application_reads_the_head_and_refuses_or_attaches_an_identity() -> Test {
    let policy = WebSocketPolicy::new().check(|head| async move {
        assert_eq!(head.path(), "/rpc");
        assert!(head.remote_address().ip().is_loopback());
        assert!(!format!("{head:?}").contains("horse"), "{head:?}");
        if head.has_token("correct horse") {
            return Ok(Admission::with_identity("ada".to_owned()));
        }
        Err(if head.header("Cookie") == Some("banned=1") { Refusal::Forbidden } else { Refusal::Unauthorized })
    });
    let listener = Listener::websocket_with("127.0.0.1:0", policy).await?;
    let address = listener.address().ok_or("the listener must have an address")?;
    tokio::spawn(listener.serve(|peer| {
        assert_eq!(peer.identity::<String>().as_deref().map(String::as_str), Some("ada"));
        assert_eq!(peer.identity::<u32>(), None);
        crate::raw::register_methods(peer);
        peer.method_sync("who", |(): (), context: Context| {
            context.identity::<String>().map(|name| (*name).clone()).ok_or_else(|| RpcError::internal("no identity"))
        });
    }));
    let host = address.to_string();
    assert_eq!(status(address, &host, "").await?, 401);
    assert_eq!(status(address, &host, "Cookie: banned=1\r\n").await?, 403);
    for wrong in ["correct hors", "correct horsf", "correct horse2", "", "Correct horse"] {
        assert_eq!(status(address, &host, &format!("Authorization: Bearer {wrong}\r\n")).await?, 401, "{wrong}");
    }
    assert_eq!(status(address, &host, "Authorization: Basic correct horse\r\n").await?, 401);
    assert_eq!(status(address, &host, "Authorization: bearer correct horse\r\n").await?, 101);
    // A page cannot set headers, so it sends the token as a subprotocol. The response must not contain the token.
    let protocols = "Sec-WebSocket-Protocol: jsonrpc-2.0, ticket.correct horse\r\n";
    let (_, head) = RawClient::ask(address, &request(&host, protocols)).await?;
    assert!(head.contains("Sec-WebSocket-Protocol: jsonrpc-2.0\r\n") && !head.contains("horse"), "{head}");
    let options = WebSocketOptions::new().header("Authorization", "Bearer correct horse");
    let client = Client::new(options.connect(&format!("ws://{address}/rpc")).await?);
    assert_eq!(client.call::<String>("who", &()).await?, "ada");
    Ok(())
}

#[tokio::test]
async fn a_panic_in_the_check_of_the_application_ends_only_one_connection() -> Test {
    let policy = WebSocketPolicy::new().check(|head| async move {
        assert_ne!(head.header("X-Panic"), Some("1"), "a panic on purpose");
        Ok(Admission::anonymous())
    });
    let address = serve(policy).await?;
    let host = address.to_string();
    let panicked = RawClient::ask(address, &request(&host, "X-Panic: 1\r\n")).await;
    assert!(panicked.is_err(), "the server must close the connection");
    assert_eq!(status(address, &host, "").await?, 101);
    Ok(())
}

#[tokio::test]
async fn the_server_chooses_a_subprotocol_that_it_knows_and_no_other() -> Test {
    let address = serve(WebSocketPolicy::new().subprotocol("lsp")).await?;
    let host = address.to_string();
    for (offered, chosen) in [
        ("jsonrpc-2.0", Some("jsonrpc-2.0")),
        ("other, lsp", Some("lsp")),
        ("lsp, jsonrpc-2.0", Some("lsp")),
        ("other", None),
        ("JSONRPC-2.0", None),
    ] {
        let (_, head) =
            RawClient::ask(address, &request(&host, &format!("Sec-WebSocket-Protocol: {offered}\r\n"))).await?;
        let line = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Protocol: "));
        assert_eq!(line, chosen, "{offered}");
        assert!(!head.to_ascii_lowercase().contains("sec-websocket-extensions"), "{head}");
    }
    // Browsers offer compression. The server must not accept it.
    let deflate = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n";
    let (mut client, head) = RawClient::ask(address, &request(&host, deflate)).await?;
    assert!(head.starts_with("HTTP/1.1 101 ") && !head.to_ascii_lowercase().contains("extensions"), "{head}");
    client.assert_served().await
}

#[tokio::test]
async fn the_number_of_connections_is_bounded_in_total_and_per_address() -> Test {
    let address = serve(WebSocketPolicy::new().max_connections(5).max_connections_per_address(2)).await?;
    let host = address.to_string();
    let first = RawClient::open(address).await?;
    let mut second = RawClient::open(address).await?;
    assert_eq!(status(address, &host, "").await?, 503);
    // The limit for one address does not count the connections from another address.
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind("127.0.0.9:0".parse()?)?;
    let mut other = socket.connect(address).await?;
    other.write_all(request(&host, "").as_bytes()).await?;
    let mut head = [0; 12];
    within(other.read_exact(&mut head)).await??;
    assert_eq!(&head, b"HTTP/1.1 101");
    drop(first);
    // The server admits another connection once it has noticed the end of the first connection.
    within(async {
        while status(address, &host, "").await? != 101 {
            tokio::task::yield_now().await;
        }
        std::io::Result::Ok(())
    })
    .await??;
    second.assert_served().await?;
    drop(other);

    let address = serve(WebSocketPolicy::new().max_connections(2)).await?;
    let mut first = RawClient::open(address).await?;
    // A connection with an incomplete head of a request also counts, until another client needs its place.
    let mut silent = tokio::net::TcpStream::connect(address).await?;
    let mut second = RawClient::open(address).await?;
    assert_eq!(within(silent.read(&mut [0])).await??, 0);
    assert_eq!(status(address, &address.to_string(), "").await?, 503);
    first.assert_served().await?;
    second.assert_served().await
}
