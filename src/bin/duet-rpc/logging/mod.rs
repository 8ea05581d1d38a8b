//! The log: where it goes, how much it says, and what its lines look like.
//!
//! It goes to standard error, or to the file that `DUET_RPC_LOG` names; never to standard output, which is the
//! protocol's. If standard error is the same pipe, socket or file as standard output, it goes nowhere. Its lines hold
//! no payload, no header and no path of a user, but for that of the log itself at the start.

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
use crate::harmless::harmless;
use crate::level::Level;

/// The log of this process.
pub(crate) struct Log {
    queue: Queue,
    level: LevelHandle,
    /// `stderr`, the path of a file, or `nowhere`.
    sink: String,
}

/// Sets the level of the log.
#[derive(Clone, Debug)]
pub(crate) struct LevelHandle(reload::Handle<LevelFilter, Registry>);

impl LevelHandle {
    /// From now on, only this and what is worse is logged.
    ///
    /// # Errors
    /// If there is no log any more.
    pub(crate) fn set(&self, level: Level) -> Result<(), reload::Error> {
        self.0.reload(level.filter())
    }
}

impl Log {
    /// Starts the log.
    ///
    /// # Errors
    /// If there is one already, or no thread for it.
    pub(crate) fn start(options: &Options) -> io::Result<Self> {
        let file = env::var_os("DUET_RPC_LOG").filter(|path| !path.is_empty()).map(PathBuf::from);
        let (opened, warning) = match file.map(|path| (open_file(&path), shown(&path))) {
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
            // Log lines would break the frames of the protocol.
            None if is_stderr_of_protocol() => (Queue::start(io::sink())?, "nowhere".to_owned()),
            None => (Queue::start(stdio::stderr())?, "stderr".to_owned()),
        };
        // It is written at every level. Standard error may be a pipe that nobody reads: the queue keeps it from
        // delaying the start.
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

    /// `stderr`, the path of a file, or `nowhere`.
    pub(crate) fn sink(&self) -> &str {
        &self.sink
    }

    /// Waits until all is written, but no longer than `patience`.
    pub(crate) fn flush(&self, patience: Duration) {
        self.queue.flush(patience);
    }
}

/// Opens the file of the log, for nobody but this user if it is new. Symbolic links are not followed, and what is no regular
/// file is refused: a FIFO could hold up the daemon, and a device could be anything. So is a file with another hard link, which
/// could be a file of this user that somebody else has linked here.
fn open_file(path: &Path) -> io::Result<File> {
    // This check comes before the open, since a device may react to that. A symbolic link may lead to a stream of the
    // protocol.
    if let Ok(named) = path.symlink_metadata() {
        expect_log(&path.metadata().ok().filter(is_of_protocol).unwrap_or(named))?;
    }
    // Without NONBLOCK, to open a FIFO waits for who reads it. With a regular file it changes nothing.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags.bits() as i32).open(path)?;
    let opened = file.metadata()?;
    expect_log(&opened)?;
    if opened.nlink() > 1 {
        return Err(io::Error::other("it has more than one name: remove its other hard links"));
    }
    Ok(file)
}

/// # Errors
/// If this file cannot be the log.
fn expect_log(file: &Metadata) -> io::Result<()> {
    if is_of_protocol(file) {
        return Err(io::Error::other("it is the standard input or output, which is the protocol's"));
    }
    if file.is_symlink() {
        return Err(io::Error::other("it is a symbolic link, which is not followed"));
    }
    if !file.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(())
}

/// Whether this is the standard input or output.
fn is_of_protocol(file: &Metadata) -> bool {
    [opened(&io::stdin()), opened(&io::stdout())].iter().flatten().any(|stream| is_same(stream, file))
}

/// Whether standard error is the standard output or input, as after `2>&1` or under inetd. A terminal may be all three,
/// and does not count.
fn is_stderr_of_protocol() -> bool {
    opened(&io::stderr()).is_ok_and(|stderr| !stderr.file_type().is_char_device() && is_of_protocol(&stderr))
}

fn opened(stream: &impl AsFd) -> io::Result<Metadata> {
    File::from(stream.as_fd().try_clone_to_owned()?).metadata()
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// A path on a terminal and in a line of the log.
fn shown(path: &Path) -> String {
    harmless(&path.display().to_string())
}

/// As <https://no-color.org> has it: set and not empty.
fn is_color_wanted() -> bool {
    let is_set = |value: OsString| !value.is_empty();
    !env::var_os("NO_COLOR").is_some_and(is_set) && env::var_os("TERM").is_none_or(|term| term != "dumb")
}
