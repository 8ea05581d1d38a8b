//! Detects the era of an MCP server, without IO. In the legacy era, a connection begins with the handshake
//! `initialize`. In the modern era, there is no handshake (MCP 2026-07-28, basic/versioning).
//!
//! A client that supports both eras first sends the request `server/discover` with its newest version. A server of the
//! modern era answers with a list of its versions, or with an error that only this era defines. After any other reply,
//! or after no reply, the client sends `initialize`:
//!
//! ```text
//!                ┌────────┐ -32022, a common version, once
//!                ▼        │
//! ───────▶ Discover ──────┘
//!             │  │ DiscoverResult, -32020, -32021
//!             │  └───────────────────────────────▶ Settled (modern)
//!             │ any other reply, or no reply
//!             ▼              a common version
//!         Initialize ────────────────────────────▶ Settled (legacy)
//!             │ late DiscoverResult
//!             └───────────────────────────────────▶ Settled (modern)
//! ```
//!
//! A server that starts slowly may answer `server/discover` after the timeout of this request, and then refuse
//! `initialize`. For this reason, a client that has sent `initialize` still handles the result of `server/discover`.
//!
//! The state is `Failed` if client and server have no common version, if HTTP denies the request, or if the server
//! refuses `initialize`.
//!
//! The era belongs to the process of the server, or to the origin of the server. Keep the era as long as the process
//! runs, or for all connections to the origin.
//!
//! ```
//! use portway_proto::mcp::{Era, EraDetection, Reply, State};
//!
//! let mut detection = EraDetection::new();
//! assert_eq!(detection.state(), State::Discover("2026-07-28"));
//! // Most servers of the legacy era answer -32601 to `server/discover`.
//! detection.handle(Reply::Error { code: -32601, supported: None });
//! assert_eq!(detection.state(), State::Initialize("2025-11-25"));
//! detection.handle(Reply::Initialized("2025-06-18"));
//! assert_eq!(detection.state(), State::Settled(Era::Legacy, "2025-06-18"));
//! ```

pub mod http;

/// The versions without a handshake, the newest first.
pub const MODERN_VERSIONS: &[&str] = &["2026-07-28"];

/// The versions with the handshake `initialize`, the newest first.
pub const LEGACY_VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The error for a request whose HTTP headers and body differ (`HeaderMismatch`).
const HEADER_MISMATCH: i64 = -32020;
/// The error for a capability that the client does not have (`MissingRequiredClientCapability`).
const MISSING_CAPABILITY: i64 = -32021;
/// The error for a version that the server does not support (`UnsupportedProtocolVersion`).
const UNSUPPORTED_VERSION: i64 = -32022;

/// The HTTP statuses that do not depend on the era, because the server has not handled the request.
const DENIED: [u16; 2] = [401, 403];

/// The era of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// The versions up to 2025-11-25. A connection begins with the handshake `initialize`.
    Legacy,
    /// The versions from 2026-07-28 on. Each request names its version.
    Modern,
}

/// The state of the detection, which is the next action of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Send `server/discover` with this version.
    Discover(&'static str),
    /// Send `initialize` with this version.
    Initialize(&'static str),
    /// The era and the version are known. In the legacy era, send `notifications/initialized` now.
    Settled(Era, &'static str),
    /// The client cannot use the server.
    Failed(Failure),
}

/// The reason why a client cannot use a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The server supports no version of the client.
    NoCommonVersion,
    /// HTTP has denied the request with this status. The era remains unknown.
    Denied(u16),
    /// The server has not answered `initialize` with a result.
    InitializeRefused,
}

/// The reply of a server, as far as the era depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// A result of `server/discover` with this member `supportedVersions`. This result can also arrive while
    /// `initialize` is pending.
    Discovered(&'a [&'a str]),
    /// A result of `initialize` with this member `protocolVersion`.
    Initialized(&'a str),
    /// An error response, with the id of the request or with the id null. If HTTP denies a request with 401 or 403, use
    /// [`Reply::Status`], whatever the body contains.
    Error {
        /// The code.
        code: i64,
        /// The member `supported` of the data, if it is a list of strings.
        supported: Option<&'a [&'a str]>,
    },
    /// An HTTP status without an error response in the body.
    Status(u16),
    /// No usable reply: another result, text that is not a response, no response in time, or the end of the process.
    Unusable,
}

