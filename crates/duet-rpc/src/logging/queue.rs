//! The queue of the log.
//!
//! A separate thread writes the lines, so that a slow disk or an unread pipe delays no response. Before its exit, the
//! daemon waits for this thread only for a limited time.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

use crate::limits::MAX_LOG_QUEUE_BYTES;

/// A handle of the queue. Clones share the queue.
#[derive(Clone)]
pub(super) struct Queue(Arc<Shared>);

#[derive(Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Notified when lines are added to the queue, and when lines have been written.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Lines that the thread has not taken yet.
    lines: Vec<u8>,
    /// The number of lines that were dropped since the last report, because the queue was full.
    lost: u64,
    /// Whether the thread is writing lines that were taken from the queue.
    is_writing: bool,
}

impl Queue {
    /// Starts the thread that writes to `sink`.
    pub(super) fn start(sink: impl Write + Send + 'static) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let queue = Self(Arc::clone(&shared));
        thread::Builder::new().name("log".to_owned()).spawn(move || shared.write_all(sink))?;
        Ok(queue)
    }

    /// Waits until all lines are written, but at most for `timeout`.
    pub(super) fn flush(&self, timeout: Duration) {
        let is_busy = |state: &mut State| state.is_writing || !state.lines.is_empty();
        let waited = self.0.changed.wait_timeout_while(self.0.lock(), timeout, is_busy);
        // A timeout is not an error: the daemon exits without writing the rest of the log.
        drop(waited);
    }
}

impl Shared {
    /// Locks the state. A poisoned lock is accepted, since the lines are valid even after a panic of another thread.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self, mut sink: impl Write) {
        let mut lines = Vec::new();
        loop {
            let mut state = self.lock();
            state.is_writing = false;
            self.changed.notify_all();
            state =
                self.changed.wait_while(state, |state| state.lines.is_empty()).unwrap_or_else(PoisonError::into_inner);
            lines.clear();
            mem::swap(&mut lines, &mut state.lines);
            state.is_writing = true;
            let lost = mem::take(&mut state.lost);
            drop(state);
            // A failed write cannot be reported: the log is the only output.
            let _ = sink.write_all(&lines).and_then(|()| sink.flush());
            if lost > 0 {
                tracing::warn!("{lost} lines of the log were lost: the queue was full");
            }
        }
    }
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = &'a Shared;

    fn make_writer(&'a self) -> Self::Writer {
        &self.0
    }
}

/// Appends one line to the queue.
impl Write for &Shared {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.lock();
        if state.lines.len() + line.len() > MAX_LOG_QUEUE_BYTES {
            state.lost += 1;
        } else {
            state.lines.extend_from_slice(line);
            self.changed.notify_all();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
