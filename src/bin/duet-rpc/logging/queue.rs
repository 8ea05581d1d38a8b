//! Lines on their way to the log.
//!
//! A thread of its own writes them, so that a log that nobody reads, or a slow disk, neither holds up an answer nor the end
//! of the daemon.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

use crate::limits::MAX_LOG_QUEUE;

/// The way to the log. A clone is the same way.
#[derive(Clone)]
pub(super) struct Queue(Arc<Shared>);

#[derive(Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// There are lines, or there are none any more.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lines: Vec<u8>,
    lost: u64,
    is_writing: bool,
}

impl Queue {
    /// Starts the thread.
    pub(super) fn start(sink: impl Write + Send + 'static) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let queue = Self(Arc::clone(&shared));
        thread::Builder::new().name("log".to_owned()).spawn(move || shared.write_all(sink))?;
        Ok(queue)
    }

    /// Waits until all is written, but no longer than `patience`.
    pub(super) fn flush(&self, patience: Duration) {
        let is_busy = |state: &mut State| state.is_writing || !state.lines.is_empty();
        let waited = self.0.changed.wait_timeout_while(self.0.lock(), patience, is_busy);
        // Whatever has come of it, this was the time for it.
        drop(waited);
    }
}

impl Shared {
    /// A panic of somebody else while it was held harms no line.
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
            // There is no other place to tell that the log cannot be written.
            let _ = sink.write_all(&lines).and_then(|()| sink.flush());
            if lost > 0 {
                tracing::warn!("{lost} lines of the log were lost, since it could not be written as fast");
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

/// Takes one line.
impl Write for &Shared {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.lock();
        if state.lines.len() + line.len() > MAX_LOG_QUEUE {
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
