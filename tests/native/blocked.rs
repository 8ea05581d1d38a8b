//! Timeouts after the thread of a link was blocked. A suspended process has the same effect. If input arrived
//! meanwhile, the link must read the input before a call or a message times out.

use std::error::Error;
use std::io::Write;
use std::os::unix::net::UnixStream as Blocking;
use std::thread;
use std::time::Duration;

use portway::{CallError, Client, Framing, Transport};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::wire::{TEST_TIMEOUT, frame};

type Test = Result<(), Box<dyn Error>>;

const SHORT_TIMEOUT: Duration = Duration::from_millis(50);

/// Returns a client on a real socket, and the socket of the peer. With a real socket, only the reactor of tokio notices
/// that input has arrived.
fn socket() -> Result<(Client, Blocking), Box<dyn Error>> {
    let (near, far) = Blocking::pair()?;
    near.set_nonblocking(true)?;
    let (reader, writer) = UnixStream::from_std(near)?.into_split();
    Ok((Client::new(Transport::new(reader, writer, Framing::ContentLength)?), far))
}

#[tokio::test]
async fn an_answer_that_arrived_while_the_thread_was_blocked_is_read_before_its_call_times_out() -> Test {
    for bytes in [1, 100_000] {
        let (client, mut far) = socket()?;
        let call = client.call::<String>("late", &()).timeout(SHORT_TIMEOUT).start();
        let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{}"}}"#, "x".repeat(bytes));
        far.write_all(&frame(&answer))?;
        thread::sleep(2 * SHORT_TIMEOUT);
        // This call wakes the task of the link, so the task runs before the reactor has noticed the input.
        let next = client.call::<Value>("next", &()).start();
        assert_eq!(timeout(TEST_TIMEOUT, call).await?.map(|text| text.len()), Ok(bytes));
        drop(next);
    }
    Ok(())
}

#[tokio::test]
async fn a_message_whose_rest_arrived_while_the_thread_was_blocked_is_read_before_it_times_out() -> Test {
    let (near, mut far) = Blocking::pair()?;
    near.set_nonblocking(true)?;
    let (reader, writer) = UnixStream::from_std(near)?.into_split();
    let mut limits = portway::Limits::DEFAULT;
    limits.partial_frame_ms = 50;
    let client = Client::new(Transport::new(reader, writer, Framing::ContentLength)?.with_limits(limits));
    let call = client.call::<u32>("slow", &()).start();
    let answer = frame(r#"{"jsonrpc":"2.0","id":1,"result":7}"#);
    let (start, rest) = answer.split_at(40);
    far.write_all(start)?;
    // During this pause, the link reads the beginning of the message.
    tokio::time::sleep(Duration::from_millis(10)).await;
    far.write_all(rest)?;
    thread::sleep(2 * SHORT_TIMEOUT);
    let next = client.call::<Value>("next", &()).start();
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Ok(7));
    drop(next);
    Ok(())
}

#[tokio::test]
async fn a_peer_that_never_stops_sending_does_not_prevent_the_timeout_of_a_call() -> Test {
    let (near, mut far) = UnixStream::pair()?;
    let (reader, writer) = near.into_split();
    let client = Client::new(Transport::new(reader, writer, Framing::ContentLength)?);
    let flood = tokio::spawn(async move {
        let message = frame(r#"{"jsonrpc":"2.0","method":"noise"}"#).repeat(1_000);
        while far.write_all(&message).await.is_ok() {}
    });
    let call = client.call::<Value>("never", &()).timeout(SHORT_TIMEOUT).start();
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Err(CallError::TimedOut));
    flood.abort();
    Ok(())
}
