//! What happens on the link, as lines of the log.
//!
//! What a client does wrong is a warning, what goes wrong in here an error. A line names the code, the reason and the sizes,
//! the method and the id; it holds nothing of params, bodies or headers.

use std::fmt::{self, Display, Write};

use serde::Deserialize;
use tracing::{debug, error, warn};

use portway::codec::frame::FrameFault;
use portway::message::Id;
use portway::{Diagnostic, ErrorCode, Limits, RpcError};

use crate::harmless::harmless;
use crate::limits::{MAX_LOGGED_ID, MAX_LOGGED_METHOD};

/// Logs a diagnostic.
pub(crate) fn log(diagnostic: Diagnostic<'_>) {
    match diagnostic {
        Diagnostic::Answered { method, id, error } => answered(method, id, error),
        Diagnostic::Frame(fault) => warn!("{}", Frame(fault)),
        Diagnostic::Rejected { id, method, error } => {
            let id = id.map(|id| tracing::field::display(Shown(id)));
            warn!(method = method.and_then(name), id, "{}", Failure(error));
        }
        Diagnostic::UnknownNotification { method } => warn!(method = name(method), "unknown notification"),
        Diagnostic::InvalidNotification { method, .. } => {
            error!(method = name(method), "notification failed: {}", Failure(&RpcError::invalid_params("")));
        }
        Diagnostic::Panicked { method, .. } => error!(method = name(method), "internal fault: a handler panicked"),
        Diagnostic::UnmatchedResponse { id } => warn!(id = %Shown(id), "a response that no call waits for"),
        Diagnostic::PeerError { code, .. } => warn!("the client reports an error ({code})"),
        Diagnostic::OtherFraming { peer, own } => warn!("the client seems to speak {peer}, not {own}"),
        Diagnostic::Malformed => warn!("neither request nor response"),
        _ => {}
    }
}

fn answered(method: &str, id: &Id, error: Option<&RpcError>) {
    let (method, id) = (name(method), Shown(id));
    match error {
        None => debug!(method, %id, "answered"),
        Some(failure) if failure.code == ErrorCode::INTERNAL_ERROR => error!(method, %id, "{}", Failure(failure)),
        Some(failure) => warn!(method, %id, "{}", Failure(failure)),
    }
}

/// The name of a method, if it looks like one. All else could be anything: a path, a secret, a forged line.
fn name(method: &str) -> Option<&str> {
    let is_name = method.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '$' | '_'))
        && method.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"$_-.:/".contains(&byte))
        && method.len() <= MAX_LOGGED_METHOD;
    is_name.then_some(method)
}

/// An id, on one line, without what a terminal obeys, and not longer than it has to be.
pub(crate) struct Shown<'a>(pub(crate) &'a Id);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Shortened { text: f, room: MAX_LOGGED_ID };
        match text.write_str(&harmless(&self.0.to_string())) {
            Err(fmt::Error) if text.room == 0 => text.text.write_str("..."),
            other => other,
        }
    }
}

/// Passes text on until there is no room for more.
struct Shortened<'a, 'b> {
    text: &'a mut fmt::Formatter<'b>,
    room: usize,
}

impl Write for Shortened<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let boundary = (0..=self.room.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        let (fits, rest) = text.split_at_checked(boundary.unwrap_or(0)).unwrap_or((text, ""));
        self.text.write_str(fits)?;
        if rest.is_empty() {
            self.room -= fits.len();
            return Ok(());
        }
        self.room = 0;
        Err(fmt::Error)
    }
}

/// The code of an error and the reason for it. Its message may repeat what the client sent.
struct Failure<'a>(&'a RpcError);

impl Display for Failure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.0.code;
        write!(f, "{} ({code})", code.standard_message().unwrap_or("Error"))?;
        match reason(self.0) {
            Some(reason) => write!(f, ", {reason}"),
            None => Ok(()),
        }
    }
}

/// The `data.reason` of an error of the library.
fn reason(error: &RpcError) -> Option<String> {
    #[derive(Deserialize)]
    struct Data {
        reason: String,
    }
    Some(error.data::<Data>()?.ok()?.reason)
}

/// What was wrong with a frame, in sizes and times.
struct Frame(FrameFault);

impl Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(fault) = self.0.fault() {
            write!(f, "{}, ", Failure(&RpcError::new(fault.code(), "")))?;
        }
        match self.0 {
            FrameFault::Oversize { length: Some(length) } => write!(f, "oversize: {length} bytes"),
            FrameFault::Oversize { length: None } => f.write_str("oversize: more bytes than can be counted"),
            FrameFault::HeaderTooLarge => {
                write!(f, "header-too-large: more than {} bytes", Limits::DEFAULT.header_bytes)
            }
            FrameFault::InvalidHeader => f.write_str("the header gives no length"),
            FrameFault::Truncated { held } => write!(f, "the input ended after {held} bytes of a message"),
            FrameFault::TimedOut { held } => {
                let seconds = Limits::DEFAULT.partial_frame_ms / 1_000;
                write!(f, "a message was incomplete after {seconds} s, {held} bytes of it are dropped")
            }
            _ => f.write_str("not a frame"),
        }
    }
}
