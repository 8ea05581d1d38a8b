//! Sends and receives WIPC frames of any content, on tokio.

use core::fmt;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, timeout, timeout_at};

use super::OwnedFrame;
use crate::codec::wipc::{Decoder, Event, FrameType, encode};
use crate::native::limits::{MAX_QUEUED_FRAMES, SHUTDOWN_TIMEOUT};
use crate::native::stdin::AsyncStdin;
use crate::native::stdout::AtomicStdout;

/// Maximum bytes of one read.
const READ_BYTES: usize = 64 * 1024;

/// A channel for frames of any content between a host and its guest. The host and the guest each have one channel.
///
/// For JSON-RPC, use a [`Transport`](crate::Transport) with [`Framing::Wipc`](crate::Framing::Wipc) instead.
///
/// ```no_run
/// use portway::codec::wipc::FrameType;
/// use portway::wipc::Channel;
///
/// # async fn run() -> std::io::Result<()> {
/// // A guest that sends each frame back.
/// let (sender, mut receiver) = Channel::stdio()?.split();
/// while let Some(frame) = receiver.receive().await? {
///     sender.send(frame.frame_type, &frame.payload).await?;
/// }
/// sender.end().await;
/// # Ok(())
/// # }
/// ```
///
/// After the receiver and all senders are dropped, queued frames have two seconds to be written. The output is closed
/// after these frames, or after the two seconds. [`Sender::end`] waits without a timeout.
#[derive(Debug)]
pub struct Channel {
    sender: Sender,
    receiver: Receiver,
}

impl Channel {
    /// Creates the channel of a guest. After `CLOSE` was received, the channel reads no more input, and returns the
    /// frames that were already read. The guest may still send until it exits.
    ///
    /// # Errors
    /// If the function is called outside of a tokio runtime.
    pub fn guest(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> io::Result<Self> {
        Self::new(reader, writer, true)
    }

    /// Creates the channel of a guest on standard input and output. Text that the program prints to standard output is
    /// written between frames, and never splits a frame.
    ///
    /// The two streams may be non-blocking (`O_NONBLOCK`), or may become non-blocking later: see
    /// [`stdio`](crate::stdio). A pending write delays the shutdown of the runtime. To exit while the host does not
    /// read, use [`std::process::exit`] or `Runtime::shutdown_background`.
    ///
    /// # Errors
    /// If the function is called outside of a tokio runtime.
    pub fn stdio() -> io::Result<Self> {
        // Outside of a runtime, this function must fail before it creates the streams.
        Handle::try_current().map_err(io::Error::other)?;
        Self::guest(AsyncStdin::default(), AtomicStdout::default())
    }

    /// Creates the channel of a host. After the guest has sent `CLOSE`, the channel begins no further frame. A partly
    /// written frame has two seconds to be completed. After the frame or this time, the input of the guest is closed.
    /// Frames from the guest are still received.
    ///
    /// # Errors
    /// If the function is called outside of a tokio runtime.
    pub fn host(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> io::Result<Self> {
        Self::new(reader, writer, false)
    }

    fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        is_guest: bool,
    ) -> io::Result<Self> {
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let (queue, frames) = mpsc::channel(MAX_QUEUED_FRAMES);
        let output = Arc::new(Output::default());
        runtime.spawn(write(frames, writer, Arc::clone(&output)));
        let guard = Arc::new(DropGuard(Arc::clone(&output)));
        let sender = Sender { queue, output: Arc::clone(&output), _guard: Arc::clone(&guard) };
        let receiver = Receiver {
            reader: Box::new(reader),
            decoder: Decoder::new(),
            chunk: Vec::new(),
            undecoded_start: 0,
            undecoded_end: 0,
            has_ended: false,
            is_guest,
            output,
            _guard: guard,
            on_passthrough: None,
            payload_timeout: None,
            unfinished: None,
        };
        Ok(Self { sender, receiver })
    }

    /// Splits the channel into a sender and a receiver.
    #[must_use]
    pub fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }
}

