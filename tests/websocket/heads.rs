//! Heads of requests that are too long, that arrive too slowly, or that do not request a WebSocket.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use portway::WebSocketPolicy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::raw::{FINAL, RawClient, TEXT, Test, frame, request, serve, within};

/// Opens a connection, and sends bytes. Returns the text that the server sends before it closes the connection.
async fn response(address: SocketAddr, bytes: &[u8]) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let _ = stream.write_all(bytes).await;
    let mut text = Vec::new();
    match within(stream.read_to_end(&mut text)).await? {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => Err(error),
        _ => Ok(String::from_utf8_lossy(&text).into_owned()),
    }
}

#[tokio::test]
async fn a_head_over_8_kib_is_refused() -> Test {
    let address = serve(WebSocketPolicy::new()).await?;
    let host = address.to_string();
    let empty = request(&host, "X-Fill: \r\n").len();
    let head = |length: usize| request(&host, &format!("X-Fill: {}\r\n", "x".repeat(length - empty)));
    let (mut client, response_head) = RawClient::ask(address, &head(8_192)).await?;
    assert!(response_head.starts_with("HTTP/1.1 101 "), "{response_head}");
    client.assert_served().await?;
    for length in [8_193, 20_000, 1_000_000] {
        let refused = response(address, head(length).as_bytes()).await?;
        assert!(refused.starts_with("HTTP/1.1 431 "), "{length}: {refused}");
    }
    // This head is one line without an end.
    let refused = response(address, &[b'x'; 100_000]).await?;
    assert!(refused.starts_with("HTTP/1.1 431 "), "{refused}");
    Ok(())
}

#[tokio::test]
async fn requests_that_do_not_open_a_websocket_get_an_http_error() -> Test {
    let address = serve(WebSocketPolicy::new()).await?;
    let host = address.to_string();
    let valid_request = request(&host, "");
    for (name, bytes, status) in [
        ("a page", format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), 426),
        ("another version", valid_request.replace("Version: 13", "Version: 8"), 426),
        ("no upgrade", valid_request.replace("Upgrade: websocket\r\n", ""), 426),
        ("another upgrade", valid_request.replace("Upgrade: websocket", "Upgrade: h2c"), 426),
        ("no key", valid_request.replace("Sec-WebSocket-Key", "X-Key"), 400),
        ("a short key", valid_request.replace("dGhlIHNhbXBsZSBub25jZQ==", "dGhl"), 400),
        ("a POST", valid_request.replace("GET ", "POST "), 400),
        ("HTTP/1.0", valid_request.replace("HTTP/1.1", "HTTP/1.0"), 400),
        ("a byte that no head may contain", valid_request.replace("/rpc", "/rp\0c"), 400),
        ("not HTTP", "hello\r\n\r\n".to_owned(), 400),
        ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), 400),
    ] {
        let refused = response(address, bytes.as_bytes()).await?;
        assert!(refused.starts_with(&format!("HTTP/1.1 {status} ")), "{name}: {refused}");
        assert!(refused.contains("Connection: close\r\n"), "{name}: {refused}");
        if status == 426 {
            assert!(refused.contains("Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"), "{name}: {refused}");
        }
    }
    RawClient::open(address).await?.assert_served().await
}

#[tokio::test]
async fn a_message_right_after_the_head_is_served() -> Test {
    let address = serve(WebSocketPolicy::new()).await?;
    let mut stream = TcpStream::connect(address).await?;
    let call = br#"{"jsonrpc":"2.0","id":7,"method":"echo","params":[1]}"#;
    let bytes = [request(&address.to_string(), "").into_bytes(), frame(FINAL | TEXT, call)].concat();
    // This client writes all bytes at once. The next client writes one byte at a time.
    stream.write_all(&bytes).await?;
    let mut text = Vec::new();
    within(async {
        while !text.ends_with(br#"{"jsonrpc":"2.0","id":7,"result":[1]}"#) {
            if stream.read_buf(&mut text).await? == 0 {
                return Err(io::Error::other("closed"));
            }
        }
        Ok(())
    })
    .await??;
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    for byte in &bytes {
        stream.write_all(&[*byte]).await?;
    }
    let mut text = Vec::new();
    within(async {
        while !text.ends_with(br#"{"jsonrpc":"2.0","id":7,"result":[1]}"#) {
            if stream.read_buf(&mut text).await? == 0 {
                return Err(io::Error::other("closed"));
            }
        }
        Ok(())
    })
    .await??;
    Ok(())
}

