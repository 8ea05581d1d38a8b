//! Standard input, output and error of this process. These streams also support non-blocking descriptors.
//!
//! `O_NONBLOCK` is a flag of the open file description, which processes share (POSIX.1-2024, `open`). So another
//! process can set the flag at any time. For example, Node sets the flag when a script uses `process.stdin`. While the
//! flag is set, reads and writes of `std::io` may fail with [`io::ErrorKind::WouldBlock`]. After such an error,
//! `write_all` does not report the number of written bytes.
//!
//! The streams of this module wait with `poll(2)` until the descriptor is ready, and then continue. They lose no bytes.
//! They do not change the flag, because other processes also use it.
//!
//! # Platforms
//! Targets other than Unix have no such flag. On these targets, the streams use `std::io` directly.

use std::io::{self, Read, StdoutLock, Write};

/// Standard input. It uses the buffer of [`std::io::Stdin`].
#[derive(Clone, Copy, Debug)]
pub struct Stdin(());

/// Standard output, without a buffer. Each write first writes the bytes that [`std::io::Stdout`] has buffered.
///
/// `write_all` locks [`std::io::Stdout`] until all bytes are written. So output of other threads is written before or
/// after these bytes.
#[derive(Clone, Copy, Debug)]
pub struct Stdout(());

/// Standard error, without a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Stderr(());

/// Returns the standard input of this process.
#[must_use]
pub const fn stdin() -> Stdin {
    Stdin(())
}

/// Returns the standard output of this process.
#[must_use]
pub const fn stdout() -> Stdout {
    Stdout(())
}

/// Returns the standard error of this process.
#[must_use]
pub const fn stderr() -> Stderr {
    Stderr(())
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut input = io::stdin().lock();
        sys::when_readable(&io::stdin(), || input.read(buffer))
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut out = io::stdout().lock();
        flush(&mut out)?;
        sys::write(&mut out, bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        flush(&mut out)?;
        let mut rest = bytes;
        while !rest.is_empty() {
            match sys::write(&mut out, rest)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => rest = rest.get(count..).unwrap_or_default(),
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        flush(&mut io::stdout().lock())
    }
}

/// Flushes the buffer of `std`. Bytes that could not be written remain in the buffer, so the flush can be repeated.
fn flush(out: &mut StdoutLock<'_>) -> io::Result<()> {
    sys::when_writable(&io::stdout(), || out.flush())
}

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut out = io::stderr().lock();
        sys::when_writable(&io::stderr(), || out.write(bytes))
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        // The lock is reentrant, so `write` can lock standard error again.
        let _lock = io::stderr().lock();
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.write(rest)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => rest = rest.get(count..).unwrap_or_default(),
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
mod sys {
    use core::time::Duration;
    use std::io::{self, StdoutLock};
    use std::os::fd::AsFd;
    use std::thread;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    /// The pause before a second poll of a descriptor that was reported as ready but would block.
    const PAUSE: Duration = Duration::from_millis(1);

    pub(super) fn when_readable<T>(input: &impl AsFd, call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        when_ready(input, PollFlags::IN, call)
    }

    pub(super) fn when_writable<T>(output: &impl AsFd, call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        when_ready(output, PollFlags::OUT, call)
    }

    /// Writes without the buffer of `std`, because that buffer searches all bytes for line ends.
    pub(super) fn write(out: &mut StdoutLock<'_>, bytes: &[u8]) -> io::Result<usize> {
        when_writable(out, || rustix::io::write(&*out, bytes).map_err(io::Error::from))
    }

    /// Repeats a call that would block, or that was interrupted. The call must have no effect if it fails.
    fn when_ready<T>(
        descriptor: &impl AsFd,
        readiness: PollFlags,
        mut call: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        let mut has_waited = false;
        loop {
            match call() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // Another process may have used the descriptor first, or `poll` may report a descriptor as ready
                    // too soon. The pause avoids a busy loop.
                    if has_waited {
                        thread::sleep(PAUSE);
                    }
                    has_waited = true;
                    wait_until_ready(descriptor, readiness)?;
                }
                outcome => return outcome,
            }
        }
    }

    /// Waits until the descriptor is ready. An end of file or an error counts as ready, and the next call reports it.
    fn wait_until_ready(descriptor: &impl AsFd, readiness: PollFlags) -> io::Result<()> {
        match poll(&mut [PollFd::new(descriptor, readiness)], None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
mod sys {
    use std::io::{self, StdoutLock, Write};

    pub(super) fn when_readable<S, T>(_input: &S, call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        uninterrupted(call)
    }

    pub(super) fn when_writable<S, T>(_output: &S, call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        uninterrupted(call)
    }

    /// Writes, and flushes the buffer of `std`. Without the flush, the bytes after the last line end would stay in the
    /// buffer.
    pub(super) fn write(out: &mut StdoutLock<'_>, bytes: &[u8]) -> io::Result<usize> {
        let count = uninterrupted(|| out.write(bytes))?;
        uninterrupted(|| out.flush())?;
        Ok(count)
    }

    fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            match call() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }
}
