//! Logs the diagnostics of the connection.
//!
//! A fault of the client is logged as a warning, and a fault of the daemon as an error. Exception: invalid params of a
//! notification are logged as an error, because no response reports them to the client. A line of the log may contain
//! the code and the reason of the fault, its sizes, and the method and the id of the message. The line never contains
//! params, bodies or headers.

use std::fmt::{self, Display, Write};

use serde::Deserialize;
use tracing::{debug, error, warn};

use portway::codec::frame::FrameFault;
use portway::message::Id;
use portway::{Diagnostic, ErrorCode, Limits, RpcError};
use portway_cli_support::escape::escape_control;

use crate::limits::{MAX_LOGGED_ID_BYTES, MAX_LOGGED_METHOD_BYTES};

/// Logs a diagnostic.
pub(crate) fn log(diagnostic: Diagnostic<'_>) {
    match diagnostic {
        Diagnostic::Answered { method, id, error } => answered(method, id, error),
        Diagnostic::Frame(fault) => warn!("{}", LoggedFault(fault)),
        Diagnostic::Rejected { id, method, error } => {
            let id = id.map(|id| tracing::field::display(DisplayId(id)));
            warn!(method = method.and_then(name), id, "{}", LoggedError(error));
        }
        Diagnostic::UnknownNotification { method } => warn!(method = name(method), "unknown notification"),
        Diagnostic::InvalidNotification { method, .. } => {
            error!(method = name(method), "notification failed: {}", LoggedError(&RpcError::invalid_params("")));
        }
        Diagnostic::Panicked { method, .. } => error!(method = name(method), "internal fault: a handler panicked"),
        Diagnostic::UnmatchedResponse { id } => warn!(id = %DisplayId(id), "a response without a pending call"),
        Diagnostic::PeerError { code, .. } => warn!("the client reports an error ({code})"),
        Diagnostic::OtherFraming { peer, own } => warn!("the client seems to use {peer}, not {own}"),
        Diagnostic::Malformed => warn!("a message that is neither a request nor a response"),
        _ => {}
    }
}

fn answered(method: &str, id: &Id, error: Option<&RpcError>) {
    let (method, id) = (name(method), DisplayId(id));
    match error {
        None => debug!(method, %id, "answered"),
        Some(failure) if failure.code == ErrorCode::INTERNAL_ERROR => error!(method, %id, "{}", LoggedError(failure)),
        Some(failure) => warn!(method, %id, "{}", LoggedError(failure)),
    }
}

/// Returns `method` if the text looks like the name of a method. Otherwise returns `None`, since the text may be a
/// path, a secret or a forged log line.
fn name(method: &str) -> Option<&str> {
    let is_name = method.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '$' | '_'))
        && method.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"$_-.:/".contains(&byte))
        && method.len() <= MAX_LOGGED_METHOD_BYTES;
    is_name.then_some(method)
}

/// Displays an id on one line, with control characters escaped. A text of more than [`MAX_LOGGED_ID_BYTES`] is
/// truncated.
pub(crate) struct DisplayId<'a>(pub(crate) &'a Id);

impl Display for DisplayId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut writer = Truncated { formatter: f, free_bytes: MAX_LOGGED_ID_BYTES };
        match writer.write_str(&escape_control(&self.0.to_string())) {
            Err(fmt::Error) if writer.free_bytes == 0 => writer.formatter.write_str("..."),
            result => result,
        }
    }
}

/// Writes text of at most `free_bytes` bytes. A longer text is truncated, and the write fails.
struct Truncated<'a, 'b> {
    formatter: &'a mut fmt::Formatter<'b>,
    free_bytes: usize,
}

impl Write for Truncated<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let boundary = (0..=self.free_bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        let (fits, rest) = text.split_at_checked(boundary.unwrap_or(0)).unwrap_or((text, ""));
        self.formatter.write_str(fits)?;
        if rest.is_empty() {
            self.free_bytes -= fits.len();
            return Ok(());
        }
        self.free_bytes = 0;
        Err(fmt::Error)
    }
}

/// Displays the code and the reason of an error. The message of the error is omitted, since it may contain text of the
/// client.
struct LoggedError<'a>(&'a RpcError);

impl Display for LoggedError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.0.code;
        write!(f, "{} ({code})", code.standard_message().unwrap_or("Error"))?;
        match reason(self.0) {
            Some(reason) => write!(f, ", {reason}"),
            None => Ok(()),
        }
    }
}

/// Returns the member `reason` of the data of an error. The library sets this member, so the reason contains no text of
/// the client.
fn reason(error: &RpcError) -> Option<String> {
    #[derive(Deserialize)]
    struct Data {
        reason: String,
    }
    Some(error.data::<Data>()?.ok()?.reason)
}

/// Displays the fault of a frame, with its error code, sizes and times.
struct LoggedFault(FrameFault);

impl Display for LoggedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(fault) = self.0.fault() {
            write!(f, "{}, ", LoggedError(&RpcError::new(fault.code(), "")))?;
        }
        match self.0 {
            FrameFault::Oversize { length: Some(length) } => write!(f, "oversize: {length} bytes"),
            FrameFault::Oversize { length: None } => f.write_str("oversize: more bytes than can be counted"),
            FrameFault::HeaderTooLarge => {
                write!(f, "header-too-large: more than {} bytes", Limits::DEFAULT.header_bytes)
            }
            FrameFault::InvalidHeader => f.write_str("the header has no valid length"),
            FrameFault::Truncated { received_bytes } => {
                write!(f, "the input ended after {received_bytes} bytes of a message")
            }
            FrameFault::TimedOut { received_bytes } => {
                let seconds = Limits::DEFAULT.partial_frame_ms / 1_000;
                write!(f, "a message was incomplete after {seconds} s, its {received_bytes} bytes were dropped")
            }
            _ => f.write_str("not a frame"),
        }
    }
}
