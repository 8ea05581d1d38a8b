//! The thread that passes records to a callback or writes them to a file.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::string::{String, ToString};
use std::sync::Arc;
use std::thread;
use std::vec::Vec;

use super::batch::Batch;
use super::escape::{push_escaped, push_number};
use super::queue::{End, Entry, Queue};
use super::record::{Record, begin_message};
use crate::native::in_flight::catch_panic;

/// The number of bytes of handled entries after which their room is released. A release for each record would slow the
/// links, which wait for the same lock.
const RELEASED_BYTES: usize = 16 * 1024;

/// The size of the buffer of a file or a writer.
const BUFFER_BYTES: usize = 64 * 1024;

/// The receiver of records, on its own thread.
pub(super) trait Sink: Send + 'static {
    fn record(&mut self, record: &Record) -> io::Result<()>;

    /// Handles each message of a batch.
    fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        batch.texts().try_for_each(|text| self.record(&batch.record(text)))
    }

    /// Writes the buffered records. The thread calls this method when it has handled all records that it has taken.
    fn flush(&mut self) -> io::Result<()>;
}

/// A callback of the application.
pub(super) struct Callback<F>(pub(super) F);

impl<F: FnMut(&Record) + Send + 'static> Sink for Callback<F> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        (self.0)(record);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer of one JSON object per line.
pub(super) struct Lines<W: Write> {
    writer: BufWriter<W>,
    /// The lines of a batch. The next batch reuses this buffer.
    lines: Vec<u8>,
}

impl<W: Write> Lines<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { writer: BufWriter::with_capacity(BUFFER_BYTES, writer), lines: Vec::new() }
    }
}

impl<W: Write + Send + 'static> Sink for Lines<W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        serde_json::to_writer(&mut self.writer, record)?;
        self.writer.write_all(b"\n")
    }

    /// Writes the lines that [`Sink::record`] would write for the messages. The members before the text are equal in
    /// all lines.
    fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        self.lines.clear();
        let beginning = begin_message(batch.at, &batch.link, batch.direction);
        for text in batch.texts() {
            self.lines.extend_from_slice(beginning.as_bytes());
            push_escaped(text, &mut self.lines);
            self.lines.extend_from_slice(b",\"size\":");
            push_number(text.len(), &mut self.lines);
            self.lines.extend_from_slice(b"}\n");
            if self.lines.len() >= BUFFER_BYTES {
                self.writer.write_all(&self.lines)?;
                self.lines.clear();
            }
        }
        self.writer.write_all(&self.lines)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// A file of records. A FIFO is opened by the thread, because the open of a FIFO waits for a reader.
pub(super) enum RecordFile {
    Fifo(PathBuf),
    Open(Lines<File>),
}

impl RecordFile {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        if is_fifo(path) {
            return Ok(Self::Fifo(path.to_path_buf()));
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        // Messages may contain secrets, so only the user of this process may read the file.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self::Open(Lines::new(options.open(path)?)))
    }

    fn lines(&mut self) -> io::Result<&mut Lines<File>> {
        if let Self::Fifo(path) = self {
            let file = OpenOptions::new().write(true).open(path)?;
            *self = Self::Open(Lines::new(file));
        }
        match self {
            Self::Open(lines) => Ok(lines),
            Self::Fifo(_) => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Sink for RecordFile {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.lines()?.record(record)
    }

    fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        self.lines()?.batch(batch)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines()?.flush()
    }
}

#[cfg(unix)]
fn is_fifo(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|file| file.file_type().is_fifo())
}

#[cfg(not(unix))]
const fn is_fifo(_: &Path) -> bool {
    false
}

/// Starts the thread. The thread ends after the end of the queue, or when the sink fails or panics.
pub(super) fn start(queue: Arc<Queue>, sink: impl Sink) -> io::Result<()> {
    let work = move || {
        let mut sink = sink;
        let end = match catch_panic(|| run(&queue, &mut sink)) {
            Ok(Ok(())) | Err(_) => End::Dropped,
            Ok(Err(error)) => End::Failed(error.kind(), error.to_string()),
        };
        queue.end(end);
        // A panic of the drop is reported by the panic hook.
        let _ = catch_panic(|| drop(sink));
    };
    thread::Builder::new().name(String::from("tap")).spawn(work).map(drop)
}

fn run(queue: &Queue, sink: &mut impl Sink) -> io::Result<()> {
    let mut handled = 0;
    while let Some(entries) = queue.take_all() {
        let count = entries.len() as u64;
        let mut unreleased = 0;
        for entry in entries {
            match &entry {
                Entry::Record(record) => sink.record(record)?,
                Entry::Batch(batch) => sink.batch(batch)?,
            }
            unreleased += entry.size();
            if unreleased >= RELEASED_BYTES {
                queue.release(mem::take(&mut unreleased));
            }
        }
        queue.release(unreleased);
        sink.flush()?;
        handled += count;
        queue.set_handled(handled);
    }
    Ok(())
}
