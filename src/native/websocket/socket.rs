//! A WebSocket as a channel of whole messages. In this module, "the library" is `tungstenite`.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::cell::Cell;
use std::future::Future;
use std::io;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, Sleep, sleep_until};
use tungstenite::error::ProtocolError;
use tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tungstenite::protocol::frame::{Frame, FrameHeader};
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig, WebSocketContext};
use tungstenite::{Bytes, Error, Message, Utf8Bytes};

use super::stream::{ObservedStream, Polled, WRITE_BYTES};
use super::tcp_progress::{Taken, TcpProgress};
use crate::Limits;
use crate::error::Closed;
use crate::native::limits::{MAX_UNFLUSHED_PONGS, WEBSOCKET_PING_INTERVAL, WEBSOCKET_PING_TIMEOUT};
use crate::native::message_channel::MessageChannel;

/// Size of the read buffer of the library. Each connection has a buffer of this size, so the size is small.
/// [`ObservedStream`] reads more bytes in one read.
const READ_BYTES: usize = 1024;

/// Maximum bytes of one read of input that is discarded.
const DISCARD_BYTES: usize = 8 * 1024;

/// Additional wait for input after the peer was silent for too long. Unread input may be available, because this
/// process may have been suspended.
const FINAL_WAIT: core::time::Duration = core::time::Duration::from_secs(1);

/// A WebSocket after its handshake. The drop of `K` releases the place of the connection.
pub(super) struct WebSocket<S, K> {
    stream: ObservedStream<S>,
    framing: WebSocketContext,
    role: Role,
    received: Option<Received>,
    /// Whether sent bytes wait until the stream has room.
    is_blocked: bool,
    /// The number of pings from the peer since the output was last flushed. The library answers each ping with a pong.
    unflushed_pongs: usize,
    /// The reason why the WebSocket was closed, by a close frame of either side.
    closed: Option<Closed>,
    /// Whether the close frames of both sides were exchanged, or the input has ended.
    is_acknowledged: bool,
    /// Whether the output was shut down.
    is_shut_down: bool,
    ping: PingTimer,
    _place: K,
}

enum Received {
    Text(Utf8Bytes),
    Binary(Bytes),
}

