//! Silent peers, incomplete messages, and pings.

use std::time::Duration;

use portway::{CallError, Client, Closed, Context, Limits, RpcError, Server, Transport, WebSocketPolicy};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::{Instant, timeout};

use crate::raw::{FINAL, PING, PONG, RawClient, TEXT, Test, frame, header, register_methods, serve};

/// A ping from a server, without a payload.
const EMPTY_PING: [u8; 2] = [FINAL | PING, 0];

fn server(stream: DuplexStream) -> std::io::Result<Server> {
    let server = Server::new(Transport::upgraded(stream)?);
    server.method("echo", |value: Value, _: Context| async move { Ok::<_, RpcError>(value) });
    Ok(server)
}

/// Reads a frame of the server that has no payload.
async fn read_empty(stream: &mut DuplexStream) -> std::io::Result<[u8; 2]> {
    let mut frame = [0; 2];
    stream.read_exact(&mut frame).await?;
    Ok(frame)
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_gets_a_ping_and_the_link_ends_if_no_pong_arrives() -> Test {
    let (near, mut far) = tokio::io::duplex(4_096);
    let start = Instant::now();
    let running = tokio::spawn(server(near)?.run());
    assert_eq!(read_empty(&mut far).await?, EMPTY_PING);
    assert_eq!(start.elapsed().as_secs(), 20);
    let end = running.await?;
    assert_eq!(start.elapsed().as_secs(), 41);
    let Closed::Io(std::io::ErrorKind::TimedOut, problem) = end else { return Err(format!("{end:?}").into()) };
    assert_eq!(problem, "the peer was silent for 41 s and did not answer a ping");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_pong_or_any_other_frame_keeps_the_link_open() -> Test {
    let (near, mut far) = tokio::io::duplex(4_096);
    let start = Instant::now();
    let running = tokio::spawn(server(near)?.run());
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"echo","params":[]}"#;
    let replies = [frame(FINAL | PONG, b""), frame(FINAL | PONG, b"unasked"), frame(FINAL | TEXT, call)];
    for reply in replies.iter().cycle().take(30) {
        assert_eq!(read_empty(&mut far).await?, EMPTY_PING);
        tokio::time::sleep(Duration::from_secs(19)).await;
        far.write_all(reply).await?;
        if reply[0] == FINAL | TEXT {
            let response = r#"{"jsonrpc":"2.0","id":1,"result":[]}"#;
            let mut read = vec![0; response.len() + 2];
            far.read_exact(&mut read).await?;
            assert_eq!(&read[2..], response.as_bytes());
        }
    }
    assert!(start.elapsed() > Duration::from_secs(30 * 38));
    assert!(!running.is_finished());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_client_notices_a_silent_server_and_its_calls_fail() -> Test {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_buf(&mut head).await?;
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap_or_default();
        let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
        let response = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        stream.write_all(response.as_bytes()).await?;
        std::future::pending::<()>().await;
        std::io::Result::Ok(())
    });
    // The paused clock advances whenever all tasks wait, even for a socket. So the timeout for connecting is long.
    let options = portway::WebSocketOptions::new().connect_timeout(Duration::from_secs(100_000));
    let client = Client::new(options.connect(&format!("ws://{address}")).await?);
    let error = client.call::<()>("never", &()).timeout(Duration::from_secs(100_000)).await;
    assert!(matches!(error, Err(CallError::Lost(Closed::Io(std::io::ErrorKind::TimedOut, _)))), "{error:?}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_message_that_stays_incomplete_closes_the_link_with_1008() -> Test {
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"echo","params":[]}"#;
    let whole = frame(FINAL | TEXT, call);
    for (name, incomplete) in [
        ("a header", whole[..1].to_vec()),
        ("a part of a frame", whole[..20].to_vec()),
        ("a fragment", frame(TEXT, call)),
        ("the header of a long frame", header(FINAL | TEXT, 0x80, 1_000_000)),
        ("a part of a ping", frame(FINAL | PING, b"12345")[..4].to_vec()),
    ] {
        let (near, mut far) = tokio::io::duplex(4_096);
        let start = Instant::now();
        let running = tokio::spawn(server(near)?.run());
        far.write_all(&incomplete).await?;
        let mut read = Vec::new();
        far.read_to_end(&mut read).await?;
        assert_eq!(start.elapsed().as_secs(), 30, "{name}");
        // The server sends a ping after 20 seconds, and then the close frame.
        let close = read.strip_prefix(&EMPTY_PING).ok_or("the server must send a ping first")?;
        assert_eq!(close[0], 0x88, "{name}");
        assert_eq!(u16::from_be_bytes([close[2], close[3]]), 1008, "{name}");
        drop(far);
        assert!(matches!(running.await?, Closed::WebSocket { code: 1008, .. }), "{name}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_a_fragmented_message_counts_from_its_first_fragment() -> Test {
    let (near, mut far) = tokio::io::duplex(4_096);
    let running = tokio::spawn(server(near)?.run());
    // The peer sends fragments with pings between them. The timeout counts from the first fragment.
    let start = Instant::now();
    far.write_all(&frame(TEXT, b"[")).await?;
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        far.write_all(&frame(0, b" ")).await?;
        far.write_all(&frame(FINAL | PING, b"")).await?;
    }
    assert!(matches!(running.await?, Closed::WebSocket { code: 1008, .. }));
    // The timeout is 30 s. A grace of 2 s follows, since the peer does not close the stream.
    assert_eq!(start.elapsed().as_secs(), 32);
    Ok(())
}

#[tokio::test]
async fn incomplete_messages_do_not_disturb_other_clients() -> Test {
    let address = serve(WebSocketPolicy::new()).await?;
    let mut incomplete_clients = Vec::new();
    for _ in 0..100 {
        let mut client = RawClient::open(address).await?;
        client.send(&header(FINAL | TEXT, 0x80, 1_000_000)).await?;
        client.send(&[b'x'; 1_000]).await?;
        incomplete_clients.push(client);
    }
    RawClient::open(address).await?.assert_served().await
}

#[tokio::test]
async fn a_flood_of_pings_does_not_fill_the_memory() -> Test {
    let (near, mut far) = tokio::io::duplex(1_024);
    let server = server(near)?;
    tokio::spawn(server.run());
    // The server stops reading after a bounded number of pings, since the peer does not read the pongs.
    let ping = frame(FINAL | PING, &[b'x'; 125]);
    let mut sent = 0;
    while timeout(Duration::from_secs(2), far.write_all(&ping)).await.is_ok() {
        sent += 1;
        assert!(sent < 10_000, "the server must stop reading pings");
    }
    assert!((100..1_000).contains(&sent), "{sent} pings");
    // Once the peer reads, it receives the pongs.
    let mut pongs = vec![0; 100 * 127];
    timeout(Duration::from_secs(60), far.read_exact(&mut pongs)).await??;
    assert_eq!(&pongs[..2], [FINAL | PONG, 125]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_link_of_a_silent_peer_that_reads_nothing_times_out() -> Test {
    let (near, mut far) = tokio::io::duplex(1_024);
    let mut limits = Limits::DEFAULT;
    limits.unwritten_bytes = 10_000;
    let server = Server::new(Transport::upgraded(near)?.with_limits(limits));
    server.method_sync("large", |(): (), _: Context| Ok::<_, RpcError>("x".repeat(8_000)));
    let start = Instant::now();
    let running = tokio::spawn(server.run());
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"large"}"#;
    for _ in 0..5 {
        far.write_all(&frame(FINAL | TEXT, call)).await?;
    }
    let end = running.await?;
    assert!(matches!(end, Closed::Io(std::io::ErrorKind::TimedOut, _)), "{end:?}");
    assert!((41..45).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_link_stays_open_while_the_peer_reads_slowly() -> Test {
    let (near, mut far) = tokio::io::duplex(1_024);
    let server = Server::new(Transport::upgraded(near)?);
    server.method_sync("large", |(): (), _: Context| Ok::<_, RpcError>("x".repeat(50_000)));
    let running = tokio::spawn(server.run());
    far.write_all(&frame(FINAL | TEXT, br#"{"jsonrpc":"2.0","id":1,"method":"large"}"#)).await?;
    let start = Instant::now();
    let mut read = 0;
    while read < 50_000 {
        tokio::time::sleep(Duration::from_secs(15)).await;
        read += far.read(&mut [0; 1_024]).await?;
        assert!(!running.is_finished(), "after {read} bytes and {:?}", start.elapsed());
    }
    assert!(start.elapsed() > Duration::from_secs(700));
    Ok(())
}

#[tokio::test]
async fn a_stopped_peer_closes_the_websocket_with_1001() -> Test {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let listener = portway::Listener::websocket("127.0.0.1:0").await?;
    let address = listener.address().ok_or("the listener must have an address")?;
    let running = tokio::spawn(async move {
        let peer = portway::Peer::new(listener.accept().await?);
        register_methods(&peer);
        let _ = sender.send(peer.stopper());
        std::io::Result::Ok(peer.run().await)
    });
    let mut client = RawClient::open(address).await?;
    client.assert_served().await?;
    receiver.await?.stop();
    assert_eq!(client.closed().await?.0, 1001);
    drop(client);
    assert_eq!(running.await??, Closed::Local);
    Ok(())
}