/// A command for the task that writes.
#[derive(Debug)]
enum WriteCommand {
    Frame {
        frame: Vec<u8>,
        /// Whether the frame is `CLOSE`, which ends the output.
        is_last: bool,
    },
    /// End the output after all frames that were queued before this command.
    End,
}

/// The state of a channel's output.
#[derive(Debug, Default)]
pub(super) struct Output(watch::Sender<WriteState>);

/// The states of an output, in ascending order. The state of an output never decreases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WriteState {
    #[default]
    Open,
    /// `CLOSE` was sent. Earlier frames in the queue are still written.
    CloseSent,
    /// The receiver and all senders were dropped. Queued frames have `SHUTDOWN_TIMEOUT` to be written.
    HandlesDropped,
    /// The guest has exited, or its handle was dropped. No further frame is written.
    GuestExited,
    /// The host received `CLOSE`. No further frame is written.
    CloseReceived,
}

impl Output {
    /// Sets the state, unless the output has this state or a later state.
    pub(super) fn advance_to(&self, state: WriteState) {
        self.0.send_if_modified(|current| {
            let is_new = *current < state;
            *current = state.max(*current);
            is_new
        });
    }

    /// Waits for this state or a later state.
    pub(super) async fn wait_for(&self, state: WriteState) {
        let _ = self.0.subscribe().wait_for(|current| *current >= state).await;
    }

    /// Returns the error of a `send` in the current state.
    fn error(&self) -> io::Error {
        send_error(*self.0.borrow())
    }

    /// Runs `put` if the output is open. The state is locked while `put` runs, so that no frame follows `CLOSE`.
    fn put(&self, frame_type: FrameType, put: impl FnOnce()) -> io::Result<()> {
        let mut outcome = Ok(());
        self.0.send_if_modified(|state| {
            if *state != WriteState::Open {
                outcome = Err(send_error(*state));
                return false;
            }
            put();
            let is_last = frame_type == FrameType::Close;
            if is_last {
                *state = WriteState::CloseSent;
            }
            is_last
        });
        outcome
    }
}

fn send_error(state: WriteState) -> io::Error {
    let problem = match state {
        WriteState::Open | WriteState::HandlesDropped => "the channel has ended",
        WriteState::CloseSent => "cannot send after CLOSE",
        WriteState::GuestExited => "the guest has exited",
        WriteState::CloseReceived => "the guest has sent CLOSE",
    };
    io::Error::new(io::ErrorKind::BrokenPipe, problem)
}

/// The receiver and all senders of a channel share this value. When the last of them is dropped, the state of the
/// output becomes at least [`WriteState::HandlesDropped`].
#[derive(Debug)]
struct DropGuard(Arc<Output>);

impl Drop for DropGuard {
    fn drop(&mut self) {
        self.0.advance_to(WriteState::HandlesDropped);
    }
}

/// Returns the output of `work`, or `None` if `end` completes first.
pub(super) async fn run_until<T>(work: impl Future<Output = T>, end: impl Future) -> Option<T> {
    let (mut work, mut end) = (pin!(work), pin!(end));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => end.as_mut().poll(context).map(|_| None),
    })
    .await
}

/// Writes queued frames. After the guest has sent `CLOSE` or has exited, writing has `SHUTDOWN_TIMEOUT` to complete.
/// The same time applies after the receiver and all senders were dropped.
async fn write(
    commands: mpsc::Receiver<WriteCommand>,
    writer: impl AsyncWrite + Unpin,
    output: Arc<Output>,
) -> io::Result<()> {
    let mut writing = pin!(write_frames(commands, writer, &output));
    match run_until(writing.as_mut(), output.wait_for(WriteState::HandlesDropped)).await {
        Some(written) => written,
        None => timeout(SHUTDOWN_TIMEOUT, writing).await?,
    }
}

/// Writes frames one after the other. Each frame is written completely, even if its sender is dropped.
async fn write_frames(
    mut commands: mpsc::Receiver<WriteCommand>,
    mut writer: impl AsyncWrite + Unpin,
    output: &Output,
) -> io::Result<()> {
    while let Some(Some(WriteCommand::Frame { frame, is_last })) =
        run_until(commands.recv(), output.wait_for(WriteState::GuestExited)).await
    {
        if *output.0.borrow() >= WriteState::GuestExited {
            break;
        }
        writer.write_all(&frame).await?;
        if is_last {
            break;
        }
        if commands.is_empty() {
            writer.flush().await?;
        }
    }
    // The `shutdown` of some writers does not flush.
    writer.flush().await?;
    writer.shutdown().await
}

