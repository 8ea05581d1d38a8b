//! Frames on tokio, whatever is in them.

use core::fmt;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use std::boxed::Box;
use std::format;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::vec::Vec;

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

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// Either end of the pipes between a host and its guest, for frames of any content.
///
/// For JSON-RPC there is no need of it: a [`Transport`](crate::Transport) with
/// [`Framing::Wipc`](crate::Framing::Wipc) carries that.
///
/// ```no_run
/// use portway::wipc::{Channel, FrameType};
///
/// # async fn run() -> std::io::Result<()> {
/// // A guest that gives back whatever comes.
/// let (sender, mut receiver) = Channel::stdio()?.split();
/// while let Some(frame) = receiver.receive().await? {
///     sender.send(frame.frame_type, &frame.payload).await?;
/// }
/// sender.end().await;
/// # Ok(())
/// # }
/// ```
///
/// Once the receiver and all senders are dropped, queued frames have two seconds to be written. Then the output is closed.
/// [`Sender::end`] waits without a timeout.
#[derive(Debug)]
pub struct Channel {
    sender: Sender,
    receiver: Receiver,
}

impl Channel {
    /// The guest's end: after `CLOSE` it reads nothing more, and receives what has come with it. It may still send until it
    /// exits.
    ///
    /// # Errors
    /// If there is no tokio runtime.
    pub fn guest(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> io::Result<Self> {
        Self::new(reader, writer, true)
    }

    /// The guest's end on standard input and output. What the program prints comes between frames, never inside of one.
    ///
    /// Either may be non-blocking (`O_NONBLOCK`), before or after the start: see [`stdio`](crate::stdio). A write that waits
    /// for the host holds the end of the runtime. A program that must end although its host does not read ends by
    /// [`std::process::exit`], or by `Runtime::shutdown_background`.
    ///
    /// # Errors
    /// If there is no tokio runtime.
    pub fn stdio() -> io::Result<Self> {
        // Also tokio's handles panic without a runtime.
        Handle::try_current().map_err(io::Error::other)?;
        Self::guest(AsyncStdin::default(), AtomicStdout::default())
    }

    /// The host's end. After the guest's `CLOSE`, the host starts no further frame. A frame that is half written has two
    /// seconds. Then the guest's input is closed. Frames from the guest are still received.
    ///
    /// # Errors
    /// If there is no tokio runtime.
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
        let handles = Arc::new(Handles(Arc::clone(&output)));
        let sender = Sender { queue, output: Arc::clone(&output), _handles: Arc::clone(&handles) };
        let receiver = Receiver {
            reader: Box::new(reader),
            decoder: Decoder::new(),
            chunk: Vec::new(),
            from: 0,
            to: 0,
            is_over: false,
            is_guest,
            output,
            _handles: handles,
            on_passthrough: None,
            patience: None,
            unfinished: None,
        };
        Ok(Self { sender, receiver })
    }

    /// The two directions, to be used at the same time.
    #[must_use]
    pub fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }
}

/// What is to be written.
#[derive(Debug)]
enum Job {
    Frame {
        frame: Vec<u8>,
        /// Whether it is `CLOSE`, which ends the stream.
        is_last: bool,
    },
    End,
}

/// The stage of a channel's output.
#[derive(Debug, Default)]
pub(super) struct Output(watch::Sender<Stage>);

/// Ordered by precedence: a stage never goes back to an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    #[default]
    Open,
    /// `CLOSE` was sent. Frames queued before it are still written.
    CloseSent,
    /// The receiver and all senders were dropped. Queued frames have `SHUTDOWN_TIMEOUT` to be written.
    HandlesDropped,
    /// The guest has exited, or its handle was dropped. No further frame is written.
    GuestExited,
    /// The host received `CLOSE`. No further frame is written.
    CloseReceived,
}

impl Output {
    /// Sets the stage, unless it is at this one or a later one.
    pub(super) fn advance_to(&self, stage: Stage) {
        self.0.send_if_modified(|now| {
            let is_new = *now < stage;
            *now = stage.max(*now);
            is_new
        });
    }

    /// Waits for this stage or a later one.
    pub(super) async fn wait_for(&self, stage: Stage) {
        let _ = self.0.subscribe().wait_for(|now| *now >= stage).await;
    }

    /// The error of a `send` at the current stage.
    fn refusal(&self) -> io::Error {
        refused(*self.0.borrow())
    }

