//! Detects the framing of a peer. A [`Negotiation`] is between the client and the peer. The client writes and reads
//! lines, and the negotiation converts them to and from the framing of the peer.
//!
//! Most peers send nothing before they receive a message. So the framing is unknown when the first message is sent. The
//! first message must therefore be valid in two framings: `Content-Length` and lines. The message has a header
//! `Content-Length: N`, a blank line, and a body of N bytes whose last byte is a line feed. A peer that uses
//! `Content-Length` treats the line feed as white space after the JSON. A peer that reads lines rejects the header and
//! the blank line, and then reads the body as one line. In both framings, the peer reads the message exactly once. The
//! response shows the framing of the peer. If the peer reads lines, later messages have no header.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use portway::codec::FrameDecoder;
use portway::codec::frame::Event;
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

use super::stderr::Reporter;
use super::target::{Reader, Writer};
use crate::detect::{Detector, HeaderWatch};
use crate::limits::MAX_NEGOTIATION_BYTES;

/// The tasks that transfer bytes between the client and the peer. [`Negotiation::end`] ends these tasks.
#[derive(Debug)]
pub(super) struct Negotiation {
    sending: JoinHandle<io::Result<()>>,
    receiving: JoinHandle<io::Result<()>>,
}

impl Negotiation {
    /// Returns a transport for a client, and the negotiation that connects this transport with the peer.
    pub(super) fn begin(
        reader: Reader,
        writer: Writer,
        limits: Limits,
        reporter: &Arc<Reporter>,
    ) -> io::Result<(Transport, Self)> {
        let (client_end, peer_end) = tokio::io::duplex(MAX_NEGOTIATION_BYTES);
        let (client_reader, client_writer) = tokio::io::split(client_end);
        let (peer_reader, peer_writer) = tokio::io::split(peer_end);
        let (sent_sender, sent) = oneshot::channel();
        let transport = Transport::new(client_reader, ClientWriter { lines: client_writer, sent }, Framing::Newline)?;
        let sender_reporter = Arc::clone(reporter);
        let sending = tokio::spawn(async move {
            // Dropping the sender at the end of this task ends `ClientWriter::poll_shutdown`.
            let _sent_sender = sent_sender;
            send(peer_reader, writer, sender_reporter).await
        });
        let receiving = tokio::spawn(Receiver::new(peer_writer, limits, Arc::clone(reporter)).run(reader));
        Ok((transport, Self { sending, receiving }))
    }

    /// Waits until all bytes of the client are sent. The client must have ended before this function is called.
    ///
    /// # Errors
    /// If sending has failed, or takes longer than `limit`.
    pub(super) async fn end(self, limit: Duration) -> io::Result<()> {
        let sent = timeout(limit, self.sending).await;
        self.receiving.abort();
        // The result of the task is ignored, since the client has ended and reads no more input.
        let _ = self.receiving.await;
        sent.map_err(io::Error::from)?.map_err(io::Error::other)?
    }
}

/// The writer of the client. Its shutdown completes only once all bytes are written to the peer, because the time in
/// which a program must exit begins after the shutdown.
struct ClientWriter {
    lines: WriteHalf<DuplexStream>,
    sent: oneshot::Receiver<()>,
}

impl AsyncWrite for ClientWriter {
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

/// Sends the lines of the client to the peer. Each line gets a header, unless the peer reads lines.
async fn send(lines: ReadHalf<DuplexStream>, mut writer: Writer, reporter: Arc<Reporter>) -> io::Result<()> {
    let mut lines = BufReader::new(lines);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).await? > 0 {
        if !line.ends_with(b"\n") {
            // The client has ended within a message.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if reporter.detected() != Some(Framing::Newline) {
            let header = format!("Content-Length: {}\r\n\r\n", line.len());
            line.splice(..0, header.into_bytes());
        }
        writer.write_all(&line).await?;
        writer.flush().await?;
        line.clear();
    }
    writer.shutdown().await
}

/// Receives the bytes of the peer, and passes each message to the client as a line.
struct Receiver {
    lines: WriteHalf<DuplexStream>,
    limits: Limits,
    reporter: Arc<Reporter>,
    state: NegotiationState,
}

enum NegotiationState {
    Unknown(Detector),
    Newline(HeaderWatch),
    ContentLength(Box<FrameDecoder>),
}