/// The sender of a channel. A clone sends on the same channel.
#[derive(Clone, Debug)]
pub struct Sender {
    queue: mpsc::Sender<WriteCommand>,
    output: Arc<Output>,
    _guard: Arc<DropGuard>,
}

impl Sender {
    /// Sends a frame. Waits while the queue is full. If the future is dropped, the frame is sent as a whole or not at
    /// all. After a `CLOSE` frame, the output is shut down.
    ///
    /// # Errors
    /// Returns [`io::ErrorKind::InvalidInput`] for a payload of 4 GiB or more. Returns [`io::ErrorKind::BrokenPipe`]
    /// after a `CLOSE` frame was sent, after the guest has exited, and after the channel has ended. On a host, also
    /// returns `BrokenPipe` after the guest has sent `CLOSE`. When the guest sends `CLOSE`, a `send` that waits for
    /// room in the queue also fails.
    pub async fn send(&self, frame_type: FrameType, payload: &[u8]) -> io::Result<()> {
        let mut frame = Vec::new();
        encode(frame_type, payload, &mut frame)
            .map_err(|problem| io::Error::new(io::ErrorKind::InvalidInput, problem))?;
        let Some(Ok(permit)) = run_until(self.queue.reserve(), self.output.wait_for(WriteState::CloseSent)).await
        else {
            return Err(self.output.error());
        };
        self.output
            .put(frame_type, || permit.send(WriteCommand::Frame { frame, is_last: frame_type == FrameType::Close }))
    }

    /// Ends the output after all queued frames are written. After the output has ended, the peer reads the end of its
    /// input. Waits until the output has ended, or a write has failed.
    pub async fn end(&self) {
        // An error means that the output has already ended.
        let _ = run_until(self.queue.send(WriteCommand::End), self.output.wait_for(WriteState::CloseSent)).await;
        self.queue.closed().await;
    }
}

type OnPassthrough = dyn FnMut(&[u8]) + Send;

/// The receiver of a channel.
pub struct Receiver {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    decoder: Decoder,
    chunk: Vec<u8>,
    /// The position in `chunk` of the first byte that is not decoded yet.
    undecoded_start: usize,
    /// The position in `chunk` after the last byte that was read.
    undecoded_end: usize,
    /// Whether the input has ended or failed, or a guest received `CLOSE`.
    has_ended: bool,
    is_guest: bool,
    output: Arc<Output>,
    _guard: Arc<DropGuard>,
    on_passthrough: Option<Box<OnPassthrough>>,
    /// Maximum time between the header of a frame and the end of its payload.
    payload_timeout: Option<Duration>,
    /// The number that identifies the incomplete payload, and the deadline of this payload.
    unfinished: Option<(u64, Instant)>,
}

impl Receiver {
    /// Returns the output state of this channel.
    pub(super) const fn output(&self) -> &Arc<Output> {
        &self.output
    }

    /// Registers a function that receives every byte between frames, in order. On a host, these bytes are the text
    /// output of the guest. The bytes may be split into pieces at any position. A panic in the function does not end
    /// the channel.
    #[must_use]
    pub fn on_passthrough(self, listener: impl FnMut(&[u8]) + Send + 'static) -> Self {
        Self { on_passthrough: Some(Box::new(listener)), ..self }
    }

    /// Rejects frames whose payload exceeds `max_payload` bytes. The bytes of a rejected frame are passthrough, and are
    /// searched for other frames. Default: 2^32 − 1.
    #[must_use]
    pub fn with_max_payload(self, max_payload: u32) -> Self {
        Self { decoder: Decoder::with_max_payload(max_payload), ..self }
    }