/// Detects the era of a server. The documentation of the module has a diagram and an example.
#[derive(Clone, Debug)]
pub struct EraDetection {
    modern: &'static [&'static str],
    legacy: &'static [&'static str],
    /// Whether the server has refused a version. After a second refusal, the client tries no other modern version.
    was_refused: bool,
    state: State,
}

impl EraDetection {
    /// Creates a detection with [`MODERN_VERSIONS`] and [`LEGACY_VERSIONS`].
    #[must_use]
    pub const fn new() -> Self {
        Self::with_versions(MODERN_VERSIONS, LEGACY_VERSIONS)
    }

    /// Creates a detection for a client with these versions, the preferred versions first. For a client of one era, the
    /// list of the other era is empty.
    #[must_use]
    pub const fn with_versions(modern: &'static [&'static str], legacy: &'static [&'static str]) -> Self {
        let state = match (modern, legacy) {
            ([version, ..], _) => State::Discover(version),
            ([], [version, ..]) => State::Initialize(version),
            ([], []) => State::Failed(Failure::NoCommonVersion),
        };
        Self { modern, legacy, was_refused: false, state }
    }

    /// Returns the state.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Handles the reply to the request of the current state. Has no effect if the state requires no request.
    pub fn handle(&mut self, reply: Reply<'_>) {
        self.state = match self.state {
            State::Discover(version) => self.after_discover(version, reply),
            State::Initialize(version) => self.after_initialize(version, reply),
            state => state,
        };
    }

    fn after_discover(&mut self, version: &'static str, reply: Reply<'_>) -> State {
        match reply {
            Reply::Discovered(supported) => match common(self.modern, supported) {
                Some(version) => State::Settled(Era::Modern, version),
                None => self.initialize_with(supported),
            },
            Reply::Error { code: UNSUPPORTED_VERSION, supported: Some(supported) } => {
                // The list may contain the refused version itself. The limit of one retry prevents an endless loop.
                let retried = common(self.modern, supported).filter(|_| !self.was_refused);
                self.was_refused = true;
                retried.map_or_else(|| self.initialize_with(supported), State::Discover)
            }
            Reply::Error { code: HEADER_MISMATCH | MISSING_CAPABILITY, .. } => State::Settled(Era::Modern, version),
            Reply::Status(status) if DENIED.contains(&status) => State::Failed(Failure::Denied(status)),
            _ => match self.legacy {
                [version, ..] => State::Initialize(version),
                [] => State::Failed(Failure::NoCommonVersion),
            },
        }
    }

    /// Returns the state for a server of the modern era that supports no modern version of the client. This server may
    /// support a version with the handshake.
    fn initialize_with(&self, supported: &[&str]) -> State {
        common(self.legacy, supported).map_or(State::Failed(Failure::NoCommonVersion), State::Initialize)
    }

    fn after_initialize(&self, version: &'static str, reply: Reply<'_>) -> State {
        match reply {
            Reply::Discovered(supported) => match common(self.modern, supported) {
                Some(version) => State::Settled(Era::Modern, version),
                None => State::Initialize(version),
            },
            Reply::Initialized(version) => match common(self.legacy, &[version]) {
                Some(version) => State::Settled(Era::Legacy, version),
                None => State::Failed(Failure::NoCommonVersion),
            },
            Reply::Status(status) if DENIED.contains(&status) => State::Failed(Failure::Denied(status)),
            _ => State::Failed(Failure::InitializeRefused),
        }
    }
}

impl Default for EraDetection {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the first version of the client that the server supports.
fn common(client: &'static [&'static str], server: &[&str]) -> Option<&'static str> {
    client.iter().copied().find(|version| server.contains(version))
}
