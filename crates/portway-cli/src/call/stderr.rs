//! Reports the diagnostics of a connection on standard error.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use portway::codec::frame::FrameFault;
use portway::codec::wipc::{Frame, FrameType};
use portway::message::Unreadable;
use portway::{Diagnostic, ErrorCode, Framing};
use tokio::sync::Notify;

use crate::limits::{MAX_PEER_LINES, MAX_PRINTED_LINE_BYTES};
use crate::output::print_message;

/// Prints diagnostics, and stores facts that later explain a failure of the call.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    /// Whether the client reports noise one line at a time, without the line end.
    has_lines: bool,
    /// The incomplete last line from the peer.
    partial_line: Mutex<Vec<u8>>,
    /// The number of printed lines about the peer.
    reported_lines: AtomicUsize,
    /// The framing of the peer, once the negotiation has detected the framing.
    detected: OnceLock<Framing>,
    /// Whether a JSON-RPC message has arrived.
    has_message: AtomicBool,
    /// The framing that the peer seems to use, if the user named another framing.
    other_framing: OnceLock<Framing>,
    /// The reason why the response cannot be read, if the negotiation has received an unreadable response.
    unreadable: OnceLock<Unreadable>,
    is_unreadable: Notify,
}

impl Reporter {
    /// Creates a reporter for a client with this framing.
    pub(crate) fn new(framing: Framing) -> Self {
        Self { has_lines: framing == Framing::Newline, ..Self::default() }
    }

    pub(super) fn detected(&self) -> Option<Framing> {
        self.detected.get().copied()
    }

    pub(super) fn set_detected(&self, framing: Framing) {
        let _ = self.detected.set(framing);
    }

    /// Returns whether a message has shown that the peer uses the named or the detected framing.
    pub(super) fn is_framing_certain(&self) -> bool {
        self.detected().is_some() || self.has_message.load(Ordering::Relaxed)
    }

    pub(super) fn other_framing(&self) -> Option<Framing> {
        self.other_framing.get().copied()
    }

    /// Ends the call, because its response has arrived and cannot be read.
    pub(super) fn end_call(&self, why: Unreadable) {
        let _ = self.unreadable.set(why);
        self.is_unreadable.notify_one();
    }

    /// Waits for a response that cannot be read. Returns the reason why the response cannot be read.
    pub(super) async fn unreadable(&self) -> Unreadable {
        loop {
            if let Some(why) = self.unreadable.get() {
                return *why;
            }
            self.is_unreadable.notified().await;
        }
    }

    pub(crate) fn diagnostic(&self, diagnostic: &Diagnostic<'_>) {
        use Diagnostic::{PeerError, UnknownNotification, UnmatchedResponse};

        if matches!(diagnostic, UnknownNotification { .. } | UnmatchedResponse { .. } | PeerError { .. }) {
            self.has_message.store(true, Ordering::Relaxed);
        }
        match diagnostic {
            Diagnostic::Noise(bytes) => {
                self.noise(bytes);
                if self.has_lines {
                    self.flush();
                }
            }
            Diagnostic::OtherFraming { peer, .. } => {
                let _ = self.other_framing.set(*peer);
            }
            Diagnostic::Frame(fault) => self.fault(*fault),
            Diagnostic::Rejected { error, .. } if error.code == ErrorCode::PARSE_ERROR => self.invalid_json(),
            Diagnostic::Rejected { error, .. } => self.show(format_args!("the peer sent an invalid message: {error}")),
            // A peer that reads lines answers the header lines of the negotiation with errors, which are expected.
            Diagnostic::PeerError { .. } if self.detected() == Some(Framing::Newline) => {}
            Diagnostic::PeerError { code, message } => {
                self.show(format_args!("the peer could not read a message: {message} ({code})"));
            }
            Diagnostic::UnmatchedResponse { id } => {
                self.show(format_args!("the peer sent a response without a pending call: its id is {id:?}"));
            }
            Diagnostic::UnreadableAnswer(why) => {
                self.show(format_args!("the peer sent an answer that cannot be read: {why}"))
            }
            Diagnostic::Malformed => self.show("the peer sent a message that is neither a request nor a response"),
            _ => {}
        }
    }

    /// Reports a WIPC frame of the type DATA. Frames of other types are not reported.
    pub(super) fn frame(&self, frame: Frame<'_>) {
        if frame.frame_type == FrameType::Data {
            self.flush();
            self.show(format_args!("the peer sent {} bytes of data", frame.payload.len()));
        }
    }

    /// Prints output of the peer that belongs to no message, line by line.
    pub(super) fn noise(&self, bytes: &[u8]) {
        for mut piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            while !piece.is_empty() {
                let mut line = self.partial_line.lock().unwrap_or_else(PoisonError::into_inner);
                let free = MAX_PRINTED_LINE_BYTES - line.len();
                let (fits, rest) = piece.split_at_checked(free).unwrap_or((piece, &[]));
                line.extend_from_slice(fits);
                piece = rest;
                if line.ends_with(b"\n") || line.len() == MAX_PRINTED_LINE_BYTES {
                    let line = mem::take(&mut *line);
                    self.show_line(&line);
                }
            }
        }
    }

    /// Prints the incomplete last line.
    pub(crate) fn flush(&self) {
        let line = mem::take(&mut *self.partial_line.lock().unwrap_or_else(PoisonError::into_inner));
        self.show_line(&line);
    }

    pub(super) fn invalid_json(&self) {
        self.flush();
        self.show("the peer sent a message that is not JSON");
    }

    pub(super) fn fault(&self, fault: FrameFault) {
        self.flush();
        match fault {
            FrameFault::Oversize { length } => {
                let length = length.map(|length| format!(" of {length} bytes")).unwrap_or_default();
                self.show(format_args!("a message{length} from the peer was dropped: it exceeds --max-bytes"));
            }
            FrameFault::Truncated { received_bytes } => {
                self.show(format_args!("the stream ended after {received_bytes} bytes of a message"));
            }
            FrameFault::TimedOut { received_bytes } => {
                self.show(format_args!("a message of the peer stopped after {received_bytes} bytes"))
            }
            FrameFault::HeaderTooLarge => self.show("a header from the peer is too long"),
            _ => self.show("a header from the peer has no valid length"),
        }
    }

    /// Prints a line of the output of the peer, unless the line is blank.
    fn show_line(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end();
        if !line.is_empty() {
            self.show(format_args!("the peer printed: {line}"));
        }
    }

    /// Prints a line about the peer. After `MAX_PEER_LINES` lines, prints a notice once and then nothing.
    fn show(&self, text: impl fmt::Display) {
        match self.reported_lines.fetch_add(1, Ordering::Relaxed) {
            line if line < MAX_PEER_LINES => print_message(text),
            MAX_PEER_LINES => print_message("further lines about the peer are not shown"),
            _ => {}
        }
    }
}
