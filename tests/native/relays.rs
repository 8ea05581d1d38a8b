//! Relays, which pass messages from one transport to another. Only the line ends between tokens are changed.

use std::convert::Infallible;
use std::error::Error;
use std::future::pending;
use std::time::{Duration, Instant};

use futures_channel::mpsc;
use futures_util::StreamExt;
use portway::{Client, Closed, Context, Framing, Limits, RpcError, Server, Transport};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::wire::{TEST_TIMEOUT, transport_with_remote_end_of};

type Test = Result<(), Box<dyn Error>>;

fn shell(script: &str, framing: Framing) -> std::io::Result<Transport> {
    Transport::child(Command::new("sh").args(["-c", script]), framing)
}

#[tokio::test]
async fn messages_pass_in_both_directions_between_any_framings() -> Test {
    for framing in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
        for other in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
            let pipe = |framing: Framing| {
                let (one, two) = tokio::io::duplex(1_000);
                let end = |stream| {
                    let (reader, writer) = tokio::io::split(stream);
                    Transport::new(reader, writer, framing)
                };
                std::io::Result::Ok((end(one)?, end(two)?))
            };
            let (client, left) = pipe(framing)?;
            let (right, server) = pipe(other)?;
            let server = Server::new(server);
            server.method_sync("echo", |value: Value, _: Context| Ok::<_, RpcError>(value));
            server.forget();
            let relay = tokio::spawn(left.relay(right, pending()));
            let client = Client::new(client);
            for length in [0, 100, 200_000] {
                let text = "ä".repeat(length);
                let echo = client.call::<(String,)>("echo", &(&text,)).timeout(TEST_TIMEOUT).await?;
                assert!(echo.0 == text, "{framing} {other} {length}");
            }
            drop(client);
            assert_eq!(timeout(TEST_TIMEOUT, relay).await??, Closed::End);
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_text_of_a_message_is_not_changed_except_for_line_ends() -> Test {
    let (transport, mut remote) = transport_with_remote_end_of(10_000, Framing::ContentLength)?;
    let (to_program, mut texts) = mpsc::channel::<String>(4);
    let other = Transport::messages(to_program, futures_util::stream::pending::<Result<String, Infallible>>())?;
    let relay = tokio::spawn(transport.relay(other, pending()));
    for (sent, expected) in [
        (r#"{ "id" : 12345678901234567890123, "x":1, "x":2 }"#, r#"{ "id" : 12345678901234567890123, "x":1, "x":2 }"#),
        ("{\r\n \"a\":\n1}", "{   \"a\": 1}"),
        ("not JSON", "not JSON"),
    ] {
        remote.send_bytes(format!("Content-Length: {}\r\n\r\n{sent}", sent.len()).as_bytes()).await?;
        assert_eq!(timeout(TEST_TIMEOUT, texts.next()).await?.as_deref(), Some(expected));
    }
    // A transport of whole messages has texts, so a message that is not UTF-8 ends the relay.
    remote.send_bytes(b"Content-Length: 3\r\n\r\n\"\xff\"").await?;
    let end = timeout(TEST_TIMEOUT, relay).await??;
    assert_eq!(end, Closed::Io(std::io::ErrorKind::InvalidData, "a message is not UTF-8".into()));
    Ok(())
}

#[tokio::test]
async fn a_relay_to_a_program_passes_messages_until_the_program_exits() -> Test {
    let (near, far) = tokio::io::duplex(1_000);
    let (reader, writer) = tokio::io::split(near);
    let script =
        r#"echo '{"jsonrpc":"2.0","method":"ready"}'; read -r line; echo a log line; printf '%s\n' "$line"; exit 3"#;
    let transport = Transport::new(reader, writer, Framing::ContentLength)?;
    let relay = tokio::spawn(transport.relay(shell(script, Framing::Newline)?, pending()));
    let (mut reader, mut writer) = tokio::io::split(far);
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#;
    writer.write_all(format!("Content-Length: {}\r\n\r\n{message}", message.len()).as_bytes()).await?;
    let mut output = String::new();
    timeout(TEST_TIMEOUT, reader.read_to_string(&mut output)).await??;
    let ready = r#"{"jsonrpc":"2.0","method":"ready"}"#;
    // The framing of the program is lines. So the relay also passes the log line, as a message between `ready` and
    // `message`.
    assert!(output.starts_with(&format!("Content-Length: {}\r\n\r\n{ready}", ready.len())), "{output}");
    assert!(output.ends_with(&format!("Content-Length: {}\r\n\r\n{message}", message.len())), "{output}");
    let end = timeout(TEST_TIMEOUT, relay).await??;
    let Closed::Exited(status) = end else { return Err(format!("{end:?}").into()) };
    assert_eq!(status.code(), Some(3));
    Ok(())
}

#[tokio::test]
async fn at_the_end_of_the_client_a_relay_ends_the_input_of_the_program_and_kills_it_after_the_grace() -> Test {
    // This program writes a last message after the end of its input.
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("seen");
    let script = format!("cat > {}; echo '{{\"last\":1}}' ", file.display());
    let (near, far) = tokio::io::duplex(1_000);
    let (reader, writer) = tokio::io::split(near);
    let transport = Transport::new(reader, writer, Framing::Newline)?;
    let relay = tokio::spawn(transport.relay(shell(&script, Framing::Newline)?, pending()));
    let (mut reader, mut writer) = tokio::io::split(far);
    writer.write_all(b"{\"first\":1}\n").await?;
    writer.shutdown().await?;
    let mut output = String::new();
    timeout(TEST_TIMEOUT, reader.read_to_string(&mut output)).await??;
    assert_eq!(output, "{\"last\":1}\n");
    timeout(TEST_TIMEOUT, relay).await??;
    assert_eq!(std::fs::read_to_string(&file)?, "{\"first\":1}\n");
    // This program ignores the end of its input.
    let (near, far) = tokio::io::duplex(1_000);
    let (reader, writer) = tokio::io::split(near);
    let grace = Duration::from_millis(300);
    let transport = Transport::new(reader, writer, Framing::Newline)?.with_grace(grace);
    let program = shell("exec sleep 600", Framing::Newline)?.with_grace(grace);
    let start = Instant::now();
    let relay = tokio::spawn(transport.relay(program, pending()));
    drop(far);
    timeout(TEST_TIMEOUT, relay).await??;
    assert!((grace..TEST_TIMEOUT).contains(&start.elapsed()), "{:?}", start.elapsed());
    Ok(())
}

#[tokio::test]
async fn a_relay_stops_reading_one_stream_while_the_other_stream_is_not_read() -> Test {
    let (near, mut far) = tokio::io::duplex(1_000);
    let (reader, writer) = tokio::io::split(near);
    // The test does not read from this stream.
    let (stuck, _kept) = tokio::io::duplex(1_000);
    let (stuck_reader, stuck_writer) = tokio::io::split(stuck);
    let transport = Transport::new(reader, writer, Framing::Newline)?;
    let other = Transport::new(stuck_reader, stuck_writer, Framing::ContentLength)?;
    let (stop, stopped) = oneshot::channel::<()>();
    let relay = tokio::spawn(transport.relay(other.with_grace(Duration::from_millis(100)), async {
        let _ = stopped.await;
    }));
    let line = format!("{}\n", json!({ "text": "x".repeat(10_000) }));
    let mut sent = 0;
    while timeout(Duration::from_secs(1), far.write_all(line.as_bytes())).await.is_ok() {
        sent += line.len();
        assert!(sent < 10_000_000, "the relay must stop reading");
    }
    assert!((1_000_000..2_000_000).contains(&sent), "{sent} bytes were read");
    stop.send(()).map_err(|()| "the relay has ended")?;
    assert_eq!(timeout(TEST_TIMEOUT, relay).await??, Closed::Local);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_long_or_too_slow_ends_the_relay() -> Test {
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = 100;
    let (transport, mut remote) = transport_with_remote_end_of(10_000, Framing::ContentLength)?;
    let (near, _far) = Transport::pair()?;
    let relay = tokio::spawn(transport.with_limits(limits).relay(near, pending()));
    remote.send_bytes(format!("Content-Length: 101\r\n\r\n{}", "x".repeat(101)).as_bytes()).await?;
    assert!(matches!(relay.await?, Closed::Io(std::io::ErrorKind::InvalidData, _)));

    let (transport, mut remote) = transport_with_remote_end_of(10_000, Framing::ContentLength)?;
    let (near, _far) = Transport::pair()?;
    let start = tokio::time::Instant::now();
    let relay = tokio::spawn(transport.relay(near, pending()));
    remote.send_bytes(b"Content-Length: 100\r\n\r\n{").await?;
    assert!(matches!(relay.await?, Closed::Io(std::io::ErrorKind::TimedOut, _)));
    assert!((30..35).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    Ok(())
}
