//! What a connection is told at its start.

use crate::Limits;
use crate::profile::Profile;

/// How a [`Connection`](super::Connection) behaves.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Config {
    /// How messages are read.
    pub profile: Profile,
    /// What the peer can make us hold.
    pub limits: Limits,
    /// How coarsely time is told. With `0`, the connection asks for a reading of the clock after every call. With `n`,
    /// it asks for one within a call's timeout / `n`, or `longest_wait` if that is less, and the call may end that much later
    /// than its timeout, never earlier: a driver that makes many calls then reads the clock a few times a second, not once a call.
    pub time_grain: u64,
    /// Longest wait of a call for its reading of the clock, if `time_grain` is not 0. Default 1 000.
    pub longest_wait: u64,
    /// The id after which those of our calls begin: where a link takes the place of another on one boundary, answers to
    /// calls of the old one may still come. 0 at first.
    pub last_id: u64,
}

impl Config {
    /// Exact time, default limits.
    #[must_use]
    pub const fn new(profile: Profile) -> Self {
        Self { profile, limits: Limits::DEFAULT, time_grain: 0, longest_wait: 1_000, last_id: 0 }
    }

    /// The same, with other limits.
    #[must_use]
    pub const fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same, with a coarser clock.
    #[must_use]
    pub const fn with_time_grain(self, time_grain: u64) -> Self {
        Self { time_grain, ..self }
    }

    /// The same, with another longest wait for a reading of the clock.
    #[must_use]
    pub const fn with_longest_wait(self, longest_wait: u64) -> Self {
        Self { longest_wait, ..self }
    }

    /// The same, with ids that begin after this one.
    #[must_use]
    pub const fn with_last_id(self, last_id: u64) -> Self {
        Self { last_id, ..self }
    }
}
