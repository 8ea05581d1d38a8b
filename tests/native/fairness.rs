//! Other tasks run regularly, even if the peer of a link sends without a pause.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use portway::{Client, Closed, Context, Diagnostic, Framing, RpcError, Server, Transport};
use tokio::io::{AsyncRead, ReadBuf, sink};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;

use crate::wire::{TEST_TIMEOUT, frame, limits, transport_with_remote_end, transport_with_remote_end_of};

type Test = Result<(), Box<dyn Error>>;

/// Starts a task that shares the thread of the test, and counts how often it runs. Returns this count and the task.
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

/// An input with `remaining` pieces, each of which is available without waiting.
struct Pieces {
    remaining: usize,
}

impl AsyncRead for Pieces {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut TaskContext<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(remaining) = self.remaining.checked_sub(1) {
            self.remaining = remaining;
            buffer.put_slice(b"xx");
        }
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn other_tasks_run_while_a_link_reads_input_that_is_always_available() -> Test {
    for framing in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
        let (turns, counter_task) = counter();
        let client = Client::new(Transport::new(Pieces { remaining: 100_000 }, sink(), framing)?);
        client.notify("start", &())?;
        assert_eq!(timeout(TEST_TIMEOUT, client.closed()).await?, Closed::End);
        counter_task.abort();
        let turns = turns.load(Ordering::Relaxed);
        assert!(turns > 100, "the other task ran {turns} times while 100 000 pieces were read, {framing}");
    }
    Ok(())
}

#[tokio::test]
async fn the_link_yields_while_it_decodes_rejected_bytes_again() -> Test {
    const LENGTH: usize = 1_000_000;
    let (transport, mut there) = transport_with_remote_end()?;
    let (turns, counter_task) = counter();
    let (sender, received) = mpsc::channel();
    let counted = Arc::clone(&turns);
    let server = Server::new(transport.on_diagnostic(move |diagnostic| {
        if matches!(diagnostic, Diagnostic::Rejected { .. }) {
            let _ = sender.send(counted.load(Ordering::Relaxed));
        }
    }));
    let serving = tokio::spawn(server.run());
    // The number of bytes that a decoder decodes again is limited. The limit grows with the received bytes, so the
    // decoder first receives 16 MB.
    for _ in 0..16 {
        there.send_bytes(&frame(&format!("{{\"jsonrpc\":\"2.0\",\"method\":\"n\"{}}}", " ".repeat(LENGTH)))).await?;
    }
    // The body of each header is the whole rest of the text. After rejecting a body, the decoder reads the header
    // within this body.
    let mut body = " ".repeat(LENGTH);
    for _ in 0..100 {
        body = format!("(Content-Length: {}\r\n\r\n{body}", body.len());
    }
    there.send_bytes(&frame(&body)).await?;
    there.finish().await?;
    timeout(TEST_TIMEOUT, serving).await??;
    counter_task.abort();
    let turns_at_rejections: Vec<usize> = received.try_iter().collect();
    assert!(turns_at_rejections.len() >= 100, "{} bodies were rejected", turns_at_rejections.len());
    let longest_run = turns_at_rejections.chunk_by(|one, next| one == next).map(<[usize]>::len).max();
    let longest_run = longest_run.unwrap_or_default();
    assert!(longest_run <= 40, "{longest_run} megabytes were decoded again before another task ran");
    Ok(())
}

