//! Passes the messages of one transport to another transport, and back.

use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::future::Future;
use std::io;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::child::ChildProcess;
use super::driver::streams::{ByteIo, Io};
use super::limits::{MAX_RELAYED_BYTES, OUTPUT_GRACE};
use super::outbox::Outbox;
use super::settings::Settings;
use super::tap::LinkTap;
use super::transport::{Streams, Transport};
use crate::codec::frame::Event as Frame;
use crate::error::Closed;

/// Maximum bytes of one read.
const CHUNK_BYTES: usize = 16 * 1024;

/// One side of a relay.
struct Side {
    io: Io,
    child: Option<ChildProcess>,
    tap: Option<LinkTap>,
    grace: Duration,
    /// The messages that are being written.
    writing: Outbox,
    /// The messages to write after `writing`.
    queued: Outbox,
    /// The size of the written part of `writing`.
    written: usize,
    is_flushed: bool,
    /// The maximum time from the beginning of a message to its end. `None` for a child process, whose messages may take
    /// any time.
    partial_limit: Option<Duration>,
    /// The number that identifies the incomplete message, and the time at which the beginning of this message was
    /// received.
    partial: Option<(u64, Instant)>,
}

struct Relay {
    sides: [Side; 2],
    /// The reason why the relay ends, and the deadline to pass on the messages that were already received.
    end: Option<(Closed, Instant)>,
    /// The time at which both sides are closed, even if a peer does not read.
    close_deadline: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Transport {
    /// Passes each message of this transport to `other`, and each message of `other` to this transport. Ends when one
    /// of the two transports ends, or when `shutdown` completes. Returns the reason. The text of a message is not
    /// changed, except for line ends between its tokens.
    ///
    /// The relay itself sends no responses, neither to invalid messages nor for unknown methods. Only the limits for a
    /// single message apply, such as its length. While one peer does not read, the relay stops reading from the other
    /// peer. A message that is too long or is not UTF-8 ends the relay. After the end of one transport, received
    /// messages are still passed on, within the longer grace of the two transports. A process ends with the relay, as
    /// in [`Transport::child`], and a WebSocket of a server is closed with 1001.
    ///
    /// ```no_run
    /// use portway::{Framing, Listener, Transport};
    ///
    /// # async fn run() -> std::io::Result<()> {
    /// // Each connection has its own language server.
    /// let listener = Listener::tcp("127.0.0.1:4000", Framing::ContentLength).await?;
    /// loop {
    ///     let client = listener.accept().await?;
    ///     let mut command = tokio::process::Command::new("pylsp");
    ///     let server = Transport::child(&mut command, Framing::ContentLength)?;
    ///     tokio::spawn(client.relay(server, std::future::pending()));
    /// }
    /// # }
    /// ```
    pub async fn relay(self, other: Self, shutdown: impl Future<Output = ()>) -> Closed {
        let mut relay = Relay { sides: [self, other].map(Side::new), end: None, close_deadline: None, sleep: None };
        let mut shutdown = pin!(shutdown);
        let mut is_stopped = false;
        let why = poll_fn(|context| {
            if !is_stopped && shutdown.as_mut().poll(context).is_ready() {
                is_stopped = true;
                relay.stop();
            }
            relay.poll_pass(context)
        })
        .await;
        poll_fn(|context| relay.poll_end(context)).await;
        let status = poll_fn(|context| relay.poll_exit(context)).await;
        let why = match (why, status) {
            (Closed::End, Some(status)) => Closed::Exited(status),
            (why, _) => why,
        };
        relay.sides.iter().filter_map(|side| side.tap.as_ref()).for_each(|tap| tap.close(&why));
        why
    }
}

impl Side {
    fn new(transport: Transport) -> Self {
        let framing = transport.framing();
        let (streams, settings, tap) = transport.into_parts();
        let (Streams { io, child, child_grace }, Settings { limits, grace, wipc, .. }) = (streams, settings);
        Self {
            io: Io::new(io, &limits, wipc.max_payload),
            partial_limit: child.is_none().then_some(Duration::from_millis(limits.partial_frame_ms)),
            child,
            tap,
            grace: child_grace.unwrap_or(grace),
            writing: Outbox::new(framing),
            queued: Outbox::new(framing),
            written: 0,
            is_flushed: true,
            partial: None,
        }
    }

    fn unwritten(&self) -> usize {
        self.queued.size() + self.writing.size() - self.written
    }

