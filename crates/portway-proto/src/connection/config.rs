//! The configuration of a connection.

use crate::Limits;
use crate::profile::Profile;

/// The configuration of a [`Connection`](super::Connection).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The protocol profile.
    pub profile: Profile,
    /// Limits on the resources that the peer can use.
    pub limits: Limits,
    /// Resolution of timeouts. With 0, timeouts are exact: the connection requests a clock reading after every call.
    /// With a larger number `n`, the reading may be delayed by the timeout of the call divided by `n`, but at most by
    /// `max_clock_delay`. The timeout starts at this reading, so a call never ends too early. A driver with many calls
    /// reads the clock a few times per second instead of once per call. Default: 0.
    pub time_grain: u64,
    /// Maximum time from the start of a call to the clock reading at which the timeout of the call starts, in
    /// milliseconds. Unused if `time_grain` is 0. Default: 1 000.
    pub max_clock_delay: u64,
    /// The first outgoing call has the id `last_id + 1`. A connection that replaces another connection on the same
    /// transport must not reuse the ids of the replaced connection, because late responses may still arrive. Default:
    /// 0.
    pub last_id: u64,
}

impl Config {
    /// Creates a configuration with exact timeouts and default limits.
    #[must_use]
    pub const fn new(profile: Profile) -> Self {
        Self { profile, limits: Limits::DEFAULT, time_grain: 0, max_clock_delay: 1_000, last_id: 0 }
    }

    /// Sets the limits. Default: [`Limits::DEFAULT`].
    #[must_use]
    pub const fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the resolution of timeouts, see [`time_grain`](Self::time_grain). Default: 0, exact.
    #[must_use]
    pub const fn with_time_grain(self, time_grain: u64) -> Self {
        Self { time_grain, ..self }
    }

    /// Sets the maximum time from the start of a call to the clock reading at which its timeout starts, in
    /// milliseconds. Default: 1 000.
    #[must_use]
    pub const fn with_max_clock_delay(self, max_clock_delay: u64) -> Self {
        Self { max_clock_delay, ..self }
    }

    /// Sets [`last_id`](Self::last_id): the first outgoing call has the id `last_id + 1`. Default: 0.
    #[must_use]
    pub const fn with_last_id(self, last_id: u64) -> Self {
        Self { last_id, ..self }
    }
}
