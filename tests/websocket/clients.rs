//! Clients: the handshake, its errors, and calls in both directions.

use std::io;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use portway::{
    CallError, Client, Closed, Context, Listener, Peer, RpcError, Transport, WebSocketOptions, WebSocketPolicy,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::raw::{Test, register_methods, serve, within};

#[tokio::test]
async fn calls_streams_and_notifications_pass_in_both_directions() -> Test {
    let listener = Listener::websocket("127.0.0.1:0").await?;
    let address = listener.address().ok_or("the listener must have an address")?;
    tokio::spawn(listener.serve(|peer| {
        let client = peer.client().clone();
        peer.method("twice", move |(text,): (String,), _: Context| {
            let client = client.clone();
            async move { client.call::<String>("shout", &(format!("{text}{text}"),)).await }
        });
        peer.stream_method("count", |(to,): (u32,), _: Context| {
            futures_util::stream::iter((0..to).map(Ok::<_, RpcError>))
        });
    }));
    let peer = Peer::new(Transport::websocket(&format!("ws://{address}/any?query=1")).await?);
    peer.method_sync("shout", |(text,): (String,), _: Context| Ok::<_, RpcError>(text.to_uppercase()));
    assert_eq!(within(peer.call::<String>("twice", &("ab",)).into_future()).await??, "ABAB");
    let items: Vec<_> = within(peer.stream::<u32>("count", &(1_000,)).collect::<Vec<_>>()).await?;
    let items: Result<Vec<u32>, CallError> = items.into_iter().collect();
    assert_eq!(items?, (0..1_000).collect::<Vec<_>>());
    Ok(())
}

#[tokio::test]
async fn messages_of_any_length_arrive_whole() -> Test {
    let address = serve(WebSocketPolicy::new()).await?;
    let client = Client::new(Transport::websocket(&format!("ws://{address}")).await?);
    // At some of these lengths, the header of a frame grows. Long messages are sent in fragments.
    for length in [0, 60, 61, 100, 65_400, 65_500, 65_536, 131_072, 200_000, 5_000_000] {
        for text in ["x".repeat(length), "ä😀".repeat(length / 6)] {
            let echo = client.call::<(String,)>("echo", &(&text,)).timeout(Duration::from_secs(60)).await?;
            assert!(echo.0 == text, "{length}");
        }
    }
    // The client makes many calls at the same time, so that long and short messages are queued together.
    let calls = (0..200).map(|number: usize| {
        let text = "y".repeat(if number.is_multiple_of(10) { 300_000 } else { number });
        let client = client.clone();
        async move {
            let echo = client.call::<(String,)>("echo", &(&text,)).timeout(Duration::from_secs(60)).await?;
            assert!(echo.0 == text, "{number}");
            Ok::<_, CallError>(())
        }
    });
    for outcome in futures_util::future::join_all(calls).await {
        outcome?;
    }
    Ok(())
}

#[tokio::test]
async fn a_close_frame_ends_calls_with_an_error_that_depends_on_its_code() -> Test {
    for (code, reason, is_gone) in [(1000u16, "", true), (1001, "", true), (1011, "broken", false), (4001, "", false)] {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await?;
            accept_by_hand(&mut stream, "").await?;
            let payload = [&code.to_be_bytes()[..], reason.as_bytes()].concat();
            stream.write_all(&[&[0x88, payload.len() as u8][..], &payload].concat()).await?;
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await?;
            io::Result::Ok(rest)
        });
        let client = Client::new(Transport::websocket(&format!("ws://{address}/")).await?);
        let error = client.call::<()>("never", &()).await;
        let closed = Closed::WebSocket { code, reason: reason.to_owned() };
        let expected = if is_gone { CallError::PeerGone } else { CallError::Lost(closed.clone()) };
        assert_eq!(error, Err(expected));
        assert_eq!(within(client.closed()).await?, closed);
        let sent = within(server).await???;
        // The last frame of the client is its close frame, which is masked and has the same code.
        let frame = sent.get(sent.len() - 8 - reason.len()..).ok_or("the client must answer with a close frame")?;
        assert_eq!(frame[0], 0x88);
        assert_eq!(u16::from_be_bytes([frame[6] ^ frame[2], frame[7] ^ frame[3]]), code);
    }
    Ok(())
}

#[tokio::test]
async fn a_dropped_client_closes_the_websocket_with_1000() -> Test {
    let (sender, mut ends) = tokio::sync::mpsc::unbounded_channel();
    let listener = Listener::websocket("127.0.0.1:0").await?;
    let address = listener.address().ok_or("the listener must have an address")?;
    tokio::spawn(async move {
        while let Ok(transport) = listener.accept().await {
            let sender = sender.clone();
            let peer = Peer::new(transport);
            register_methods(&peer);
            tokio::spawn(async move { sender.send(peer.run().await) });
        }
    });
    let client = Client::new(Transport::websocket(&format!("ws://{address}")).await?);
    assert_eq!(client.call::<(u8,)>("echo", &(1,)).await?, (1,));
    drop(client);
    let end = within(ends.recv()).await?;
    assert_eq!(end, Some(Closed::WebSocket { code: 1000, reason: String::new() }));
    Ok(())
}

