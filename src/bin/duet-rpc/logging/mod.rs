//! The log: where it goes, how much it says, and what its lines look like.
//!
//! It goes to standard error, or to the file that `DUET_RPC_LOG` names; never to standard output, which is the protocol's.
//! Its lines hold no payload, no header and no path of a user, but for that of the log itself at the start.

mod format;
mod queue;

use std::env;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use portway::stdio;
use rustix::fs::OFlags;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::LevelFilter;
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
    /// `stderr`, or the path of a file.
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
        let opened = file.and_then(|path| open(&path).map(|file| (file, shown(&path))));
        let has_color = opened.is_none() && !options.no_color && is_color_wanted() && io::stderr().is_terminal();
        let (queue, sink) = match opened {
            Some((file, path)) => (Queue::start(file)?, path),
            None => (Queue::start(stdio::stderr())?, "stderr".to_owned()),
        };
        let (filter, handle) = reload::Layer::new(options.log_level.filter());
        let lines =
            tracing_subscriber::fmt::layer().with_ansi(has_color).event_format(Lines).with_writer(queue.clone());
        tracing_subscriber::registry().with(filter).with(lines).try_init().map_err(io::Error::other)?;
        Ok(Self { queue, level: LevelHandle(handle), sink })
    }

    pub(crate) const fn level(&self) -> &LevelHandle {
        &self.level
    }

    /// `stderr`, or the path of a file.
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
    // Without NONBLOCK, to open a FIFO waits for who reads it. With a regular file it changes nothing.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags.bits() as i32).open(path)?;
    let opened = file.metadata()?;
    if !opened.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if opened.nlink() > 1 {
        return Err(io::Error::other("it has more than one name: remove its other hard links"));
    }
    let is_opened = |stream: &dyn Fn() -> io::Result<File>| {
        let stream = stream().and_then(|stream| stream.metadata());
        stream.is_ok_and(|stream| (stream.dev(), stream.ino()) == (opened.dev(), opened.ino()))
    };
    let input = || io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let output = || io::stdout().as_fd().try_clone_to_owned().map(File::from);
    if is_opened(&input) || is_opened(&output) {
        return Err(io::Error::other("it is the standard input or output, which is the protocol's"));
    }
    Ok(file)
}

/// Opens the file of the log. If it cannot be written, that is told on standard error, at whatever level.
fn open(path: &Path) -> Option<File> {
    match open_file(path) {
        Ok(file) => Some(file),
        Err(error) => {
            let path = shown(path);
            // Without standard error there is nobody to tell.
            let _ =
                writeln!(stdio::stderr(), "Warning: Cannot write to log file '{path}': {error}. Using stderr instead.");
            None
        }
    }
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
