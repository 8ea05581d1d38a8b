//! Standard input on tokio.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::stdio;

/// Maximum bytes of one read.
const CHUNK_BYTES: usize = 64 * 1024;

/// Reads standard input on a new thread, which starts with the first read. The runtime does not wait for this thread,
/// so the runtime can end while the thread waits for input.
#[derive(Debug, Default)]
pub(crate) struct AsyncStdin {
    thread: Option<Thread>,
    chunk: Chunk,
}

#[derive(Debug, Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// The bytes from `start` to `end` were read from the descriptor, but were not returned to the caller yet.
    start: usize,
    end: usize,
}

#[derive(Debug)]
struct Thread {
    /// Requests for reads. Each request contains the consumed chunk, whose buffer is reused.
    requests: Sender<Chunk>,
    chunks: UnboundedReceiver<io::Result<Chunk>>,
    /// Whether a request was sent, and its chunk was not received yet.
    is_reading: bool,
}

impl Thread {
    fn start() -> io::Result<Self> {
        let (requests, received_requests) = channel();
        let (sent_chunks, chunks) = unbounded_channel();
        thread::Builder::new().name("stdin".into()).spawn(move || read(&received_requests, &sent_chunks))?;
        Ok(Self { requests, chunks, is_reading: false })
    }
}

/// Reads one chunk for each request, so that the thread does not read ahead.
fn read(requests: &Receiver<Chunk>, chunks: &UnboundedSender<io::Result<Chunk>>) {
    while let Ok(mut chunk) = requests.recv() {
        chunk.bytes.resize(CHUNK_BYTES, 0);
        let count = stdio::stdin().read(&mut chunk.bytes);
        let chunk = count.map(|count| Chunk { start: 0, end: count, ..chunk });
        if chunks.send(chunk).is_err() {
            return;
        }
    }
}

impl AsyncRead for AsyncStdin {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { thread, chunk } = self.get_mut();
        if chunk.start == chunk.end {
            let thread = match thread {
                Some(thread) => thread,
                none => none.insert(Thread::start()?),
            };
            let ended = || io::Error::other("the thread that reads standard input has ended");
            if !thread.is_reading {
                thread.requests.send(core::mem::take(chunk)).map_err(|_| ended())?;
                thread.is_reading = true;
            }
            let read = ready!(thread.chunks.poll_recv(context));
            thread.is_reading = false;
            *chunk = read.unwrap_or_else(|| Err(ended()))?;
        }
        let rest = chunk.bytes.get(chunk.start..chunk.end).unwrap_or_default();
        let copied = rest.get(..buffer.remaining()).unwrap_or(rest);
        buffer.put_slice(copied);
        chunk.start += copied.len();
        Poll::Ready(Ok(()))
    }
}
