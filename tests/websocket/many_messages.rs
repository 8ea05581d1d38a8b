//! Messages that arrive together. The server answers each of them, and sends the answers with few writes.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use portway::{Peer, WebSocketPolicy};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

use crate::raw::{CLOSE, FINAL, RawClient, TEXT, Test, frame, register_methods, request, serve};

/// The number of messages that arrive together. One write does not contain the answers to all of them.
const MESSAGES: usize = 1_000;

/// A stream that counts its writes.
struct CountedStream(TcpStream, Arc<AtomicUsize>);

impl AsyncRead for CountedStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.0).poll_write(context, bytes);
        self.1.fetch_add(usize::from(written.is_ready()), Ordering::Relaxed);
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

/// Returns the frames of [`MESSAGES`] calls of `echo`, with the ids 0, 1, 2 and so on.
fn calls() -> Vec<u8> {
    let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "echo", "params": [id]}).to_string();
    (0..MESSAGES).flat_map(|id| frame(FINAL | TEXT, call(id).as_bytes())).collect()
}

async fn expect_answers(client: &mut RawClient) -> Test {
    for id in 0..MESSAGES {
        assert_eq!(client.message().await?, json!({"jsonrpc": "2.0", "id": id, "result": [id]}));
    }
    Ok(())
}

#[tokio::test]
async fn calls_that_arrive_with_a_close_frame_are_answered_before_it() -> Test {
    let mut client = RawClient::open(serve(WebSocketPolicy::new()).await?).await?;
    client.send(&[calls(), frame(FINAL | CLOSE, &1000u16.to_be_bytes())].concat()).await?;
    expect_answers(&mut client).await?;
    assert_eq!(client.closed().await?.0, 1000);
    Ok(())
}

#[tokio::test]
async fn the_answers_to_calls_that_arrive_together_need_few_writes() -> Test {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let writes = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&writes);
    tokio::spawn(async move {
        let (stream, remote) = listener.accept().await?;
        let transport = WebSocketPolicy::new().accept(CountedStream(stream, counter), address, remote).await?;
        let peer = Peer::new(transport);
        register_methods(&peer);
        peer.run().await;
        io::Result::Ok(())
    });
    let (mut client, head) = RawClient::ask(address, &request(&address.to_string(), "")).await?;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    client.send(&calls()).await?;
    expect_answers(&mut client).await?;
    // If the server flushed each answer alone, there would be a write for each answer. The input may arrive in parts,
    // so some further writes are allowed.
    let writes = writes.load(Ordering::Relaxed);
    assert!(writes < MESSAGES / 4, "{MESSAGES} answers must not need {writes} writes");
    Ok(())
}