#[tokio::test]
async fn connecting_to_a_server_that_never_completes_its_response_times_out() -> Test {
    // The server sends one byte every 100 ms, and never completes its response.
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                for byte in b"HTTP/1.1 101 Switching Protocols\r\n".iter().cycle() {
                    if stream.write_all(&[*byte]).await.is_err() {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            });
        }
    });
    let start = Instant::now();
    let options = WebSocketOptions::new().connect_timeout(Duration::from_millis(300));
    let outcome = options.connect(&format!("ws://{address}/?key=secret")).await;
    let error = outcome.err().ok_or("the handshake must time out")?;
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(error.to_string(), format!("{address}: the WebSocket did not open within 300 ms"));
    assert!(start.elapsed() < Duration::from_secs(10));
    let error =
        within(Transport::websocket(&format!("ws://{address}/"))).await?.err().ok_or("the handshake must time out")?;
    assert_eq!(error.to_string(), format!("{address}: the WebSocket did not open within 10000 ms"));
    assert!(start.elapsed() >= Duration::from_secs(10));
    Ok(())
}

#[tokio::test]
async fn connecting_to_a_port_without_a_listener_is_refused() -> Test {
    let error =
        within(Transport::websocket("ws://127.0.0.1:1/")).await?.err().ok_or("the connection must be refused")?;
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    Ok(())
}

#[tokio::test]
async fn an_invalid_response_to_the_handshake_is_refused() -> Test {
    for (name, change, problem) in [
        (
            "another status",
            "HTTP/1.1 101 Switching Protocols => HTTP/1.1 200 OK",
            "the server refused the WebSocket: 200 OK",
        ),
        (
            "401",
            "HTTP/1.1 101 Switching Protocols => HTTP/1.1 401 Unauthorized",
            "the server refused the WebSocket: 401 Unauthorized",
        ),
        (
            "no upgrade",
            "Upgrade: websocket => X-Upgrade: websocket",
            "the headers Connection: Upgrade and Upgrade: websocket",
        ),
        ("another key", "Sec-WebSocket-Accept: => Sec-WebSocket-Accept: x", "Sec-WebSocket-Accept does not fit"),
        (
            "an extension",
            "\r\n\r\n => \r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
            "an extension that was not offered",
        ),
        ("a subprotocol", "\r\n\r\n => \r\nSec-WebSocket-Protocol: lsp\r\n\r\n", "a subprotocol that was not offered"),
        ("a long head", "LONG", "the head of the response must have at most 8 KiB"),
        ("not HTTP", "HTTP/1.1 101 Switching Protocols => SSH-2.0-OpenSSH\n\n", "the response is not HTTP"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await?;
            accept_by_hand(&mut stream, change).await?;
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await
        });
        let options = WebSocketOptions::new().subprotocol("jsonrpc-2.0");
        let error = within(options.connect(&format!("ws://{address}/path?key=secret"))).await?.err();
        let text = error.ok_or_else(|| format!("{name}: the response was accepted"))?.to_string();
        assert!(text.starts_with(&format!("{address}: ")) && text.contains(problem), "{name}: {text}");
        assert!(!text.contains("secret") && !text.contains("path"), "{name}: {text}");
    }
    Ok(())
}

#[tokio::test]
async fn errors_of_urls_and_headers_contain_no_secret() -> Test {
    let options = WebSocketOptions::new().header("Authorization", "Bearer secret\n");
    for (error, expected) in [
        (Transport::websocket("http://localhost/?secret").await.err(), "the URL must begin with ws:// or wss://"),
        (Transport::websocket("ws://").await.err(), "the URL must be ws://HOST or wss://HOST, got an invalid URL"),
        (
            Transport::websocket("ws://user:secret@localhost/").await.err(),
            "the URL must not contain a user; use the header Authorization",
        ),
        (
            options.connect("ws://localhost/").await.err(),
            "the value of the header Authorization must be printable ASCII",
        ),
        (
            WebSocketOptions::new().header("Sec-WebSocket-Key", "secret").connect("ws://localhost/").await.err(),
            "the handshake sets the header Sec-WebSocket-Key; set subprotocols with `subprotocol`",
        ),
        (
            WebSocketOptions::new().header("a b", "secret").connect("ws://localhost/").await.err(),
            "the name of a header must be a token, got \"a b\"",
        ),
    ] {
        assert_eq!(error.ok_or("the connection must fail")?.to_string(), expected);
    }
    assert!(!format!("{options:?}").contains("secret"), "{options:?}");
    Ok(())
}

#[tokio::test]
async fn a_frame_that_is_masked_by_the_server_ends_the_link() -> Test {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        accept_by_hand(&mut stream, "").await?;
        stream.write_all(&crate::raw::frame(0x81, b"{}")).await?;
        stream.read_to_end(&mut Vec::new()).await
    });
    let client = Client::new(Transport::websocket(&format!("ws://{address}")).await?);
    let error = within(client.call::<()>("never", &()).into_future()).await?;
    assert!(matches!(error, Err(CallError::Lost(Closed::WebSocket { code: 1002, .. }))), "{error:?}");
    Ok(())
}

/// Reads a handshake request, and writes a response. The response is valid, except for `change`: `OLD => NEW` replaces
/// `OLD` by `NEW`, and `LONG` makes the response longer than its limit.
async fn accept_by_hand(stream: &mut tokio::net::TcpStream, change: &str) -> Result<(), io::Error> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap_or_default();
    let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
    let response = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    let response = match change.split_once(" => ") {
        Some((old, new)) => response.replace(old, new),
        None if change == "LONG" => response.replace("\r\n\r\n", &format!("\r\nX-Fill: {}\r\n\r\n", "x".repeat(9_000))),
        None => response,
    };
    stream.write_all(response.as_bytes()).await
}
