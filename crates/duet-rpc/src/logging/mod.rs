//! The log: its destination, its level and its format.
//!
//! The log is written to the file that `DUET_RPC_LOG` names. Without such a file, or if the file is refused, the log is
//! written to standard error. But if standard error is the same pipe, socket or file as standard output or input, the
//! log is discarded: lines of the log between the frames would break the protocol. The log contains no payload and no
//! header. Only its first line contains a path, the path of the log file.

mod format;
mod queue;

use std::env;
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use portway::stdio;
use portway_cli_support::escape::escape_control;
use rustix::fs::OFlags;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

use self::format::Lines;
use self::queue::Queue;
use crate::arguments::Options;
use crate::level::Level;

/// The log of this process.
pub(crate) struct Log {
    queue: Queue,
    level: LevelHandle,
    /// The destination: `stderr`, the path of a file, or `nowhere`.
    sink: String,
}

/// Sets the level of the log.
#[derive(Clone, Debug)]
pub(crate) struct LevelHandle(reload::Handle<LevelFilter, Registry>);

impl LevelHandle {
    /// Sets the least severity that is logged.
    ///
    /// # Errors
    /// If the log has ended.
    pub(crate) fn set(&self, level: Level) -> Result<(), reload::Error> {
        self.0.reload(level.filter())
    }
}

impl Log {
    /// Starts the log.
    ///
    /// # Errors
    /// If this process has started a log before, or cannot start a thread.
    pub(crate) fn start(options: &Options) -> io::Result<Self> {
        let file = env::var_os("DUET_RPC_LOG").filter(|path| !path.is_empty()).map(PathBuf::from);
        let (opened, warning) = match file.map(|path| (open_file(&path), printable(&path))) {
            Some((Ok(file), path)) => (Some((file, path)), None),
            Some((Err(error), path)) => {
                let warning = format!("Warning: Cannot write to log file '{path}': {error}. Using stderr instead.\n");
                (None, Some(warning))
            }
            None => (None, None),
        };
        let has_color = opened.is_none() && !options.no_color && is_color_wanted() && io::stderr().is_terminal();
        let (queue, sink) = match opened {
            Some((file, path)) => (Queue::start(file)?, path),
            None if is_stderr_of_protocol() => (Queue::start(io::sink())?, "nowhere".to_owned()),
            None => (Queue::start(stdio::stderr())?, "stderr".to_owned()),
        };
        // The queue writes the warning, at every level of the log. If standard error is a full pipe, a direct write
        // would block the start of the daemon.
        if let Some(warning) = warning {
            queue.make_writer().write_all(warning.as_bytes())?;
        }
        let (filter, handle) = reload::Layer::new(options.log_level.filter());
        let lines =
            tracing_subscriber::fmt::layer().with_ansi(has_color).event_format(Lines).with_writer(queue.clone());
        tracing_subscriber::registry().with(filter).with(lines).try_init().map_err(io::Error::other)?;
        Ok(Self { queue, level: LevelHandle(handle), sink })
    }

    pub(crate) const fn level(&self) -> &LevelHandle {
        &self.level
    }

    /// Returns `stderr`, the path of a file, or `nowhere`.
    pub(crate) fn sink(&self) -> &str {
        &self.sink
    }

    /// Waits until all lines are written, but at most for `timeout`.
    pub(crate) fn flush(&self, timeout: Duration) {
        self.queue.flush(timeout);
    }
}

/// Opens the file of the log. A new file is readable for this user only. Symbolic links are not followed. A file that
/// is not regular is refused: a FIFO could block the daemon, and a write to a device could have any effect. A file with
/// several hard links is refused, too: another user could have created a link to a file of this user at this path.
fn open_file(path: &Path) -> io::Result<File> {
    // The file is checked before it is opened, since opening a device may have effects. For a symbolic link to standard
    // input or output, such as `/dev/stdout`, the error mentions the stream and not the link.
    if let Ok(not_followed) = path.symlink_metadata() {
        expect_log(&path.metadata().ok().filter(is_of_protocol).unwrap_or(not_followed))?;
    }
    // Without NONBLOCK, opening a FIFO waits for a reader. NONBLOCK has no effect on a regular file.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags.bits() as i32).open(path)?;
    let opened = file.metadata()?;
    expect_log(&opened)?;
    if opened.nlink() > 1 {
        return Err(io::Error::other("it has more than one name: remove its other hard links"));
    }
    Ok(file)
}

/// Checks that the log may be written to this file.
///
/// # Errors
/// If the file is the standard input or output, a symbolic link, or not a regular file.
fn expect_log(file: &Metadata) -> io::Result<()> {
    if is_of_protocol(file) {
        return Err(io::Error::other("it is the standard input or output, which carries the protocol"));
    }
    if file.is_symlink() {
        return Err(io::Error::other("it is a symbolic link, which is not followed"));
    }
    if !file.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(())
}

/// Returns whether a file is the standard input or the standard output of this process.
fn is_of_protocol(file: &Metadata) -> bool {
    [metadata(&io::stdin()), metadata(&io::stdout())].iter().flatten().any(|stream| is_same(stream, file))
}

/// Returns whether standard error is the standard output or input, as after `2>&1` or under inetd. Returns `false` for
/// a terminal, since all three streams may be the same terminal.
fn is_stderr_of_protocol() -> bool {
    metadata(&io::stderr()).is_ok_and(|stderr| !stderr.file_type().is_char_device() && is_of_protocol(&stderr))
}

fn metadata(stream: &impl AsFd) -> io::Result<Metadata> {
    File::from(stream.as_fd().try_clone_to_owned()?).metadata()
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Returns a path with its control characters escaped, for a terminal and for a line of the log.
fn printable(path: &Path) -> String {
    escape_control(&path.display().to_string())
}

/// Returns whether the environment allows colours. An empty `NO_COLOR` has no effect, see <https://no-color.org>.
fn is_color_wanted() -> bool {
    let is_set = |value: OsString| !value.is_empty();
    !env::var_os("NO_COLOR").is_some_and(is_set) && env::var_os("TERM").is_none_or(|term| term != "dumb")
}
