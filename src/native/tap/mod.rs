//! Taps, which record each message that crosses a link. `docs/tap.md` describes the records.
//!
//! [`Transport::with_tap`](crate::Transport::with_tap) adds a [`Tap`] to a link.

mod batch;
mod escape;
mod link;
mod queue;
mod record;
mod sink;
mod stream;
mod transport;

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::hash_map::RandomState;
use std::format;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::path::Path;
use std::string::String;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use futures_core::Stream;

pub use self::link::TapLink;
use self::queue::{End, Queue};
pub use self::record::{Content, Direction, Record, RecordKind, TapTransport};
use self::sink::{Callback, Lines, RecordFile, Sink};
pub use self::stream::TapStream;
pub(super) use self::transport::{LinkTap, tapped};
use super::limits::MAX_TAP_TEXT_BYTES;

/// Records each message that crosses a link, and each connection that is opened or closed.
///
/// A tap does not change, delay or reorder the messages. The tap stores copies of at most 1 MiB, until the reader of
/// the records takes them. A record for which there is no room is omitted, and a [`RecordKind::Gap`] counts it. The
/// reader runs on its own thread, so that it may block or panic. After a panic, the tap records nothing more.
///
/// A text longer than 256 KiB is cut, unless the records are written to a file or a writer. A record longer than 512
/// KiB may exceed the limit of 1 MiB, if the other records use at most 512 KiB. A tap may serve any number of links.
/// Its clones share one reader.
///
/// ```
/// use portway::tap::Tap;
/// use portway::{Client, Transport};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("records.jsonl");
/// # let (transport, _other) = Transport::pair()?;
/// let tap = Tap::to_file(&file)?;
/// let client = Client::new(transport.with_tap(&tap.named("build server")));
/// client.notify("build", &["all"])?;
/// # client.destroy();
/// # client.closed().await;
/// // Waits until all records are in the file. Without this call, the program could exit earlier.
/// tap.flushed().await?;
/// # let records = std::fs::read_to_string(&file)?;
/// # assert!(records.contains(r#""name":"build server""#) && records.contains(r#"\"method\":\"build\""#), "{records}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Tap {
    shared: Arc<Shared>,
    name: Option<Arc<str>>,
}

/// The part of a tap that its clones and links share. The queue ends when this value is dropped.
#[derive(Debug)]
struct Shared {
    queue: Arc<Queue>,
    max_text_bytes: usize,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Tap {
    /// Creates a tap that passes each record to `reader`, on a new thread. The records are passed up to 5 ms after
    /// their messages have crossed the link.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(reader: impl FnMut(&Record) + Send + 'static) -> io::Result<Self> {
        Self::start(Callback(reader), MAX_TAP_TEXT_BYTES)
    }

    /// Creates a tap that writes each record to a file, as one JSON object per line. An existing file is replaced. A
    /// new file can be read only by the user of this process. The file is written up to 5 ms after the messages have
    /// crossed the link. The path may be a FIFO.
    ///
    /// # Errors
    /// If the file cannot be created, or no thread can be started. [`Tap::flushed`] returns later errors.
    pub fn to_file(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::start(RecordFile::create(path.as_ref())?, usize::MAX)
    }

    /// Creates a tap that writes each record to `writer`, as one JSON object per line.
    ///
    /// # Errors
    /// If no thread can be started. [`Tap::flushed`] returns later errors.
    pub fn to_writer(writer: impl Write + Send + 'static) -> io::Result<Self> {
        Self::start(Lines::new(writer), usize::MAX)
    }

    /// Creates a tap and a stream of its records.
    pub fn channel() -> (Self, Records) {
        let queue = Arc::new(Queue::new());
        (Self::with(Arc::clone(&queue), MAX_TAP_TEXT_BYTES), Records(queue))
    }

    fn start(sink: impl Sink, max_text_bytes: usize) -> io::Result<Self> {
        let queue = Arc::new(Queue::new());
        sink::start(Arc::clone(&queue), sink)?;
        Ok(Self::with(queue, max_text_bytes))
    }

    fn with(queue: Arc<Queue>, max_text_bytes: usize) -> Self {
        Self { shared: Arc::new(Shared { queue, max_text_bytes }), name: None }
    }

    /// Returns a handle of the same tap. In the records, the links that use this handle have this name, which is a text
    /// for people. Default: the kind of the transport.
    #[must_use]
    pub fn named(&self, name: impl Into<String>) -> Self {
        Self { shared: Arc::clone(&self.shared), name: Some(name.into().into()) }
    }

    /// Records that a connection was opened. A program calls this method if it reads and writes the bytes of the link
    /// itself.
    #[must_use]
    pub fn open(&self, transport: TapTransport) -> TapLink {
        let name = self.name.clone().unwrap_or_else(|| transport.as_str().into());
        TapLink::new(Arc::clone(&self.shared), name, transport)
    }

    /// Waits until the reader has handled all earlier records. If the tap writes to a file, the file then contains
    /// these records.
    ///
    /// # Errors
    /// If a record could not be written.
    pub async fn flushed(&self) -> io::Result<()> {
        self.shared.queue.flushed().await
    }
}

/// The records of a tap, see [`Tap::channel`]. The stream ends when the tap and its links were dropped.
#[must_use = "the tap holds the records until they are read"]
pub struct Records(Arc<Queue>);

impl Records {
    /// Waits for the next record. Returns `None` when the tap and its links were dropped.
    pub async fn next(&mut self) -> Option<Record> {
        core::future::poll_fn(|context| self.0.poll_take(context)).await
    }
}

impl Stream for Records {
    type Item = Record;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Record>> {
        self.0.poll_take(context)
    }
}

/// The drop of the reader ends the tap. Further messages are not recorded.
impl Drop for Records {
    fn drop(&mut self) {
        self.0.end(End::Dropped);
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").finish_non_exhaustive()
    }
}

/// Returns the microseconds since 1970-01-01 UTC.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

/// Returns the id of a new link: a random number of this process, and the number of the link.
fn next_link_id() -> Arc<str> {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let process = PROCESS.get_or_init(|| RandomState::new().build_hasher().finish());
    format!("{process:016x}-{}", NEXT.fetch_add(1, Ordering::Relaxed)).into()
}
