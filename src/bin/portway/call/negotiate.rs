//! A link to a peer whose framing is not known: between a client that writes lines, and the peer.
//!
//! A peer waits for us to speak first, so what we send has to be readable in either framing. It is `Content-Length: N`, a blank
//! line, and N bytes, the last of which is a line end: white space to a peer that counts bytes, and to one that reads lines
//! the end of a third line, after two that are no message. Each message is so understood exactly once, and nothing has to be
//! sent again. What the peer answers tells which of the two it is; if it reads lines, it gets lines from then on.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use portway::codec::content_length::header_within;
use portway::codec::frame::Event;
use portway::codec::framing::FrameDecoder;
use portway::codec::json;
use portway::message::{Id, Unreadable};
use portway::{Framing, Limits, Transport};
use serde_json::value::RawValue;
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::sync::oneshot;
use tokio::task::coop::consume_budget;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;

use super::notices::Notices;
use super::streams::{Reader, Writer};
use crate::detect::{Detector, HeaderWatch};
use crate::limits::MAX_NEGOTIATION_BYTES;

/// What carries bytes to and fro. Ends with [`Negotiation::end`].
#[derive(Debug)]
pub(super) struct Negotiation {
    sending: JoinHandle<io::Result<()>>,
    receiving: JoinHandle<io::Result<()>>,
}

impl Negotiation {
    /// A transport for a client, and what connects it with the peer.
    pub(super) fn begin(
        reader: Reader,
        writer: Writer,
        limits: Limits,
        notices: &Arc<Notices>,
    ) -> io::Result<(Transport, Self)> {
        let (near, far) = tokio::io::duplex(MAX_NEGOTIATION_BYTES);
        let (near_reader, near_writer) = tokio::io::split(near);
        let (far_reader, far_writer) = tokio::io::split(far);
        let (done, sent) = oneshot::channel();
        let transport = Transport::new(near_reader, Lines { lines: near_writer, sent }, Framing::Newline)?;
        let notices_of_sending = Arc::clone(notices);
        let sending = tokio::spawn(async move {
            // Its drop, at the end of this task, reports the end.
            let _done = done;
            send(far_reader, writer, notices_of_sending).await
        });
        let receiving = tokio::spawn(Receiver::new(far_writer, limits, Arc::clone(notices)).run(reader));
        Ok((transport, Self { sending, receiving }))
    }

    /// Waits until all is sent that the client, which has ended, had to say; or why that cannot be.
    pub(super) async fn end(self, limit: Duration) -> io::Result<()> {
        let sent = timeout(limit, self.sending).await;
        self.receiving.abort();
        // It may have been aborted before its end, or have failed: what was to say of that has been said.
        let _ = self.receiving.await;
        sent.map_err(io::Error::from)?.map_err(io::Error::other)?
    }
}

/// The writer of the client. It has ended once all bytes were written to the peer. The grace of a program begins there.
struct Lines {
    lines: WriteHalf<DuplexStream>,
    sent: oneshot::Receiver<()>,
}

impl AsyncWrite for Lines {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.lines).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.lines).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.lines).poll_shutdown(context))?;
        Pin::new(&mut self.sent).poll(context).map(|_| Ok(()))
    }
}

async fn send(lines: ReadHalf<DuplexStream>, mut writer: Writer, notices: Arc<Notices>) -> io::Result<()> {
    let mut lines = BufReader::new(lines);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).await? > 0 {
        if !line.ends_with(b"\n") {
            // The client has given it up.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if notices.detected() != Some(Framing::Newline) {
            let header = format!("Content-Length: {}\r\n\r\n", line.len());
            line.splice(..0, header.into_bytes());
        }
        writer.write_all(&line).await?;
        writer.flush().await?;
        line.clear();
    }
    writer.shutdown().await
}

struct Receiver {
    lines: WriteHalf<DuplexStream>,
    limits: Limits,
    notices: Arc<Notices>,
    stage: Stage,
}

enum Stage {
    Unknown(Detector),
    Newline(HeaderWatch),
    ContentLength(Box<FrameDecoder>),
}

impl Receiver {
    const fn new(lines: WriteHalf<DuplexStream>, limits: Limits, notices: Arc<Notices>) -> Self {
        Self { lines, limits, notices, stage: Stage::Unknown(Detector::new(limits.message_bytes)) }
    }

