//! The levels of the log.

use std::str::FromStr;

use clap::ValueEnum;
use tracing_subscriber::filter::LevelFilter;

/// A level of the log, from the most to the least verbose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

impl Level {
    /// The names of all levels.
    pub(crate) const NAMES: [&str; 4] = [Self::Debug.name(), Self::Info.name(), Self::Warn.name(), Self::Error.name()];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    pub(crate) const fn filter(self) -> LevelFilter {
        match self {
            Self::Debug => LevelFilter::DEBUG,
            Self::Info => LevelFilter::INFO,
            Self::Warn => LevelFilter::WARN,
            Self::Error => LevelFilter::ERROR,
        }
    }
}

/// The error for a text that is not the name of a level.
#[derive(Debug)]
pub(crate) struct UnknownLevel;

impl FromStr for Level {
    type Err = UnknownLevel;

    /// Parses the name of a level, in upper or lower case.
    fn from_str(name: &str) -> Result<Self, UnknownLevel> {
        let has_name = |level: &&Self| level.name().eq_ignore_ascii_case(name);
        Self::value_variants().iter().find(has_name).copied().ok_or(UnknownLevel)
    }
}