/// Detects peers that no longer respond.
#[derive(Default)]
struct PingTimer {
    sleep: Option<Pin<Box<Sleep>>>,
    /// The time of the latest ping, or a later time at which the peer was still taking earlier bytes.
    sent: Option<Instant>,
    progress: Option<TcpProgress>,
    /// The progress at the time `sent`.
    taken: Option<Taken>,
    /// The end of `FINAL_WAIT`, or `None` before it starts.
    end: Option<Instant>,
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin, K: Send> WebSocket<S, K> {
    /// Creates a WebSocket on an upgraded connection. `progress` reads how many bytes the system of the peer has taken.
    /// `unread` are bytes that were read after the head.
    pub(super) fn new(stream: S, progress: Option<TcpProgress>, mut unread: Vec<u8>, role: Role, place: K) -> Self {
        Self {
            stream: ObservedStream::new(stream, &mut unread),
            framing: WebSocketContext::from_partially_read(unread, role, Some(config(&Limits::DEFAULT))),
            role,
            received: None,
            is_blocked: false,
            unflushed_pongs: 0,
            closed: None,
            is_acknowledged: false,
            is_shut_down: false,
            ping: PingTimer { progress, ..PingTimer::default() },
            _place: place,
        }
    }

    /// Calls the library. Returns `Pending` if the call must wait for the stream.
    fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        call: impl FnOnce(&mut WebSocketContext, &mut Polled<'_, '_, '_, S>) -> Result<T, Error>,
    ) -> Poll<Result<T, Error>> {
        match call(&mut self.framing, &mut Polled { stream: &mut self.stream, context }) {
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            other => Poll::Ready(other),
        }
    }

    /// Writes all frames that are buffered. Returns an error if the peer is silent for too long.
    fn poll_flush_frames(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(result) = self.poll_output(context) {
            self.unflushed_pongs = 0;
            return Poll::Ready(result);
        }
        self.poll_silence(context).map(|why| Err(io::Error::new(io::ErrorKind::TimedOut, why.to_string())))
    }

    /// Writes all frames that are buffered.
    fn poll_output(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The library may hold a control frame that it has not passed to the stream.
        let flushed = self.poll(context, |framing, stream| framing.flush(stream));
        self.is_blocked = flushed.is_pending();
        written(ready!(flushed))?;
        let flushed = self.stream.poll_flush(context);
        self.is_blocked = flushed.is_pending();
        flushed
    }

    /// Buffers one frame that the library encodes.
    fn send_frame(&mut self, context: &mut Context<'_>, message: Message) -> io::Result<()> {
        match self.poll(context, |framing, stream| framing.write(stream, message)) {
            Poll::Ready(result) => written(result),
            Poll::Pending => {
                self.is_blocked = true;
                Ok(())
            }
        }
    }

    /// Closes the WebSocket with this code. Messages that are sent afterwards are dropped.
    fn fail(&mut self, context: &mut Context<'_>, code: CloseCode, reason: String) -> Closed {
        let frame = CloseFrame { code, reason: reason.as_str().into() };
        // If the close frame cannot be written now, `poll_close` writes it.
        let _ = self.poll(context, |framing, stream| framing.close(stream, Some(frame)));
        self.closed.get_or_insert_with(|| Closed::WebSocket { code: code.into(), reason }).clone()
    }

    /// Handles an error of the library. Returns the reason why the input ends.
    fn handle_error(&mut self, context: &mut Context<'_>, error: Error) -> Closed {
        match error {
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
                self.is_acknowledged = true;
                match self.stream.tracker.unfinished() {
                    Some(_) => Closed::Truncated(self.stream.tracker.received_bytes()),
                    None => Closed::End,
                }
            }
            Error::ConnectionClosed | Error::AlreadyClosed => {
                self.is_acknowledged = true;
                self.closed.clone().unwrap_or(Closed::End)
            }
            Error::Io(_) if self.stream.tracker.has_invalid_length() => {
                self.fail(context, CloseCode::Protocol, "the length of a frame must have the shortest form".into())
            }
            Error::Io(error) => {
                self.is_acknowledged = true;
                Closed::from_io(&error)
            }
            Error::Utf8(_) => self.fail(context, CloseCode::Invalid, "text must be UTF-8".into()),
            Error::Capacity(error) => self.fail(context, CloseCode::Size, error.to_string()),
            Error::Protocol(error) => self.fail(context, CloseCode::Protocol, error.to_string()),
            _ => self.fail(context, CloseCode::Protocol, "the frame is invalid".into()),
        }
    }

    /// Handles the close frame of the peer.
    fn handle_close(&mut self, context: &mut Context<'_>, frame: Option<CloseFrame>) -> Closed {
        let (code, reason) = match frame {
            Some(CloseFrame { code, reason }) => (code.into(), reason.as_str().to_owned()),
            None => (CloseCode::Status.into(), String::new()),
        };
        self.is_acknowledged = true;
        let closed = self.closed.get_or_insert(Closed::WebSocket { code, reason }).clone();
        // The close frame of this side is sent now, because running handlers may delay the end of the link.
        let _ = self.poll_close(context);
        closed
    }