    async fn run(mut self, mut reader: Reader) -> io::Result<()> {
        let mut chunk = vec![0; MAX_NEGOTIATION_BYTES];
        let received = loop {
            let count = match reader.read(&mut chunk).await {
                Ok(0) => break self.finish().await,
                Ok(count) => count,
                Err(error) => break Err(error),
            };
            let bytes = chunk.get(..count).unwrap_or_default();
            if let Err(error) = self.take(bytes).await {
                break Err(error);
            }
            // A chunk of short lines takes its time. Signals and timeouts have their turns in between.
            yield_now().await;
        };
        self.notices.flush();
        // The client hears of the end.
        self.lines.shutdown().await?;
        received
    }

    async fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let rest;
        if let Stage::Unknown(detector) = &mut self.stage {
            let Some(framing) = detector.take(bytes, |noise| self.notices.noise(noise)) else { return Ok(()) };
            rest = self.know(framing);
            bytes = &rest;
        }
        match &mut self.stage {
            Stage::Unknown(_) => Ok(()),
            Stage::Newline(watch) => {
                let mut lines = Vec::new();
                let frames = watch.take(bytes, |line| lines.extend_from_slice(line));
                self.lines.write_all(&lines).await?;
                let Some(frames) = frames else { return Ok(()) };
                let decoder = FrameDecoder::new(Framing::ContentLength, &self.limits);
                self.stage = Stage::ContentLength(Box::new(decoder));
                Box::pin(self.take(&frames)).await
            }
            Stage::ContentLength(decoder) => {
                while let Some(event) = decoder.next(&mut bytes) {
                    let mut line = Vec::new();
                    let mut chunks = 1;
                    if let Some(swallowed) = show(&event, &mut line, &self.notices) {
                        chunks += swallowed.len() / MAX_NEGOTIATION_BYTES;
                        decoder.unread(&swallowed);
                    }
                    self.lines.write_all(&line).await?;
                    // Nothing is written of most of a flood. Signals and timeouts have their turns all the same.
                    for _ in 0..chunks {
                        consume_budget().await;
                    }
                }
                Ok(())
            }
        }
    }

    async fn finish(&mut self) -> io::Result<()> {
        if let Stage::Unknown(detector) = &self.stage {
            let framing = detector.finish();
            let rest = self.know(framing);
            self.take(&rest).await?;
        }
        if let Stage::Newline(watch) = &mut self.stage {
            let mut lines = Vec::new();
            watch.finish(|line| lines.extend_from_slice(line));
            self.lines.write_all(&lines).await?;
        }
        if let Stage::ContentLength(decoder) = &mut self.stage {
            let mut line = Vec::new();
            while let Some(event) = decoder.finish() {
                show(&event, &mut line, &self.notices);
            }
        }
        Ok(())
    }

    /// Goes over to a framing, and gives what has come in it.
    fn know(&mut self, framing: Framing) -> Vec<u8> {
        let stage = match framing {
            Framing::Newline => Stage::Newline(HeaderWatch::default()),
            // Who speaks WIPC would not have understood what was sent.
            Framing::ContentLength | Framing::Wipc => {
                Stage::ContentLength(Box::new(FrameDecoder::new(framing, &self.limits)))
            }
        };
        match std::mem::replace(&mut self.stage, stage) {
            Stage::Unknown(detector) => {
                let rest = detector.into_rest();
                if !rest.is_empty() {
                    self.notices.detect(framing);
                }
                rest
            }
            _ => Vec::new(),
        }
    }
}

/// Makes a line of a message, and tells of anything else. Gives what a body has swallowed of the messages that follow it.
fn show(event: &Event<'_>, line: &mut Vec<u8>, notices: &Notices) -> Option<Vec<u8>> {
    match event {
        Event::Body(body) if serde_json::from_slice::<&RawValue>(body).is_ok() => {
            // In JSON a line end is white space between two tokens.
            line.extend(body.iter().filter(|byte| !matches!(byte, b'\n' | b'\r')));
            line.push(b'\n');
        }
        Event::Body(body) => {
            notices.no_json();
            unreadable(body, Unreadable::NotJson, notices);
            return header_within(body).and_then(|start| body.get(start..)).map(<[u8]>::to_vec);
        }
        Event::Refused { body, .. } => {
            notices.no_json();
            unreadable(body, Unreadable::ContentType, notices);
        }
        Event::Dropped { beginning, why } => unreadable(beginning, *why, notices),
        Event::Fault(fault) => notices.fault(*fault),
        Event::Noise { bytes, .. } => notices.noise(bytes),
        Event::Frame(frame) => notices.frame(*frame),
    }
    None
}

/// A message with this text cannot be read. It may answer the only call.
fn unreadable(text: &[u8], why: Unreadable, notices: &Notices) {
    let mut is_answer = false;
    let glance = json::glance(text, |id| is_answer |= id == Id::Integer(1));
    if is_answer || glance.is_nameless {
        notices.end_call(why);
    }
}
