//! Tasks beside a link have their turns, however much its peer sends.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context as TaskContext, Poll};

use portway::{Client, Closed, Diagnostic, Framing, Server, Transport};
use tokio::io::{AsyncRead, ReadBuf, sink};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;

use crate::wire::{PATIENCE, frame, wire};

type Test = Result<(), Box<dyn Error>>;

/// Counts the turns that a task of the same thread has.
fn counter() -> (Arc<AtomicUsize>, JoinHandle<()>) {
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let task = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, Ordering::Relaxed);
            yield_now().await;
        }
    });
    (turns, task)
}

/// An input that has this many pieces, and never waits for one.
struct Pieces {
    left: usize,
}

impl AsyncRead for Pieces {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut TaskContext<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            buffer.put_slice(b"xx");
        }
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn an_input_that_never_waits_leaves_others_their_turns() -> Test {
    for framing in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
        let (turns, counting) = counter();
        let client = Client::new(Transport::new(Pieces { left: 100_000 }, sink(), framing)?);
        client.notify("start", &())?;
        assert_eq!(timeout(PATIENCE, client.closed()).await?, Closed::End);
        counting.abort();
        let turns = turns.load(Ordering::Relaxed);
        assert!(turns > 100, "{turns} turns while 100 000 pieces were read, {framing}");
    }
    Ok(())
}

#[tokio::test]
async fn what_is_read_again_costs_the_turn_of_a_link_as_what_comes_does() -> Test {
    const LENGTH: usize = 1_000_000;
    let (transport, mut there) = wire()?;
    let (turns, counting) = counter();
    let (tell, told) = mpsc::channel();
    let counted = Arc::clone(&turns);
    let server = Server::new(transport.on_diagnostic(move |diagnostic| {
        if matches!(diagnostic, Diagnostic::Rejected { .. }) {
            let _ = tell.send(counted.load(Ordering::Relaxed));
        }
    }));
    let serving = tokio::spawn(server.run());
    // What has come before pays for reading the rest again and again.
    for _ in 0..16 {
        there.send_bytes(&frame(&format!("{{\"jsonrpc\":\"2.0\",\"method\":\"n\"{}}}", " ".repeat(LENGTH)))).await?;
    }
    // Each header claims all that follows, and is read again behind the one before it.
    let mut body = " ".repeat(LENGTH);
    for _ in 0..100 {
        body = format!("(Content-Length: {}\r\n\r\n{body}", body.len());
    }
    there.send_bytes(&frame(&body)).await?;
    there.finish().await?;
    timeout(PATIENCE, serving).await??;
    counting.abort();
    let at: Vec<usize> = told.try_iter().collect();
    assert!(at.len() >= 100, "{} bodies were rejected", at.len());
    let most = at.chunk_by(|one, next| one == next).map(<[usize]>::len).max().unwrap_or_default();
    assert!(most <= 40, "{most} megabytes were read again in one turn");
    Ok(())
}
