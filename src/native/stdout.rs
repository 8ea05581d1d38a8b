//! Standard output, where each write is whole.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::future::Future;
use std::io::{self, Write};
use std::vec::Vec;

use tokio::io::AsyncWrite;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::stdio;

/// Writes all that it is given while it has the lock of standard output, so that what other threads print comes before or
/// behind it. Tokio's own gives the lock away after 2 MiB, which would tear a frame.
#[derive(Debug, Default)]
pub(crate) struct WholeStdout {
    /// What is being written.
    writing: Option<JoinHandle<io::Result<()>>>,
}

impl WholeStdout {
    fn poll_written(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writing) = &mut self.writing else { return Poll::Ready(Ok(())) };
        let written = ready!(Pin::new(writing).poll(context));
        self.writing = None;
        Poll::Ready(written.unwrap_or_else(|ended| Err(io::Error::other(ended))))
    }
}

impl AsyncWrite for WholeStdout {
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
