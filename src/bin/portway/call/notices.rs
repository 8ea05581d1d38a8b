//! What is said on standard error of what happens on the way to a peer.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use portway::codec::frame::FrameFault;
use portway::codec::wipc::{Frame, FrameType};
use portway::message::Unreadable;
use portway::{Diagnostic, ErrorCode, Framing};
use tokio::sync::Notify;

use crate::limits::{MAX_PEER_LINES, MAX_SHOWN_LINE};
use crate::output::say;

/// Tells the user, and remembers what helps to explain a failure.
#[derive(Debug, Default)]
pub(super) struct Notices {
    /// Whether the client hears each line by itself, without its end.
    has_lines: bool,
    /// The line that the peer is printing.
    line: Mutex<Vec<u8>>,
    /// How many lines a peer has caused.
    lines: AtomicUsize,
    /// What the peer speaks, once that was found out.
    detected: OnceLock<Framing>,
    /// What the peer seems to speak, other than what was asked for.
    other: OnceLock<Framing>,
    /// Why the answer cannot be read, if it came before the client could see it.
    unreadable: OnceLock<Unreadable>,
    is_unreadable: Notify,
}

impl Notices {
    /// For a client over a link of this framing.
    pub(super) fn new(framing: Framing) -> Self {
        Self { has_lines: framing == Framing::Newline, ..Self::default() }
    }

    pub(super) fn detected(&self) -> Option<Framing> {
        self.detected.get().copied()
    }

    pub(super) fn detect(&self, framing: Framing) {
        let _ = self.detected.set(framing);
    }

    pub(super) fn other_framing(&self) -> Option<Framing> {
        self.other.get().copied()
    }

    /// The answer has come, and cannot be read.
    pub(super) fn end_call(&self, why: Unreadable) {
        let _ = self.unreadable.set(why);
        self.is_unreadable.notify_one();
    }

    /// Waits until an answer has come that cannot be read.
    pub(super) async fn unreadable(&self) -> Unreadable {
        loop {
            if let Some(why) = self.unreadable.get() {
                return *why;
            }
            self.is_unreadable.notified().await;
        }
    }

    pub(super) fn diagnostic(&self, diagnostic: &Diagnostic<'_>) {
        match diagnostic {
            Diagnostic::Noise(bytes) => {
                self.noise(bytes);
                if self.has_lines {
                    self.flush();
                }
            }
            Diagnostic::OtherFraming { peer, .. } => {
                let _ = self.other.set(*peer);
            }
            Diagnostic::Frame(fault) => self.fault(*fault),
            Diagnostic::Rejected { error, .. } if error.code == ErrorCode::PARSE_ERROR => self.no_json(),
            Diagnostic::Rejected { error, .. } => self.show(format_args!("the peer sent what is no message: {error}")),
            // The lines in between that make it readable for the others, see `negotiate`.
            Diagnostic::PeerError { .. } if self.detected() == Some(Framing::Newline) => {}
            Diagnostic::PeerError { code, message } => {
                self.show(format_args!("the peer could not read what it was sent: {message} ({code})"));
            }
            Diagnostic::UnmatchedResponse { id } => {
                self.show(format_args!("the peer sent a response that no call waits for: its id is {id:?}"));
            }
            Diagnostic::UnreadableAnswer(why) => {
                self.show(format_args!("the peer sent an answer that cannot be read: {why}"))
            }
            Diagnostic::Malformed => self.show("the peer sent something that is neither request nor response"),
            _ => {}
        }
    }

    /// A frame that is no message. Those of the life cycle need no word.
    pub(super) fn frame(&self, frame: Frame<'_>) {
        if frame.frame_type == FrameType::Data {
            self.flush();
            self.show(format_args!("the peer sent {} bytes of data", frame.payload.len()));
        }
    }

    /// What the peer prints in between its messages, a line at a time.
    pub(super) fn noise(&self, bytes: &[u8]) {
        for mut piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            while !piece.is_empty() {
                let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
                let room = MAX_SHOWN_LINE - line.len();
                let (now, later) = piece.split_at_checked(room).unwrap_or((piece, &[]));
                line.extend_from_slice(now);
                piece = later;
                if line.ends_with(b"\n") || line.len() == MAX_SHOWN_LINE {
                    let line = mem::take(&mut *line);
                    self.show_line(&line);
                }
            }
        }
    }

    /// Shows the last line, which has no end.
    pub(super) fn flush(&self) {
        let line = mem::take(&mut *self.line.lock().unwrap_or_else(PoisonError::into_inner));
        self.show_line(&line);
    }

    pub(super) fn no_json(&self) {
        self.flush();
        self.show("the peer sent a message that is no JSON");
    }

    pub(super) fn fault(&self, fault: FrameFault) {
        self.flush();
        match fault {
            FrameFault::Oversize { length } => {
                let length = length.map(|length| format!(" of {length} bytes")).unwrap_or_default();
                self.show(format_args!("a message{length} from the peer was dropped: --max-bytes allows for less"));
            }
            FrameFault::Truncated { held } => {
                self.show(format_args!("the stream ended inside of a message, of which {held} bytes had come"));
            }
            FrameFault::TimedOut { held } => {
                self.show(format_args!("a message of the peer stopped after {held} bytes"))
            }
            FrameFault::HeaderTooLarge => self.show("a header from the peer is too long"),
            _ => self.show("a header from the peer tells no length"),
        }
    }

    fn show_line(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end();
        if !line.is_empty() {
            self.show(format_args!("the peer printed: {line}"));
        }
    }

    /// Shows a line about the peer, up to `MAX_PEER_LINES`.
    fn show(&self, text: impl fmt::Display) {
        match self.lines.fetch_add(1, Ordering::Relaxed) {
            line if line < MAX_PEER_LINES => say(text),
            MAX_PEER_LINES => say("further lines about the peer are not shown"),
            _ => {}
        }
    }
}