#[tokio::test]
async fn other_tasks_run_while_the_handlers_of_one_batch_run() -> Test {
    const CALLS: usize = 1_000;
    let (transport, mut there) = transport_with_remote_end()?;
    let (turns, counter_task) = counter();
    let (report, reported) = mpsc::channel();
    let counted = Arc::clone(&turns);
    let server = Server::new(transport);
    server.method("turn", move |(): (), _: Context| {
        let _ = report.send(counted.load(Ordering::Relaxed));
        async { Ok::<_, RpcError>(()) }
    });
    let serving = tokio::spawn(server.run());
    let calls: Vec<String> =
        (1..=CALLS).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"turn\"}}")).collect();
    there.send(&format!("[{}]", calls.join(","))).await?;
    // A message after the batch may arrive while the batch is being handled. It is handled after the batch.
    there.send("{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"turn\"}").await?;
    let replies = timeout(TEST_TIMEOUT, there.receive()).await??;
    assert_eq!(replies.as_array().map(Vec::len), Some(CALLS));
    assert_eq!(timeout(TEST_TIMEOUT, there.receive()).await??["id"], "last");
    there.finish().await?;
    timeout(TEST_TIMEOUT, serving).await??;
    counter_task.abort();
    let turns_at_calls: Vec<usize> = reported.try_iter().collect();
    assert_eq!(turns_at_calls.len(), CALLS + 1);
    assert!(turns_at_calls.is_sorted(), "the handlers must run in the order of their calls");
    let longest_run = turns_at_calls.chunk_by(|one, next| one == next).map(<[usize]>::len).max();
    let longest_run = longest_run.unwrap_or_default();
    assert!(longest_run <= 300, "{longest_run} handlers of one batch began before another task ran");
    Ok(())
}

#[tokio::test]
async fn a_link_that_ends_within_a_batch_answers_the_earlier_requests_of_the_batch() -> Test {
    const CALLS: usize = 1_000;
    let (transport, mut there) = transport_with_remote_end()?;
    let server = Server::new(transport);
    let stopper = server.stopper();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    server.method("turn", move |(): (), _: Context| {
        if counted.fetch_add(1, Ordering::Relaxed) == CALLS / 2 {
            stopper.stop();
        }
        async { Ok::<_, RpcError>(()) }
    });
    let serving = tokio::spawn(server.run());
    let calls: Vec<String> =
        (1..=CALLS).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"turn\"}}")).collect();
    there.send(&format!("[{}]", calls.join(","))).await?;
    let replies = timeout(TEST_TIMEOUT, there.receive()).await??;
    assert!(replies.as_array().is_some_and(|replies| replies.len() >= CALLS / 2), "{} replies", replies);
    timeout(TEST_TIMEOUT, serving).await??;
    assert_eq!(count.load(Ordering::Relaxed), CALLS / 2 + 1);
    Ok(())
}

/// Blocks the thread, as a slow handler does.
fn block(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

#[tokio::test]
async fn a_complete_message_does_not_time_out_while_slow_handlers_delay_its_link() -> Test {
    const CALLS: usize = 600;
    for framing in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
        let (transport, mut there) = transport_with_remote_end_of(1 << 20, framing)?;
        let transport = transport.with_limits(limits(|limits| limits.partial_frame_ms = 300));
        let (report, mut answered) = tokio::sync::mpsc::unbounded_channel();
        let server = Server::new(transport.with_payload_timeout(Duration::from_millis(300)));
        server.method("work", move |(call,): (usize,), _: Context| {
            block(2);
            let _ = report.send(call);
            async { Ok::<_, RpcError>(()) }
        });
        let serving = tokio::spawn(server.run());
        let request = |call: usize| {
            let mut bytes = Vec::new();
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{call},\"method\":\"work\",\"params\":[{call}]}}");
            framing.encode(&text, &mut bytes);
            bytes
        };
        // The first message is incomplete for 200 ms, which is less than the timeout of 300 ms. Then the handlers of
        // all messages together take 1.2 s. In this time, no message may time out.
        let all: Vec<u8> = (1..=CALLS).flat_map(request).collect();
        let (first, rest) = all.split_at(30);
        there.send_bytes(first).await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        there.send_bytes(rest).await?;
        for call in 1..=CALLS {
            assert_eq!(timeout(TEST_TIMEOUT, answered.recv()).await?, Some(call), "{framing}");
        }
        drop(there);
        timeout(TEST_TIMEOUT, serving).await??;
    }
    Ok(())
}