    /// Writes the queued messages. Returns `Ready` when all messages are written and flushed.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.io.is_writing() {
            return Poll::Ready(Ok(()));
        }
        loop {
            if self.written == self.writing.size() {
                self.writing.clear(CHUNK_BYTES);
                core::mem::swap(&mut self.writing, &mut self.queued);
                self.written = 0;
                if self.writing.size() == 0 {
                    break;
                }
            }
            self.written += ready!(self.io.poll_write(context, &mut self.writing, self.written))?;
            self.is_flushed = false;
        }
        if !self.is_flushed {
            ready!(self.io.poll_flush(context))?;
            self.is_flushed = true;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads once, and passes the messages to `other`. Returns the reason if the input ends.
    fn poll_read(&mut self, context: &mut Context<'_>, other: &mut Outbox) -> Poll<Option<Closed>> {
        let end = match &mut self.io {
            Io::Bytes(io) => ready!(poll_bytes(io, context, other)),
            Io::Messages(io) => match io.channel.poll_receive(context) {
                Poll::Pending => {
                    self.detect_partial();
                    return Poll::Pending;
                }
                Poll::Ready(Err(why)) => Some(why),
                Poll::Ready(Ok(())) => {
                    let end = pass(io.channel.received(), other).err();
                    io.channel.release();
                    end
                }
            },
        };
        self.detect_partial();
        Poll::Ready(end)
    }

    /// Updates `partial`. The time changes only when another message becomes incomplete.
    fn detect_partial(&mut self) {
        self.partial = self.io.unfinished().map(|message| match self.partial {
            Some((same, since)) if same == message => (same, since),
            _ => (message, Instant::now()),
        });
    }

    /// Returns the time at which the incomplete message must be complete.
    fn deadline(&self) -> Option<Instant> {
        let (_, since) = self.partial.filter(|_| self.io.is_reading())?;
        since.checked_add(self.partial_limit?)
    }

    fn time_out(&mut self, context: &mut Context<'_>) -> Closed {
        match &mut self.io {
            Io::Messages(io) => io.channel.time_out(context),
            Io::Bytes(_) => Closed::Io(io::ErrorKind::TimedOut, "a message was not complete in time".into()),
        }
    }
}

impl Relay {
    /// Stops reading.
    fn stop(&mut self) {
        self.begin_end(Closed::Local);
        self.sides.iter_mut().for_each(|side| side.io.end_reading(false));
    }

    fn begin_end(&mut self, why: Closed) {
        let grace = self.sides.iter().map(|side| side.grace).max().unwrap_or_default();
        self.end.get_or_insert_with(|| (why, Instant::now() + grace));
    }

    /// Passes messages on until both sides have ended, or until the grace after the end of one side is over.
    fn poll_pass(&mut self, context: &mut Context<'_>) -> Poll<Closed> {
        loop {
            let mut has_progress = false;
            for (from, to) in [(0, 1), (1, 0)] {
                has_progress |= self.pass_one_way(context, from, to);
            }
            self.check_children(context);
            let is_done =
                self.sides.iter().all(|side| !side.io.is_reading() && side.unwritten() == 0 && side.is_flushed);
            if let Some((why, deadline)) = &self.end
                && (is_done || Instant::now() >= *deadline)
            {
                return Poll::Ready(why.clone());
            }
            if has_progress {
                continue;
            }
            let partial = self.sides.iter().filter_map(Side::deadline).min();
            let end = self.end.as_ref().map(|(_, deadline)| *deadline);
            let Some(next) = partial.into_iter().chain(end).min() else { return Poll::Pending };
            ready!(self.poll_until(context, next));
            for index in 0..self.sides.len() {
                let Some(side) = self.sides.get_mut(index) else { continue };
                if side.deadline().is_some_and(|deadline| deadline <= Instant::now()) {
                    let why = side.time_out(context);
                    side.io.end_reading(false);
                    self.begin_end(why);
                }
            }
        }
    }

    /// Writes queued messages to the side `to`, and reads from the side `from`. Returns whether input was read, or a
    /// side has ended.
    fn pass_one_way(&mut self, context: &mut Context<'_>, from: usize, to: usize) -> bool {
        let Ok([from, to]) = self.sides.get_disjoint_mut([from, to]) else { return false };
        let mut why = None;
        match to.poll_write(context) {
            Poll::Ready(Err(error)) => {
                to.io.end_writing();
                to.queued.clear(0);
                to.writing.clear(0);
                (to.written, to.is_flushed) = (0, true);
                why = Some(Closed::from_io(&error));
            }
            // The input of `from` has ended, so the output to `to` ends. The peer of `to` may still send messages.
            Poll::Ready(Ok(()))
                if !from.io.is_reading() && to.io.is_writing() && to.io.poll_shutdown(context).is_ready() =>
            {
                to.io.end_writing();
            }
            _ => {}
        }
        let mut has_progress = why.is_some();
        if from.io.is_reading()
            && to.unwritten() <= MAX_RELAYED_BYTES
            && let Poll::Ready(end) = from.poll_read(context, &mut to.queued)
        {
            has_progress = true;
            if end.is_some() {
                from.io.end_reading(false);
            }
            why = why.or(end);
        }
        if let Some(why) = why {
            self.begin_end(why);
        }
        has_progress
    }