    /// Sends a ping after the peer was silent for `WEBSOCKET_PING_INTERVAL`. Returns the reason for the end if the peer
    /// does not answer the ping.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<Closed> {
        loop {
            let seen = self.stream.last_seen;
            let sent = self.ping.sent.filter(|sent| *sent > seen);
            let due = match (sent, self.ping.end) {
                (None, _) => seen + WEBSOCKET_PING_INTERVAL,
                (Some(sent), None) => sent + WEBSOCKET_PING_TIMEOUT,
                (Some(_), Some(end)) => end,
            };
            ready!(self.ping.poll_until(context, due));
            let now = Instant::now();
            match (sent, self.ping.end) {
                (None, _) => {
                    (self.ping.sent, self.ping.end) = (Some(now), None);
                    self.ping.taken = self.ping.progress.as_ref().and_then(TcpProgress::taken);
                    if !self.is_blocked {
                        let result = self.send_frame(context, Message::Ping(Bytes::new()));
                        if result.is_ok() {
                            // The result is ignored, because a failed write also fails at the next call.
                            let _ = self.poll_output(context);
                        }
                    }
                }
                // The ping waits behind bytes that the peer is still taking.
                (Some(_), None) if self.ping.is_peer_reading() => self.ping.sent = Some(now),
                (Some(_), None) => self.ping.end = Some(now + FINAL_WAIT),
                (Some(_), Some(_)) => {
                    self.is_acknowledged = true;
                    let silence = now.duration_since(seen).as_secs();
                    let problem = std::format!("the peer was silent for {silence} s and did not answer a ping");
                    return Poll::Ready(Closed::Io(io::ErrorKind::TimedOut, problem));
                }
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin, K: Send> MessageChannel for WebSocket<S, K> {
    fn set_limits(&mut self, limits: &Limits) {
        self.framing.set_config(|current| *current = config(limits));
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        loop {
            if let Some(closed) = &self.closed {
                return Poll::Ready(Err(closed.clone()));
            }
            // If a peer sends pings and does not read, unwritten pongs must not use more and more memory.
            if self.unflushed_pongs >= MAX_UNFLUSHED_PONGS
                && let Err(error) = ready!(self.poll_flush_frames(context))
            {
                return Poll::Ready(Err(Closed::from_io(&error)));
            }
            let received = match self.poll(context, |framing, stream| framing.read(stream)) {
                Poll::Ready(Ok(message)) => message,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.handle_error(context, error))),
                Poll::Pending => return self.poll_silence(context).map(Err),
            };
            self.received = match received {
                Message::Text(text) => Some(Received::Text(text)),
                Message::Binary(bytes) => Some(Received::Binary(bytes)),
                Message::Close(frame) => return Poll::Ready(Err(self.handle_close(context, frame))),
                Message::Ping(_) => {
                    self.unflushed_pongs += 1;
                    continue;
                }
                Message::Pong(_) | Message::Frame(_) => continue,
            };
            return Poll::Ready(Ok(()));
        }
    }

    fn received(&self) -> &[u8] {
        match &self.received {
            Some(Received::Text(text)) => text.as_str().as_bytes(),
            Some(Received::Binary(bytes)) => bytes,
            None => &[],
        }
    }

    fn release(&mut self) {
        self.received = None;
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.closed.is_none() && self.is_blocked { self.poll_flush_frames(context) } else { Poll::Ready(Ok(())) }
    }

    fn send(&mut self, context: &mut Context<'_>, text: &str, sent: usize) -> io::Result<usize> {
        let rest = text.as_bytes().get(sent..).unwrap_or_default();
        // After a close frame, no message may follow (RFC 6455 §5.5.1).
        if !self.framing.can_write() {
            return Ok(rest.len());
        }
        let fragment = rest.get(..WRITE_BYTES).unwrap_or(rest);
        let kind = if sent == 0 { Data::Text } else { Data::Continue };
        let is_last = fragment.len() == rest.len();
        let opcode = OpCode::Data(kind);
        if self.role == Role::Server {
            // A server does not mask its payloads (RFC 6455 §5.1), so the text is copied to the output directly.
            let header = FrameHeader { is_final: is_last, opcode, ..FrameHeader::default() };
            let output = self.stream.output();
            written(header.format(fragment.len() as u64, output))?;
            output.extend_from_slice(fragment);
        } else {
            self.send_frame(context, Message::Frame(Frame::message(copy_of(fragment), opcode, is_last)))?;
        }
        self.is_blocked |= self.stream.write_if_full(context)?;
        Ok(fragment.len())
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_ready(context))?;
        self.poll_flush_frames(context)
    }

    fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.closed.is_none() && !self.is_acknowledged {
            ready!(self.poll_ready(context))?;
            // A server uses the code for an endpoint that goes away, and a client uses the code for a normal end (RFC
            // 6455 §7.4.1).
            let code = if self.role == Role::Server { CloseCode::Away } else { CloseCode::Normal };
            self.fail(context, code, String::new());
        }
        if !self.is_shut_down {
            // If the flush fails, the connection has ended, so the next steps are omitted.
            ready!(self.poll_output(context))?;
            ready!(self.stream.poll_shutdown(context))?;
            self.is_shut_down = true;
        }
        // If bytes of the peer arrive after the socket is closed, the peer may not receive the close frame. So bytes
        // are read and discarded until the peer has ended its output.
        let mut scratch = [0; DISCARD_BYTES];
        while !self.is_acknowledged {
            self.is_acknowledged = ready!(self.stream.poll_discard(context, &mut scratch))? == 0;
        }
        Poll::Ready(Ok(()))
    }

    fn unfinished(&self) -> Option<u64> {
        self.stream.tracker.unfinished()
    }

    fn received_bytes(&self) -> u64 {
        self.stream.read
    }

    fn time_out(&mut self, context: &mut Context<'_>) -> Closed {
        self.fail(context, CloseCode::Policy, "a message was not complete in time".into())
    }
}

impl PingTimer {
    /// Returns whether the peer has taken bytes since the latest call of this method, or since the ping. The bytes
    /// count only if further bytes had to wait at that call or ping. Otherwise, a stopped peer could count as reading,
    /// because its system takes bytes until its buffer is full.
    fn is_peer_reading(&mut self) -> bool {
        let now = self.progress.as_ref().and_then(TcpProgress::taken);
        let before = core::mem::replace(&mut self.taken, now);
        before.zip(now).is_some_and(|(before, now)| before.has_more && now.bytes > before.bytes)
    }

    /// Polls until `due`. If the timer is set to an earlier time, it is not reset before that time, because most values
    /// of `due` are never reached.
    fn poll_until(&mut self, context: &mut Context<'_>, due: Instant) -> Poll<()> {
        loop {
            if Instant::now() >= due {
                return Poll::Ready(());
            }
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(due)));
            if sleep.deadline() > due || sleep.is_elapsed() {
                sleep.as_mut().reset(due);
            }
            ready!(sleep.as_mut().poll(context));
        }
    }
}

/// Copies the payload of a frame to a buffer of the thread. The library drops the copy when it has buffered the frame,
/// so the next copy uses the same memory.
fn copy_of(payload: &[u8]) -> Bytes {
    thread_local! {
        static BUFFER: Cell<BytesMut> = Cell::new(BytesMut::with_capacity(WRITE_BYTES));
    }

    let mut buffer = BUFFER.take();
    buffer.extend_from_slice(payload);
    let copy = buffer.split().freeze();
    BUFFER.set(buffer);
    copy
}

/// Returns the configuration of the library.
fn config(limits: &Limits) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        // `ObservedStream` buffers the output.
        .write_buffer_size(0)
        .max_message_size(Some(limits.message_bytes))
        .max_frame_size(Some(limits.message_bytes))
}

/// Converts the result of a write. After a close frame, the rest of the output is dropped without an error.
fn written(result: Result<(), Error>) -> io::Result<()> {
    match result {
        Ok(())
        | Err(Error::ConnectionClosed | Error::AlreadyClosed | Error::Protocol(ProtocolError::SendAfterClosing)) => {
            Ok(())
        }
        Err(Error::Io(error)) => Err(error),
        Err(error) => Err(io::Error::other(error.to_string())),
    }
}
