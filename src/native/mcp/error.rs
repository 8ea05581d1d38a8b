//! The errors of clients and servers of MCP.

use core::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::sync::OnceLock;

use serde::Deserialize;

use super::Failure;
use crate::error::{CallError, RpcError};

/// Returns the mark in the data of an error to which the HTTP transport converts a failure. The mark is random for each
/// process, so a server cannot send such an error.
pub(super) fn failure_mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    let random = || RandomState::new().build_hasher().finish();
    MARK.get_or_init(|| format!("http-failed-{:016x}{:016x}", random(), random()))
}

/// The reason why a connection to an MCP server, or a call of the server, failed; or why a server cannot register an
/// item.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The process of the server could not be started.
    Start(io::Error),
    /// A call failed.
    Call(CallError),
    /// HTTP has not delivered the response. The server may have handled the request, unless `status` is set.
    Http {
        /// The status of the HTTP response. `None` if there was no response, or if the response is invalid.
        status: Option<u16>,
        /// The header `WWW-Authenticate` of a response with the status 401 or 403.
        challenge: Option<String>,
        /// The reason, for people.
        problem: String,
    },
    /// The client cannot use the server.
    Negotiation {
        /// The reason.
        failure: Failure,
        /// The versions that the server has named last. The list is empty if the server has named none.
        supported: Vec<String>,
    },
    /// The server needs input to complete a request, and the handler for this input has failed. If no handler has this
    /// method, the error has the code -32601.
    Input {
        /// The method of the handler, for example `elicitation/create`.
        method: String,
        /// The error of the handler.
        error: RpcError,
    },
    /// The server has asked for input more often than 16 times during one call.
    TooManyRounds,
    /// A list has more than 16 pages.
    TooManyPages,
    /// The result has a `resultType` that this client does not know.
    UnknownResultType(String),
    /// The definition of a tool, a resource or a prompt is invalid. The value is the reason.
    Definition(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "the server cannot be started: {error}"),
            Self::Call(error) => error.fmt(f),
            Self::Http { problem, .. } => f.write_str(problem),
            Self::Negotiation { failure: Failure::NoCommonVersion, supported } if supported.is_empty() => {
                f.write_str("the server supports no version of MCP that this client supports")
            }
            Self::Negotiation { failure: Failure::NoCommonVersion, supported } => {
                write!(f, "this client supports no version of MCP that the server supports: {}", supported.join(", "))
            }
            Self::Negotiation { failure: Failure::Denied(status), .. } => {
                write!(f, "the server has denied the request with the HTTP status {status}")
            }
            Self::Negotiation { failure: Failure::InitializeRefused, .. } => {
                f.write_str("the server has not answered initialize with a result")
            }
            Self::Input { method, error } => write!(f, "the handler of {method} has failed: {error}"),
            Self::TooManyRounds => f.write_str("the server has asked for input more often than 16 times"),
            Self::Definition(problem) => f.write_str(problem),
            Self::TooManyPages => f.write_str("the list has more than 16 pages"),
            Self::UnknownResultType(name) => {
                write!(f, "resultType must be \"complete\" or \"input_required\", got {name:?}")
            }
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // The text of this variant is the text of the call's error.
            Self::Call(error) => error.source(),
            Self::Start(error) => Some(error),
            Self::Input { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        Self::from_http(&error).unwrap_or(Self::Call(error))
    }
}

/// The data of the error to which the HTTP transport converts its failures.
#[derive(Deserialize)]
struct HttpData {
    mark: String,
    status: Option<u16>,
    challenge: Option<String>,
}

impl Error {
    /// Returns the error for a failure of HTTP, or `None` for any other error.
    fn from_http(error: &CallError) -> Option<Self> {
        let error = error.remote()?;
        let HttpData { mark, status, challenge } = error.data()?.ok()?;
        (mark == failure_mark()).then(|| Self::Http { status, challenge, problem: error.message.clone() })
    }
}
