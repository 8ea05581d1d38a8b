//! The configuration of a connection.

use crate::Limits;
use crate::profile::Profile;

/// The configuration of a [`Connection`](super::Connection).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The protocol profile.
    pub profile: Profile,
    /// Limits on the peer.
    pub limits: Limits,
    /// Resolution of timeouts. With `0`, the connection requests a clock reading after every call. With `n`, it
    /// requests one within a call's timeout / `n`, or within `longest_wait` if that is less. A call may end that much
    /// after its timeout, never before it. A driver that makes many calls then reads the clock a few times a second,
    /// not once per call.
    pub time_grain: u64,
    /// Maximum wait of a call for its clock reading, in milliseconds, if `time_grain` is not 0. Default: 1 000.
    pub longest_wait: u64,
    /// The id before that of the first outgoing call. A connection that replaces another one on the same transport
    /// continues its ids, since late responses may still arrive. Default: 0.
    pub last_id: u64,
}

impl Config {
    /// Creates a configuration with exact timeouts and default limits.
    #[must_use]
    pub const fn new(profile: Profile) -> Self {
        Self { profile, limits: Limits::DEFAULT, time_grain: 0, longest_wait: 1_000, last_id: 0 }
    }

    /// Sets the limits. Default: [`Limits::DEFAULT`].
    #[must_use]
    pub const fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the resolution of timeouts. Default: 0, exact.
    #[must_use]
    pub const fn with_time_grain(self, time_grain: u64) -> Self {
        Self { time_grain, ..self }
    }

    /// Sets the maximum wait of a call for a clock reading, in milliseconds. Default: 1 000.
    #[must_use]
    pub const fn with_longest_wait(self, longest_wait: u64) -> Self {
        Self { longest_wait, ..self }
    }

    /// Sets the id before that of the first outgoing call. Default: 0.
    #[must_use]
    pub const fn with_last_id(self, last_id: u64) -> Self {
        Self { last_id, ..self }
    }
}
