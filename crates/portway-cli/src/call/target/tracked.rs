//! A writer that records its first error, and the time at which it is dropped.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::AsyncWrite;

/// The first error of a writer, and the time at which the writer was dropped.
#[derive(Debug, Default)]
pub(in crate::call) struct Output(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    problem: Option<String>,
    end: Option<Instant>,
}

impl Output {
    /// Returns the error of the first failed write, or `None` if no write has failed.
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

/// A writer that records its first error, and the time at which it is dropped, in an [`Output`].
#[derive(Debug)]
pub(super) struct Tracked<W> {
    writer: W,
    output: Arc<Output>,
}

impl<W> Tracked<W> {
    pub(super) fn new(writer: W) -> (Self, Arc<Output>) {
        let output = Arc::<Output>::default();
        (Self { writer, output: Arc::clone(&output) }, output)
    }

    fn record<T>(&self, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &outcome {
            self.output.fail(error);
        }
        outcome
    }
}

impl<W> Drop for Tracked<W> {
    fn drop(&mut self) {
        self.output.lock().end.get_or_insert_with(Instant::now);
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
        // A failed shutdown is not recorded: a peer that has closed the connection needs no further bytes.
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}