impl Receiver {
    const fn new(lines: WriteHalf<DuplexStream>, limits: Limits, reporter: Arc<Reporter>) -> Self {
        Self { lines, limits, reporter, state: NegotiationState::Unknown(Detector::new(limits.message_bytes)) }
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
            if let Err(error) = self.handle_bytes(bytes).await {
                break Err(error);
            }
            // A chunk may have many short lines and take long to handle, so the task yields to signals and timeouts
            // after each chunk.
            yield_now().await;
        };
        self.reporter.flush();
        // The shutdown ends the input of the client.
        self.lines.shutdown().await?;
        received
    }

    async fn handle_bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let rest;
        if let NegotiationState::Unknown(detector) = &mut self.state {
            let Some(framing) = detector.push(bytes, |noise| self.reporter.noise(noise)) else { return Ok(()) };
            rest = self.set_framing(framing);
            bytes = &rest;
        }
        match &mut self.state {
            NegotiationState::Unknown(_) => Ok(()),
            NegotiationState::Newline(watch) => {
                let mut lines = Vec::new();
                let frames = watch.push(bytes, |line| lines.extend_from_slice(line));
                self.lines.write_all(&lines).await?;
                let Some(frames) = frames else { return Ok(()) };
                let decoder = FrameDecoder::new(Framing::ContentLength, &self.limits);
                self.state = NegotiationState::ContentLength(Box::new(decoder));
                Box::pin(self.handle_bytes(&frames)).await
            }
            NegotiationState::ContentLength(decoder) => {
                loop {
                    let before = bytes;
                    let Some(event) = decoder.next(&mut bytes) else { return Ok(()) };
                    let mut line = Vec::new();
                    let mut chunks = 1;
                    if !forward(&event, &mut line, &self.reporter) {
                        chunks += decoder.reject_body(before) / MAX_NEGOTIATION_BYTES;
                    }
                    self.lines.write_all(&line).await?;
                    // Without this loop, the task would never yield while it reads many messages that are not JSON,
                    // since the task writes nothing for such messages. Once the budget is used up, the task yields to
                    // signals and timeouts.
                    for _ in 0..chunks {
                        consume_budget().await;
                    }
                }
            }
        }
    }

    async fn finish(&mut self) -> io::Result<()> {
        if let NegotiationState::Unknown(detector) = &self.state {
            let framing = detector.finish();
            let rest = self.set_framing(framing);
            self.handle_bytes(&rest).await?;
        }
        if let NegotiationState::Newline(watch) = &mut self.state {
            let mut lines = Vec::new();
            watch.finish(|line| lines.extend_from_slice(line));
            self.lines.write_all(&lines).await?;
        }
        if let NegotiationState::ContentLength(decoder) = &mut self.state {
            let mut line = Vec::new();
            while let Some(event) = decoder.finish() {
                forward(&event, &mut line, &self.reporter);
            }
        }
        Ok(())
    }

    /// Sets the framing. Returns the buffered input, which begins with the first message.
    fn set_framing(&mut self, framing: Framing) -> Vec<u8> {
        let state = match framing {
            Framing::Newline => NegotiationState::Newline(HeaderWatch::default()),
            // WIPC is detected only at the end of the input. The decoder of WIPC then reports the frames of the peer.
            // These frames contain no response, since a peer that uses WIPC cannot read the request.
            Framing::ContentLength | Framing::Wipc => {
                NegotiationState::ContentLength(Box::new(FrameDecoder::new(framing, &self.limits)))
            }
        };
        match std::mem::replace(&mut self.state, state) {
            NegotiationState::Unknown(detector) => {
                let rest = detector.into_rest();
                if !rest.is_empty() {
                    self.reporter.set_detected(framing);
                }
                rest
            }
            _ => Vec::new(),
        }
    }
}

/// Appends a message to `line`, or reports any other event. Returns `false` for a body that is not JSON.
fn forward(event: &Event<'_>, line: &mut Vec<u8>, reporter: &Reporter) -> bool {
    match event {
        Event::Body(body) if serde_json::from_slice::<&RawValue>(body).is_ok() => {
            // In valid JSON, line ends occur only between tokens, so the line ends can be omitted.
            line.extend(body.iter().filter(|byte| !matches!(byte, b'\n' | b'\r')));
            line.push(b'\n');
        }
        Event::Body(body) => {
            reporter.invalid_json();
            report_unreadable(body, Unreadable::NotJson, reporter);
            return false;
        }
        Event::Refused { body, .. } => {
            reporter.invalid_json();
            report_unreadable(body, Unreadable::ContentType, reporter);
        }
        Event::Dropped { beginning, why } => report_unreadable(beginning, *why, reporter),
        Event::Fault(fault) => reporter.fault(*fault),
        Event::Noise { bytes, .. } => reporter.noise(bytes),
        Event::Frame(frame) => reporter.frame(*frame),
    }
    true
}

/// Ends the call if the unreadable `text` may be the response of the call.
fn report_unreadable(text: &[u8], why: Unreadable, reporter: &Reporter) {
    let mut is_answer = false;
    let message = json::find_response_ids(text, |id| is_answer |= id == Id::Integer(1));
    if is_answer || message.may_be_response_without_id {
        reporter.end_call(why);
    }
}