    /// Runs `put` if the output is open. The stage is locked meanwhile, so that no frame follows `CLOSE`.
    fn put(&self, frame_type: FrameType, put: impl FnOnce()) -> io::Result<()> {
        let mut outcome = Ok(());
        self.0.send_if_modified(|stage| {
            if *stage != Stage::Open {
                outcome = Err(refused(*stage));
                return false;
            }
            put();
            let is_last = frame_type == FrameType::Close;
            if is_last {
                *stage = Stage::CloseSent;
            }
            is_last
        });
        outcome
    }
}

fn refused(stage: Stage) -> io::Error {
    let problem = match stage {
        Stage::Open | Stage::HandlesDropped => "the channel has ended",
        Stage::CloseSent => "CLOSE was sent: there are no frames behind it",
        Stage::GuestExited => "the guest has exited",
        Stage::CloseReceived => "the guest has sent CLOSE",
    };
    io::Error::new(io::ErrorKind::BrokenPipe, problem)
}

/// Shared by a receiver and its senders. The last of them drops it, which sets the stage.
#[derive(Debug)]
struct Handles(Arc<Output>);

impl Drop for Handles {
    fn drop(&mut self) {
        self.0.advance_to(Stage::HandlesDropped);
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

/// Writes queued frames. A blocked write has `SHUTDOWN_TIMEOUT` to finish after the guest has closed or exited. The same holds once
/// the receiver and all senders are dropped.
async fn write(jobs: mpsc::Receiver<Job>, writer: impl AsyncWrite + Unpin, output: Arc<Output>) -> io::Result<()> {
    let mut writing = pin!(write_frames(jobs, writer, &output));
    match run_until(writing.as_mut(), output.wait_for(Stage::HandlesDropped)).await {
        Some(written) => written,
        None => timeout(SHUTDOWN_TIMEOUT, writing).await?,
    }
}

/// Writes frames one after the other, each to its end: a sender that is given up leaves no half of one.
async fn write_frames(
    mut jobs: mpsc::Receiver<Job>,
    mut writer: impl AsyncWrite + Unpin,
    output: &Output,
) -> io::Result<()> {
    while let Some(Some(Job::Frame { frame, is_last })) =
        run_until(jobs.recv(), output.wait_for(Stage::GuestExited)).await
    {
        if *output.0.borrow() >= Stage::GuestExited {
            break;
        }
        writer.write_all(&frame).await?;
        if is_last {
            break;
        }
        if jobs.is_empty() {
            writer.flush().await?;
        }
    }
    // That of standard output does not flush.
    writer.flush().await?;
    writer.shutdown().await
}

/// Sends frames. A clone sends on the same channel.
#[derive(Clone, Debug)]
pub struct Sender {
    queue: mpsc::Sender<Job>,
    output: Arc<Output>,
    _handles: Arc<Handles>,
}

impl Sender {
    /// Sends a frame; waits while many others wait to be written. It is sent whole or, if this is dropped before it ends, not
    /// at all. After a `CLOSE` frame the output is shut down.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a payload of 4 GiB or more; [`io::ErrorKind::BrokenPipe`] after a `CLOSE`, and once
    /// the peer has gone, the channel has ended, or, on a host, the guest has sent `CLOSE`. A `send` that waits for queue
    /// space fails as well.
    pub async fn send(&self, frame_type: FrameType, payload: &[u8]) -> io::Result<()> {
        let mut frame = Vec::new();
        encode(frame_type, payload, &mut frame)
            .map_err(|problem| io::Error::new(io::ErrorKind::InvalidInput, problem))?;
        let Some(Ok(place)) = run_until(self.queue.reserve(), self.output.wait_for(Stage::CloseSent)).await else {
            return Err(self.output.refusal());
        };
        self.output.put(frame_type, || place.send(Job::Frame { frame, is_last: frame_type == FrameType::Close }))
    }

    /// Writes what was sent, and ends the channel: the other side reads the end of its input. Waits until that is done, or
    /// cannot be.
    pub async fn end(&self) {
        // An error means that the channel has ended.
        let _ = run_until(self.queue.send(Job::End), self.output.wait_for(Stage::CloseSent)).await;
        self.queue.closed().await;
    }
}

type OnPassthrough = dyn FnMut(&[u8]) + Send;

/// Receives frames.
pub struct Receiver {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    decoder: Decoder,
    chunk: Vec<u8>,
    /// What was read into the chunk and not taken yet.
    from: usize,
    to: usize,
    is_over: bool,
    is_guest: bool,
    output: Arc<Output>,
    _handles: Arc<Handles>,
    on_passthrough: Option<Box<OnPassthrough>>,
    /// How long a payload is waited for.
    patience: Option<Duration>,
    /// Which payload is waited for, and until when.
    unfinished: Option<(u64, Instant)>,
}

impl Receiver {
    /// The output state of this channel.
    pub(super) const fn output(&self) -> &Arc<Output> {
        &self.output
    }

    /// Hands over every byte that belongs to no frame, in order: what a guest prints. Where one piece ends and the next
    /// begins means nothing. A panic in the function ends nothing else.
    #[must_use]
    pub fn on_passthrough(self, listener: impl FnMut(&[u8]) + Send + 'static) -> Self {
        Self { on_passthrough: Some(Box::new(listener)), ..self }
    }

    /// To this receiver, a longer payload, in bytes, is no frame. Else there is no limit but that of the format.
    #[must_use]
    pub fn with_max_payload(self, max_payload: u32) -> Self {
        Self { decoder: Decoder::with_max_payload(max_payload), ..self }
    }

    /// A payload that does not come within this time is none, nor is its header one; what has come of it is searched for
    /// other frames. Else there is no such time, for nothing in the format says how fast a payload has to come.
    #[must_use]
    pub fn with_payload_timeout(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// Waits for the next frame; `None` is the end. It loses nothing if it is dropped before it ends.
    ///
    /// # Errors
    /// As the reader fails; [`io::ErrorKind::UnexpectedEof`] if the stream ends inside of a frame, whose bytes were passed
    /// through. Then, too, the channel is at its end.
    pub async fn receive(&mut self) -> io::Result<Option<OwnedFrame>> {
        loop {
            // Other tasks have their turns, even if there always is another frame.
            consume_budget().await;
            if let Some(frame) = self.take() {
                if frame.frame_type == FrameType::Close && self.is_guest {
                    self.is_over = true;
                } else if frame.frame_type == FrameType::Close {
                    self.output.advance_to(Stage::CloseReceived);
                }
                return Ok(Some(frame));
            }
            if self.is_over {
                return Ok(None);
            }
            self.chunk.resize(CHUNK, 0);
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
            (self.from, self.to) = (0, 0);
            match count {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_over = true;
                    return Err(error);
                }
                Ok(0) => {
                    self.is_over = true;
                    return self.finish();
                }
                Ok(count) => self.to = count,
            }
        }
    }

    /// The next frame in what was read.
    fn take(&mut self) -> Option<OwnedFrame> {
        let mut input = self.chunk.get(self.from..self.to)?;
        while let Some(event) = self.decoder.next(&mut input) {
            match event {
                Event::Frame(frame) => {
                    self.from = self.to - input.len();
                    return Some(OwnedFrame { frame_type: frame.frame_type, payload: frame.payload.to_vec() });
                }
                Event::Passthrough(bytes) => {
                    pass_on(&mut self.on_passthrough, bytes);
                }
                // There is no such limit here.
                Event::Oversize { .. } | Event::Dropped { .. } | Event::Truncated { .. } => {}
            }
        }
        (self.from, self.to) = (0, 0);
        None
    }

    /// Until when the payload is waited for that has begun.
    fn deadline(&mut self) -> Option<Instant> {
        let patience = self.patience?;
        let payload = self.decoder.unfinished();
        if payload != self.unfinished.map(|(payload, _)| payload) {
            self.unfinished = payload.zip(Instant::now().checked_add(patience));
        }
        self.unfinished.map(|(_, deadline)| deadline)
    }

    fn finish(&mut self) -> io::Result<Option<OwnedFrame>> {
        while let Some(event) = self.decoder.finish() {
            match event {
                Event::Passthrough(bytes) => {
                    pass_on(&mut self.on_passthrough, bytes);
                }
                Event::Truncated { held } => {
                    let problem = format!("the stream ended inside of a frame, of which {held} bytes had come");
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem));
                }
                Event::Frame(_) | Event::Oversize { .. } | Event::Dropped { .. } => {}
            }
        }
        Ok(None)
    }
}

/// A panic in the application's function ends nothing else. It has reached the panic hook, and is reported nowhere
/// else.
fn pass_on(listener: &mut Option<Box<OnPassthrough>>, bytes: &[u8]) {
    if let Some(listener) = listener {
        let _ = catch_unwind(AssertUnwindSafe(|| listener(bytes)));
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}
