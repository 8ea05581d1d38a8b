//! The reconnect policy of a client: decides whether and when the client tries again to connect. The policy does no IO,
//! reads no clock, and receives random numbers from the caller.
//!
//! ```text
//!             opened          handle_timeout
//! connecting ───────▶ open ───────────▶ held
//!     ▲  │              │                 │
//!     │  │ lost         │ lost            │ lost
//!     │  ▼              ▼                 ▼
//!     └─ waiting ◀──────┴─────────────────┘
//! ```
//!
//! `handle_timeout` or `hurry` changes the state from `waiting` to `connecting`. After `close`, or after `lost` with a
//! close code that ends the attempts, the state is `closed`.
//!
//! A server may accept connections and close them at once. So a new connection does not reset the count of failures.
//! The connection must first be open for the longer of [`Options::hold`] and the delay before its attempt. Then the
//! state becomes [`State::Held`], and the count becomes 0.
//!
//! The caller starts a connection whenever the state becomes [`State::Connecting`]. Timers and events of the platform
//! do not start connections. They call [`Reconnect::handle_timeout`] and [`Reconnect::hurry`], which may change the
//! state.
//!
//! ```
//! use portway_proto::reconnect::{Options, Reconnect, State, full_jitter};
//!
//! let mut policy = Reconnect::new(Options::default());
//! policy.start();
//! // The connection fails with the close code 1006 of RFC 6455. The example uses a fixed random number.
//! policy.lost(20, Some(1006), None, |delay, _attempt| full_jitter(delay, u32::MAX / 2));
//! assert_eq!(policy.state(), State::Waiting);
//! assert_eq!(policy.poll_timeout(), Some(270));
//! policy.handle_timeout(270);
//! assert_eq!(policy.state(), State::Connecting);
//! ```
//!
//! All times are milliseconds on any clock that does not go back.

/// The options of [`Reconnect`]. All times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The delay after the first failure, before the jitter. The delay doubles with each further failure. Default: 500.
    pub base: u64,
    /// The maximum delay, after the jitter. Default: 30 000.
    pub cap: u64,
    /// The minimum time that a connection must be open before it resets the count of failures. Default: 5 000.
    pub hold: u64,
    /// After [`Verdict::WaitLonger`], `base` is at least this delay, and this delay is added to the result of the
    /// jitter. The sum is at most `cap`. Default: 5 000.
    pub restart: u64,
}

impl Options {
    /// The default options.
    pub const DEFAULT: Self = Self { base: 500, cap: 30_000, hold: 5_000, restart: 5_000 };
}

impl Default for Options {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The state of a [`Reconnect`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// [`Reconnect::start`] was not called yet.
    Idle,
    /// A connection is being opened.
    Connecting,
    /// The connection is open, but not long enough to reset the count of failures.
    Open,
    /// The connection has reset the count of failures. It was open for at least the longer of [`Options::hold`] and
    /// [`Reconnect::delay`].
    Held,
    /// The client is not connected. The next attempt starts at the time that [`Reconnect::poll_timeout`] returns.
    Waiting,
    /// The client is not connected, and makes no further attempt.
    Closed,
}

/// The effect of a close code on the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No attempt follows, because the peer refuses this client or does not support its protocol.
    Stop,
    /// The next attempt follows after the delay.
    BackOff,
    /// The next attempt follows after a longer delay, since the peer restarts or is overloaded.
    WaitLonger,
}

impl Verdict {
    /// Returns the verdict on a close code of RFC 6455 (section 7.4), or of the registry of close codes. `None` means
    /// that the connection failed, without a close code.
    ///
    /// These codes end the attempts: 1002 (protocol error), 1003 (unsupported data), 1008 (policy violation), 1010
    /// (missing extension), 3000 (unauthorized), 3003 (forbidden), and 4400 to 4499 except 4408 and 4429. Servers use
    /// the codes 4400 to 4499 like the statuses 400 to 499 of HTTP. For example, 4408 is a timeout, and 4429 is too
    /// many requests. After 1012 (service restart) and 1013 (try again later), the verdict is [`Verdict::WaitLonger`].
    /// After all other codes, the verdict is [`Verdict::BackOff`]. 1000 is one of these codes, because servers send
    /// 1000 when they restart.
    #[must_use]
    pub const fn of(code: Option<u16>) -> Self {
        match code {
            Some(4408 | 4429) => Self::BackOff,
            Some(1002 | 1003 | 1008 | 1010 | 3000 | 3003 | 4400..=4499) => Self::Stop,
            Some(1012 | 1013) => Self::WaitLonger,
            _ => Self::BackOff,
        }
    }
}

/// The state machine of the attempts to connect. The documentation of the module has a diagram and an example.
#[derive(Clone, Debug)]
pub struct Reconnect {
    options: Options,
    state: State,
    /// The number of failures since a connection was last held, see [`State::Held`].
    attempt: u32,
    /// The last delay that the policy has chosen. In the state `Waiting`, it is the delay before the next attempt.
    delay: u64,
    /// The time of the next change of the state, from `Open` to `Held` or from `Waiting` to `Connecting`.
    due: Option<u64>,
    /// Whether `hurry` has started an attempt. False again once a whole delay has passed, or once a connection is held.
    hurried: bool,
}