    /// Limits the time of the relay after the exit of a process, because another process may keep the pipe open.
    fn check_children(&mut self, context: &mut Context<'_>) {
        let mut exits = self.sides.iter_mut().filter_map(|side| side.child.as_mut());
        if exits.any(|child| child.poll_exit(context).is_ready()) {
            let deadline = Instant::now() + OUTPUT_GRACE;
            let (why, current) = self.end.take().unwrap_or((Closed::End, deadline));
            self.end = Some((why, current.min(deadline)));
        }
    }

    /// Closes both sides. When both the grace and `OUTPUT_GRACE` are over, abandons a peer that does not read.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut is_closed = true;
        for side in &mut self.sides {
            side.io.end_reading(false);
            if side.io.is_writing() {
                side.child.iter_mut().for_each(ChildProcess::record_descendants);
                if side.io.poll_shutdown(context).is_ready() {
                    side.io.end_writing();
                }
                is_closed &= !side.io.is_writing();
            }
        }
        let Some((_, deadline)) = self.end.clone().filter(|_| !is_closed) else { return Poll::Ready(()) };
        // A peer that does not read must not delay the end by more than the grace. But each peer has at least
        // `OUTPUT_GRACE` to read, even if the grace is over.
        let deadline = *self.close_deadline.get_or_insert_with(|| deadline.max(Instant::now() + OUTPUT_GRACE));
        self.poll_until(context, deadline)
    }

    /// Waits for the exit of the processes. Returns the exit status of a process that has exited by itself, or `None`.
    fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<Option<std::process::ExitStatus>> {
        let mut status = None;
        for side in &mut self.sides {
            side.io.end_writing();
            if let Some(child) = &mut side.child {
                child.set_deadline(Instant::now() + side.grace);
                status = ready!(child.poll_tree_exit(context)).or(status);
            }
        }
        Poll::Ready(status)
    }

    fn poll_until(&mut self, context: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut().poll(context)
    }
}

/// Reads bytes once, and passes their messages on. Returns the reason if the input ends.
fn poll_bytes(io: &mut ByteIo, context: &mut Context<'_>, other: &mut Outbox) -> Poll<Option<Closed>> {
    let Some(reader) = &mut io.reader else { return Poll::Pending };
    let mut chunk = [0; CHUNK_BYTES];
    let mut buffer = ReadBuf::new(&mut chunk);
    if let Err(error) = ready!(Pin::new(reader).poll_read(context, &mut buffer)) {
        return Poll::Ready((error.kind() != io::ErrorKind::Interrupted).then(|| Closed::from_io(&error)));
    }
    let mut input = buffer.filled();
    if input.is_empty() {
        while let Some(frame) = io.decoder.finish() {
            if let Err(why) = pass_frame(frame, other) {
                return Poll::Ready(Some(why));
            }
        }
        return Poll::Ready(Some(Closed::End));
    }
    while let Some(frame) = io.decoder.next(&mut input) {
        if let Err(why) = pass_frame(frame, other) {
            return Poll::Ready(Some(why));
        }
    }
    Poll::Ready(None)
}

fn pass_frame(frame: Frame<'_>, other: &mut Outbox) -> Result<(), Closed> {
    match frame {
        Frame::Body(body) => pass(body, other),
        // A program may print text between messages. For a dropped message, the decoder also returns a fault, which
        // ends the relay.
        Frame::Noise { .. } | Frame::Frame(_) | Frame::Dropped { .. } => Ok(()),
        Frame::Refused { .. } => Err(unusable("a message has another content type or charset")),
        Frame::Fault(crate::codec::frame::FrameFault::Truncated { received_bytes }) => {
            Err(Closed::Truncated(received_bytes))
        }
        Frame::Fault(fault) => Err(unusable(&std::format!("a message cannot be passed on: {fault:?}"))),
    }
}

/// Passes a message on. In some framings, a line end between two tokens would end the message. So each line end is
/// replaced with a space.
fn pass(body: &[u8], other: &mut Outbox) -> Result<(), Closed> {
    let text = core::str::from_utf8(body).map_err(|_| unusable("a message is not UTF-8"))?;
    if text.contains(['\n', '\r']) {
        other.push(&text.replace(['\n', '\r'], " "));
    } else {
        other.push(text);
    }
    Ok(())
}

fn unusable(problem: &str) -> Closed {
    Closed::Io(io::ErrorKind::InvalidData, problem.to_owned())
}
