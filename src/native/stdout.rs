//! Standard output with atomic writes.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::future::Future;
use std::io::{self, Write};

use tokio::io::AsyncWrite;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::stdio;

/// Writes each buffer as a whole, under the lock of standard output. So output of other threads is written before or
/// after the buffer. Tokio's stdout releases the lock after 2 MiB, so other output could split a frame.
#[derive(Debug, Default)]
pub(crate) struct AtomicStdout {
    /// The write in progress.
    writing: Option<JoinHandle<io::Result<()>>>,
}

impl AtomicStdout {
    fn poll_written(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writing) = &mut self.writing else { return Poll::Ready(Ok(())) };
        let written = ready!(Pin::new(writing).poll(context));
        self.writing = None;
        Poll::Ready(written.unwrap_or_else(|error| Err(io::Error::other(error))))
    }
}

impl AsyncWrite for AtomicStdout {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_written(context))?;
        let count = bytes.len();
        let bytes = Vec::from(bytes);
        this.writing = Some(spawn_blocking(move || stdio::stdout().write_all(&bytes)));
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_written(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_written(context)
    }
}