#[tokio::test]
async fn connections_with_slow_heads_end_after_ten_seconds_and_other_clients_are_served() -> Test {
    let address = serve(WebSocketPolicy::new()).await?;
    let start = Instant::now();
    let mut slow = Vec::new();
    for number in 0..100 {
        let mut stream = TcpStream::connect(address).await?;
        // Clients with an even number send nothing. The other clients send the head slowly, byte by byte.
        let head = request(&address.to_string(), "");
        slow.push(tokio::spawn(async move {
            let (mut reader, mut writer) = stream.split();
            let sending = async {
                for byte in head.as_bytes().iter().take(head.len() - 1) {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    if number % 2 == 0 || writer.write_all(&[*byte]).await.is_err() {
                        break;
                    }
                }
                std::future::pending::<()>().await;
            };
            let mut text = Vec::new();
            tokio::select! {
                read = reader.read_to_end(&mut text) => read.map(|_| text),
                () = sending => Ok(Vec::new()),
            }
        }));
    }
    let mut served = 0;
    while !slow.iter().all(tokio::task::JoinHandle::is_finished) {
        RawClient::open(address).await?.assert_served().await?;
        served += 1;
        assert!(start.elapsed() < Duration::from_secs(60), "the server must close connections with slow heads");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(start.elapsed() >= Duration::from_secs(9), "the time was {:?}", start.elapsed());
    assert!(served > 10, "{served} other clients were served");
    for task in slow {
        if let Ok(text) = task.await? {
            let text = String::from_utf8_lossy(&text).into_owned();
            assert!(text.starts_with("HTTP/1.1 408 "), "{text:?}");
        }
    }
    Ok(())
}

/// Opens connections that send nothing, or only the beginning of a request.
async fn open_silent(address: SocketAddr, count: usize) -> io::Result<Vec<TcpStream>> {
    let mut silent = Vec::new();
    for number in 0..count {
        let mut stream = TcpStream::connect(address).await?;
        if number % 2 == 0 {
            stream.write_all(b"GET /rpc HTTP/1.1\r\nHost: ").await?;
        }
        silent.push(stream);
    }
    Ok(silent)
}

#[tokio::test]
async fn a_client_is_served_at_once_beside_300_silent_connections_that_exceed_a_limit() -> Test {
    for policy in [
        WebSocketPolicy::new().max_connections_per_address(64),
        WebSocketPolicy::new().max_connections(64),
        WebSocketPolicy::new(),
    ] {
        let address = serve(policy).await?;
        let mut earlier = RawClient::open(address).await?;
        // The shortest of three times counts, because other programs may delay a client.
        let mut shortest = Duration::MAX;
        for _ in 0..3 {
            let _silent = open_silent(address, 300).await?;
            let start = Instant::now();
            let mut client = RawClient::open(address).await?;
            client.assert_served().await?;
            shortest = shortest.min(start.elapsed());
            // A connection with a complete request keeps its place.
            open_silent(address, 300).await?;
            client.assert_served().await?;
            earlier.assert_served().await?;
        }
        assert!(shortest < Duration::from_secs(1), "{shortest:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_server_closes_a_refused_connection_that_the_client_keeps_open() -> Test {
    let address = serve(WebSocketPolicy::new()).await?;
    let start = Instant::now();
    let refused = response(address, request("evil.example", "").as_bytes()).await?;
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    let reason = "\r\n\r\nHost must be a name of this server; WebSocketPolicy::host or --host adds names\n";
    assert!(refused.ends_with(reason), "{refused}");
    // This client writes until a write fails, and does not close its connection. So the server must close it.
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request("evil.example", "").as_bytes()).await?;
    within(async {
        loop {
            if stream.write_all(b"x").await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await?;
    assert!(start.elapsed() >= Duration::from_secs(1), "the server must read a refused connection for one second");
    Ok(())
}
