//! A writer that records its first error of a write or a flush, and the time at which it is dropped.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::AsyncWrite;

/// The first error of the writes and flushes of a writer, and the time at which the writer was dropped.
#[derive(Debug, Default)]
pub(in crate::call) struct WriterOutcome(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    problem: Option<String>,
    end: Option<Instant>,
}

impl WriterOutcome {
    /// Returns the error of the first write or flush that failed, or `None` if none has failed.
    pub(in crate::call) fn problem(&self) -> Option<String> {
        self.lock().problem.clone()
    }

    /// Returns the time at which the writer was dropped, or `None` before that time.
    pub(in crate::call) fn end(&self) -> Option<Instant> {
        self.lock().end
    }

    fn fail(&self, error: &io::Error) {
        self.lock().problem.get_or_insert_with(|| error.to_string());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A writer that records its first error of a write or a flush, and the time at which it is dropped, in a
/// [`WriterOutcome`].
#[derive(Debug)]
pub(super) struct Tracked<W> {
    writer: W,
    outcome: Arc<WriterOutcome>,
}

impl<W> Tracked<W> {
    pub(super) fn new(writer: W) -> (Self, Arc<WriterOutcome>) {
        let outcome = Arc::<WriterOutcome>::default();
        (Self { writer, outcome: Arc::clone(&outcome) }, outcome)
    }

    fn record<T>(&self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &result {
            self.outcome.fail(error);
        }
        result
    }
}

impl<W> Drop for Tracked<W> {
    fn drop(&mut self) {
        self.outcome.lock().end.get_or_insert_with(Instant::now);
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Tracked<W> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.writer).poll_write(context, bytes);
        self.record(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.writer).poll_flush(context);
        self.record(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The error of a shutdown is not recorded, because a shutdown sends no bytes of a message. A shutdown fails,
        // for example, if the peer has closed the connection already.
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}
