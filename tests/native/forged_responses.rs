//! Forged answers: answers to requests that the link has not written yet. A peer cannot know such a request, so it has
//! guessed the id.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use futures_util::StreamExt;
use portway::Limits;
use portway::{CallError, Client, Diagnostic, Framing, Transport};
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::time::timeout;

use crate::wire::{TEST_TIMEOUT, limits, transport_with_remote_end_of};

type Test = Result<(), Box<dyn Error>>;

/// A writer that accepts a number of bytes, and then blocks. The field is the number of bytes that it still accepts.
struct BlockingWriter(usize);

impl AsyncWrite for BlockingWriter {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut TaskContext<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let count = bytes.len().min(self.0);
        self.0 -= count;
        if count == 0 { Poll::Pending } else { Poll::Ready(Ok(count)) }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Returns a transport whose output blocks after `bytes` bytes, and the stream on which the test sends input to it.
fn blocking_transport(bytes: usize, framing: Framing) -> io::Result<(Transport, DuplexStream)> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    Ok((Transport::new(near, BlockingWriter(bytes), framing)?, far))
}

fn frame_of(framing: Framing, text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    framing.encode(text, &mut bytes);
    bytes
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_accepted_if_at_most_one_byte_of_its_request_is_unwritten() -> Test {
    for framing in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
        let length = frame_of(framing, r#"{"jsonrpc":"2.0","id":1,"method":"ask","params":[1]}"#).len();
        // The writer accepts no byte of the second request, so the answer to the second request is always forged.
        for (bytes, is_answered) in [(0, false), (length - 2, false), (length - 1, true), (length, true)] {
            let (transport, mut there) = blocking_transport(bytes, framing)?;
            let client = Client::new(transport);
            let calls = [1, 2].map(|number| client.call::<Value>("ask", &[number]).start());
            for id in 1..=2 {
                let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"answer"}}"#);
                there.write_all(&frame_of(framing, &answer)).await?;
            }
            let [first, second] = calls;
            let expected = if is_answered { Ok(json!("answer")) } else { Err(CallError::TimedOut) };
            assert_eq!(first.await, expected, "{framing}, {bytes} of {length} bytes");
            assert_eq!(second.await, Err(CallError::TimedOut), "{framing}");
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn forged_answers_do_not_free_space_in_the_queue() -> Test {
    let forms: [fn(u32) -> String; 4] = [
        |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#),
        |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"no"}}}}"#),
        |id| format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
        |id| format!(r#"[{{"jsonrpc":"2.0","id":{id},"result":1}},{{"jsonrpc":"2.0","id":{id}}}]"#),
    ];
    for form in forms {
        let (transport, mut there) = blocking_transport(100, Framing::ContentLength)?;
        let unmatched = Arc::new(AtomicUsize::new(0));
        let reported = Arc::clone(&unmatched);
        let transport = transport.on_diagnostic(move |diagnostic| {
            if let Diagnostic::UnmatchedResponse { .. } | Diagnostic::Malformed | Diagnostic::Rejected { .. } =
                diagnostic
            {
                reported.fetch_add(1, Ordering::SeqCst);
            }
        });
        let limits = limits(|limits: &mut Limits| limits.unwritten_bytes = 100_000);
        let client = Client::new(transport.with_limits(limits)).with_timeout(Duration::from_millis(100));
        let forging = tokio::spawn(async move {
            loop {
                for id in 1..100 {
                    there.write_all(&frame_of(Framing::ContentLength, &form(id))).await?;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            #[allow(unreachable_code, reason = "this line sets the type of the error")]
            Ok::<_, io::Error>(())
        });
        let filler = "x".repeat(10_000);
        let mut ended = 0;
        loop {
            match client.call::<Value>("put", &(&filler,)).await {
                Err(CallError::TimedOut) => ended += 1,
                Err(CallError::Congested) => break,
                other => return Err(format!("{other:?} to {}", form(1)).into()),
            }
            assert!(ended < 100, "a call must be refused");
        }
        assert!((8..=14).contains(&ended), "{ended}");
        assert!(unmatched.load(Ordering::SeqCst) > 0, "no diagnostic for {}", form(1));
        forging.abort();
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn forged_progress_and_items_are_ignored() -> Test {
    let (transport, mut there) = blocking_transport(0, Framing::ContentLength)?;
    let client = Client::new(transport);
    let received = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&received);
    let call = client.call::<Value>("work", &()).on_progress(move |percent: f64| {
        reported.lock().into_iter().for_each(|mut received| received.push(percent));
    });
    let call = call.start();
    let mut items = client.stream::<i64>("count", &());
    let waiting = timeout(Duration::from_millis(10), items.next()).await;
    assert!(waiting.is_err(), "{waiting:?}");
    for forged in [
        r#"{"jsonrpc":"2.0","method":"$/progress","params":{"token":1,"value":50}}"#,
        r#"{"jsonrpc":"2.0","method":"rpc.item","params":{"id":2,"value":7}}"#,
    ] {
        there.write_all(&frame_of(Framing::ContentLength, forged)).await?;
    }
    let (item, end) = tokio::join!(items.next(), call);
    assert_eq!((item, end), (Some(Err(CallError::TimedOut)), Err(CallError::TimedOut)));
    assert_eq!(received.lock().map_err(|_| "poisoned")?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn responses_to_written_requests_are_accepted_while_later_requests_are_written() -> Test {
    for framing in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
        let (transport, mut there) = transport_with_remote_end_of(1_000, framing)?;
        // The limit is about ten requests. If requests still counted as unwritten after their answers, the limit would
        // refuse a later call.
        let limits = limits(|limits: &mut Limits| limits.unwritten_bytes = 100_000);
        let client = Client::new(transport.with_limits(limits));
        let filler = "x".repeat(10_000);
        let calls: Vec<_> = (0..200).map(|number| client.call::<i64>("ask", &(number, &filler)).start()).collect();
        let answering = tokio::spawn(async move {
            for number in 0..300 {
                let request = there.receive_frame(framing).await?;
                assert_eq!(request["params"][0], number);
                let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": number });
                there.send_bytes(&frame_of(framing, &answer.to_string())).await?;
            }
            Ok::<_, io::Error>(there)
        });
        for (number, call) in calls.into_iter().enumerate() {
            assert_eq!(timeout(TEST_TIMEOUT, call).await?, Ok(number as i64), "{framing}");
            if number >= 100 {
                let later = client.call::<i64>("ask", &(number + 100, &filler)).start();
                tokio::spawn(later);
            }
        }
        timeout(TEST_TIMEOUT, answering).await???;
    }
    Ok(())
}
