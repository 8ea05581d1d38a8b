//! Channels. A test acts as the peer of a channel: it reads and writes the bytes of the stream without the library.

use std::io::{Cursor, ErrorKind, Result};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use portway::codec::wipc::FrameType;
use portway::wipc::{Channel, Receiver, Sender};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex, sink, split};
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::guests::{TEST_TIMEOUT, Test};

#[tokio::test]
async fn a_frame_is_abandoned_if_its_payload_does_not_arrive_within_the_timeout() -> Test {
    let (near, mut far) = duplex(1_000);
    let (reader, writer) = split(near);
    let printed = Arc::new(Mutex::new(Vec::<u8>::new()));
    let listener = Arc::clone(&printed);
    let (_sender, receiver) = Channel::host(reader, writer)?.split();
    let mut receiver = receiver
        .with_payload_timeout(Duration::from_millis(100))
        .on_passthrough(move |bytes| listener.lock().unwrap().extend(bytes));
    far.write_all(b"WIPC\x03\xff\xff\xff\x7f text WIPC\x02\x02\0\0\0{}").await?;
    let frame = timeout(TEST_TIMEOUT, receiver.receive()).await??;
    assert_eq!(frame.map(|frame| (frame.frame_type, frame.payload)), Some((FrameType::Call, b"{}".to_vec())));
    assert_eq!(printed.lock().unwrap().as_slice(), b"WIPC\x03\xff\xff\xff\x7f text ");
    // A slow payload is received if it is complete before the timeout.
    far.write_all(b"WIPC\x03\x03\0\0\0a").await?;
    let slow = tokio::spawn(async move { receiver.receive().await });
    for byte in [b"b", b"c"] {
        tokio::time::sleep(Duration::from_millis(10)).await;
        far.write_all(byte).await?;
    }
    assert_eq!(timeout(TEST_TIMEOUT, slow).await???.map(|frame| frame.payload), Some(b"abc".to_vec()));
    Ok(())
}

#[tokio::test]
async fn dropping_the_future_of_receive_loses_no_bytes() -> Test {
    let (near, mut far) = duplex(1_000);
    let (reader, writer) = split(near);
    let (_sender, mut receiver) = Channel::guest(reader, writer)?.split();
    for byte in b"WIPC\x03\x02\0\0\0hi" {
        far.write_all(&[*byte]).await?;
        if *byte != b'i' {
            assert!(timeout(Duration::from_millis(2), receiver.receive()).await.is_err());
        }
    }
    assert_eq!(timeout(TEST_TIMEOUT, receiver.receive()).await??.map(|frame| frame.payload), Some(b"hi".to_vec()));
    Ok(())
}

#[tokio::test]
async fn dropping_the_future_of_send_leaves_no_incomplete_frame() -> Test {
    let (near, mut far) = duplex(100);
    let (reader, writer) = split(near);
    let (sender, _receiver) = Channel::guest(reader, writer)?.split();
    // The test does not read, so the queue becomes full, and calls of `send` wait. Then `timeout` drops their futures.
    let mut sent = 0;
    for number in 0..40_u8 {
        match timeout(Duration::from_millis(5), sender.send(FrameType::Data, &[number; 90])).await {
            Ok(outcome) => {
                outcome?;
                sent += 1;
            }
            Err(_) => continue,
        }
    }
    assert!((1..40).contains(&sent), "{sent} frames were sent");
    let ending = tokio::spawn(async move { sender.end().await });
    let mut bytes = Vec::new();
    timeout(TEST_TIMEOUT, far.read_to_end(&mut bytes)).await??;
    timeout(TEST_TIMEOUT, ending).await??;
    assert_eq!(bytes.len(), sent * 99);
    assert!(bytes.chunks(99).all(|frame| frame.starts_with(b"WIPC\x03\x5a\0\0\0") && frame[9..] == [frame[9]; 90]));
    Ok(())
}

#[tokio::test]
async fn a_channel_that_has_ended_sends_nothing_more() -> Test {
    let (near, far) = duplex(100);
    let (reader, writer) = split(near);
    let (sender, mut receiver) = Channel::host(reader, writer)?.split();
    let other = sender.clone();
    timeout(TEST_TIMEOUT, sender.end()).await?;
    assert_eq!(other.send(FrameType::Data, b"").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    drop(far);
    assert_eq!(timeout(TEST_TIMEOUT, receiver.receive()).await??, None);
    Ok(())
}

#[tokio::test]
async fn a_channel_sends_nothing_after_its_own_close() -> Test {
    let (near, mut far) = duplex(1_000);
    let (reader, writer) = split(near);
    let (sender, _receiver) = Channel::guest(reader, writer)?.split();
    sender.send(FrameType::Data, b"").await?;
    sender.send(FrameType::Close, b"").await?;
    let refused = sender.clone().send(FrameType::Data, b"late").await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::BrokenPipe);
    assert_eq!(refused.to_string(), "cannot send after CLOSE");
    // After CLOSE, the channel ends its output stream.
    let mut bytes = Vec::new();
    timeout(TEST_TIMEOUT, far.read_to_end(&mut bytes)).await??;
    timeout(TEST_TIMEOUT, sender.end()).await?;
    assert_eq!(bytes, b"WIPC\x03\0\0\0\0WIPC\x01\0\0\0\0");
    Ok(())
}