impl Reconnect {
    /// Returns a policy in [`State::Idle`].
    #[must_use]
    pub const fn new(options: Options) -> Self {
        Self { options, state: State::Idle, attempt: 0, delay: 0, due: None, hurried: false }
    }

    /// Returns the state.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Returns the number of failures since a connection was last held, see [`State::Held`].
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the last delay (ms) that the policy has chosen, or 0 before the first failure. In [`State::Waiting`], it
    /// is the delay before the next attempt.
    #[must_use]
    pub const fn delay(&self) -> u64 {
        self.delay
    }

    /// Returns the time (ms) at which the caller must call [`handle_timeout`](Self::handle_timeout), or `None`.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<u64> {
        self.due
    }

    /// Starts the first attempt. Has an effect only in [`State::Idle`].
    pub fn start(&mut self) {
        if self.state == State::Idle {
            self.enter(State::Connecting, None);
        }
    }

    /// Handles an opened connection. Has an effect only in [`State::Connecting`].
    pub fn opened(&mut self, now: u64) {
        if self.state == State::Connecting {
            let hold = self.options.hold.max(self.delay);
            self.enter(State::Open, Some(now.saturating_add(hold)));
        }
    }

    /// Handles a clock reading. If the time of [`poll_timeout`](Self::poll_timeout) is reached, the state changes from
    /// [`State::Open`] to [`State::Held`], or from [`State::Waiting`] to [`State::Connecting`].
    pub fn handle_timeout(&mut self, now: u64) {
        if self.due.is_none_or(|due| now < due) {
            return;
        }
        match self.state {
            State::Open => {
                self.attempt = 0;
                self.hurried = false;
                self.enter(State::Held, None);
            }
            State::Waiting => {
                self.hurried = false;
                self.enter(State::Connecting, None);
            }
            _ => {}
        }
    }

    /// Handles the end of a connection, or of an attempt. `code` is the close code, or `None` if the connection failed.
    /// `verdict` replaces the verdict on `code`, unless `verdict` is `None`. In `jitter(delay, attempt)`, `delay` is
    /// `base · 2^attempt`, at most `cap`, and `attempt` is 0 after the first failure. The result of `jitter` is the
    /// delay (ms) before the next attempt, at most `cap`. [`full_jitter`] is the usual choice. After
    /// [`Verdict::WaitLonger`], [`Options::restart`] also applies.
    ///
    /// The method has an effect only in [`State::Connecting`], [`State::Open`] and [`State::Held`]. The method changes
    /// the state to [`State::Waiting`] or [`State::Closed`].
    pub fn lost(
        &mut self,
        now: u64,
        code: Option<u16>,
        verdict: Option<Verdict>,
        jitter: impl FnOnce(u64, u32) -> u64,
    ) {
        // If the timer is late, the connection may have been open long enough without a call of `handle_timeout`.
        self.handle_open_timeout(now);
        if !matches!(self.state, State::Connecting | State::Open | State::Held) {
            return;
        }
        let verdict = verdict.unwrap_or_else(|| Verdict::of(code));
        if verdict == Verdict::Stop {
            return self.close();
        }
        let Options { base, cap, restart, .. } = self.options;
        let (base, least) = if verdict == Verdict::WaitLonger { (base.max(restart), restart) } else { (base, 0) };
        let factor = 1_u64.checked_shl(self.attempt).unwrap_or(u64::MAX);
        let delay = jitter(base.saturating_mul(factor).min(cap), self.attempt);
        self.delay = least.saturating_add(delay).min(cap);
        self.attempt = self.attempt.saturating_add(1);
        self.enter(State::Waiting, Some(now.saturating_add(self.delay)));
    }

    /// Starts an attempt before the end of the delay. Call this method after an event that may help, for example if the
    /// network is available or the page is visible. Returns whether the attempt starts. After an early attempt, the
    /// method returns false until a whole delay has passed, or until a connection is held. So frequent events do not
    /// cause frequent connections.
    pub fn hurry(&mut self) -> bool {
        let is_granted = self.state == State::Waiting && !self.hurried;
        if is_granted {
            self.hurried = true;
            self.enter(State::Connecting, None);
        }
        is_granted
    }

    /// Ends all attempts. In [`State::Waiting`], the next attempt is cancelled.
    pub fn close(&mut self) {
        self.enter(State::Closed, None);
    }

    fn handle_open_timeout(&mut self, now: u64) {
        if self.state == State::Open {
            self.handle_timeout(now);
        }
    }

    fn enter(&mut self, state: State, due: Option<u64>) {
        self.state = state;
        self.due = due;
    }
}

/// Returns a delay from 0 up to `delay`, in proportion to a random number. Full jitter spreads the clients of a server
/// that was restarted over the whole delay.
#[must_use]
pub fn full_jitter(delay: u64, random: u32) -> u64 {
    let product = u128::from(delay) * (u128::from(random) + 1);
    // The product divided by 2^32 is at most `delay`.
    u64::try_from(product >> 32).unwrap_or(delay)
}