    /// Sets the maximum time between the header of a frame and the end of its payload. After a timeout, the frame is
    /// abandoned, and the received bytes are searched for other frames. Default: no limit.
    #[must_use]
    pub fn with_payload_timeout(self, payload_timeout: Duration) -> Self {
        Self { payload_timeout: Some(payload_timeout), ..self }
    }

    /// Waits for the next frame. Returns `None` at the end of the input. If the future is dropped, no frame is lost.
    ///
    /// # Errors
    /// Returns the error of the reader. Returns [`io::ErrorKind::UnexpectedEof`] if the input ends within a frame. In
    /// this case, the bytes of the frame are passthrough. After an error, the next call returns `None`.
    pub async fn receive(&mut self) -> io::Result<Option<OwnedFrame>> {
        loop {
            // Other tasks must run, even if another frame is always available.
            consume_budget().await;
            if let Some(frame) = self.take() {
                if frame.frame_type == FrameType::Close && self.is_guest {
                    self.has_ended = true;
                } else if frame.frame_type == FrameType::Close {
                    self.output.advance_to(WriteState::CloseReceived);
                }
                return Ok(Some(frame));
            }
            if self.has_ended {
                return Ok(None);
            }
            self.chunk.resize(READ_BYTES, 0);
            let deadline = self.deadline();
            let read = self.reader.read(&mut self.chunk);
            let count = match deadline {
                None => read.await,
                Some(deadline) => match timeout_at(deadline, read).await {
                    Ok(count) => count,
                    Err(_) => {
                        self.decoder.give_up();
                        continue;
                    }
                },
            };
            (self.undecoded_start, self.undecoded_end) = (0, 0);
            match count {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.has_ended = true;
                    return Err(error);
                }
                Ok(0) => {
                    self.has_ended = true;
                    return self.finish();
                }
                Ok(count) => self.undecoded_end = count,
            }
        }
    }

    /// Returns the next frame in the chunk.
    fn take(&mut self) -> Option<OwnedFrame> {
        let mut input = self.chunk.get(self.undecoded_start..self.undecoded_end)?;
        while let Some(event) = self.decoder.next(&mut input) {
            match event {
                Event::Frame(frame) => {
                    self.undecoded_start = self.undecoded_end - input.len();
                    return Some(OwnedFrame { frame_type: frame.frame_type, payload: frame.payload.to_vec() });
                }
                Event::Passthrough(bytes) => {
                    emit_passthrough(&mut self.on_passthrough, bytes);
                }
                // `Oversize` and `Dropped` occur only after `Decoder::with_max_call`, which is not used here.
                // `Truncated` occurs only after the end of the input.
                Event::Oversize { .. } | Event::Dropped { .. } | Event::Truncated { .. } => {}
            }
        }
        (self.undecoded_start, self.undecoded_end) = (0, 0);
        None
    }

    /// Returns the deadline of the incomplete payload.
    fn deadline(&mut self) -> Option<Instant> {
        let payload_timeout = self.payload_timeout?;
        let payload = self.decoder.unfinished();
        if payload != self.unfinished.map(|(payload, _)| payload) {
            self.unfinished = payload.zip(Instant::now().checked_add(payload_timeout));
        }
        self.unfinished.map(|(_, deadline)| deadline)
    }

    fn finish(&mut self) -> io::Result<Option<OwnedFrame>> {
        while let Some(event) = self.decoder.finish() {
            match event {
                Event::Passthrough(bytes) => {
                    emit_passthrough(&mut self.on_passthrough, bytes);
                }
                Event::Truncated { received_bytes } => {
                    let problem = format!("the stream ended within a frame, after {received_bytes} of its bytes");
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem));
                }
                Event::Frame(_) | Event::Oversize { .. } | Event::Dropped { .. } => {}
            }
        }
        Ok(None)
    }
}

/// Calls the listener of the application. A panic of the listener is caught, and only the panic hook reports it.
fn emit_passthrough(listener: &mut Option<Box<OnPassthrough>>, bytes: &[u8]) {
    if let Some(listener) = listener {
        let _ = catch_unwind(AssertUnwindSafe(|| listener(bytes)));
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("has_ended", &self.has_ended).finish_non_exhaustive()
    }
}