#[tokio::test]
async fn a_host_that_received_close_sends_no_queued_frames() -> Test {
    let (near, mut far) = duplex(200);
    let (reader, writer) = split(near);
    let (sender, mut receiver) = Channel::host(reader, writer)?.split();
    // Two frames are being written, and the other frames wait in the queue.
    let sending = tokio::spawn(async move {
        let mut sent = 0;
        while sender.send(FrameType::Data, &[0; 191]).await.is_ok() {
            sent += 1;
        }
        sent
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    far.write_all(b"WIPC\x01\0\0\0\0").await?;
    assert_eq!(timeout(TEST_TIMEOUT, receiver.receive()).await??.map(|frame| frame.frame_type), Some(FrameType::Close));
    let reading = tokio::spawn(async move {
        let mut bytes = Vec::new();
        let mut piece = [0; 200];
        while let Ok(Ok(count @ 1..)) = timeout(Duration::from_millis(200), far.read(&mut piece)).await {
            bytes.extend_from_slice(&piece[..count]);
        }
        bytes.len()
    });
    let read = timeout(TEST_TIMEOUT, reading).await??;
    assert!(read <= 2 * 200 && read % 200 == 0, "{read} bytes were sent");
    assert!(timeout(TEST_TIMEOUT, sending).await?? > 2, "some frames must have waited in the queue");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_host_that_received_close_ends_its_output_though_the_guest_reads_nothing() -> Test {
    let (near, far) = duplex(200);
    let (reader, writer) = split(near);
    let (drop_sender, mut drop_signal) = oneshot::channel::<()>();
    let (sender, mut receiver) = Channel::host(reader, ReportsDrop { writer, _drop_sender: drop_sender })?.split();
    let clone = sender.clone();
    let sending = tokio::spawn(async move { while clone.send(FrameType::Data, &[0; 191]).await.is_ok() {} });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let (mut far_reader, mut far_writer) = split(far);
    far_writer.write_all(b"WIPC\x01\0\0\0\0").await?;
    assert_eq!(timeout(TEST_TIMEOUT, receiver.receive()).await??.map(|frame| frame.frame_type), Some(FrameType::Close));
    // A `send` that waits for space in the queue fails at once. The current frame may be written for two seconds more.
    timeout(Duration::from_millis(10), sending).await??;
    assert!(timeout(Duration::from_secs(1), &mut drop_signal).await.is_err());
    assert!(timeout(Duration::from_secs(2), &mut drop_signal).await?.is_err());
    timeout(Duration::from_millis(10), sender.end()).await?;
    let mut piece = [0; 400];
    assert_eq!(timeout(TEST_TIMEOUT, far_reader.read(&mut piece)).await??, 200);
    Ok(())
}

/// Returns both halves of a channel, the remote end of its stream, and a receiver that signals the drop of the writer.
/// The stream has a capacity of 200 bytes. Three frames of 1,000 bytes are queued.
async fn full_channel() -> Result<(Sender, Receiver, DuplexStream, oneshot::Receiver<()>)> {
    let (near, far) = duplex(200);
    let (reader, writer) = split(near);
    let (drop_sender, drop_signal) = oneshot::channel();
    let (sender, receiver) = Channel::host(reader, ReportsDrop { writer, _drop_sender: drop_sender })?.split();
    for _ in 0..3 {
        sender.send(FrameType::Data, &[0; 991]).await?;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok((sender, receiver, far, drop_signal))
}

#[tokio::test(start_paused = true)]
async fn a_dropped_channel_closes_its_output_though_the_peer_reads_nothing() -> Test {
    let (sender, receiver, _far, mut drop_signal) = full_channel().await?;
    // The output stays open until both halves and all clones are dropped.
    drop(receiver);
    let clone = sender.clone();
    drop(sender);
    assert!(timeout(Duration::from_secs(60), &mut drop_signal).await.is_err());
    drop(clone);
    assert!(timeout(Duration::from_secs(1), &mut drop_signal).await.is_err());
    assert!(timeout(Duration::from_secs(2), &mut drop_signal).await?.is_err());
    let (sender, receiver, _far, mut drop_signal) = full_channel().await?;
    drop(sender);
    assert!(timeout(Duration::from_secs(60), &mut drop_signal).await.is_err());
    drop(receiver);
    assert!(timeout(Duration::from_secs(3), &mut drop_signal).await?.is_err());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_dropped_channel_writes_queued_frames_to_a_peer_that_reads() -> Test {
    let (sender, receiver, mut far, drop_signal) = full_channel().await?;
    drop((sender, receiver));
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let mut bytes = Vec::new();
    timeout(TEST_TIMEOUT, far.read_to_end(&mut bytes)).await??;
    assert_eq!(bytes.len(), 3_000);
    assert!(timeout(TEST_TIMEOUT, drop_signal).await?.is_err());
    Ok(())
}

/// A writer that signals its drop: after the drop, the receiver of `_drop_sender` returns an error.
struct ReportsDrop<W> {
    writer: W,
    _drop_sender: oneshot::Sender<()>,
}

impl<W: AsyncWrite + Unpin> AsyncWrite for ReportsDrop<W> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.writer).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}

#[tokio::test]
async fn other_tasks_run_while_a_receiver_reads_frames_that_are_all_available() -> Test {
    const FRAMES: usize = 100_000;
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let counting = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, Ordering::Relaxed);
            yield_now().await;
        }
    });
    // All bytes of this input are available without waiting.
    let input = Cursor::new(b"WIPC\x03\x01\0\0\0a".repeat(FRAMES));
    let (_sender, mut receiver) = Channel::host(input, sink())?.split();
    let mut received = 0;
    while receiver.receive().await?.is_some() {
        received += 1;
    }
    counting.abort();
    let turns = turns.load(Ordering::Relaxed);
    assert!(received == FRAMES && turns > 100, "the other task ran {turns} times while {received} frames arrived");
    Ok(())
}
