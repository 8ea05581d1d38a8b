//! The names of the framings.

use core::fmt;

/// The form of the frames that separate messages in a byte stream. The codecs are in the module `codec`, which requires
/// the feature `codec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// `Content-Length: N`, a blank line, and N bytes, as in the Language Server Protocol.
    ContentLength,
    /// One message per line.
    Newline,
    /// WIPC, the frames of WASM guests: one message in each `CALL` frame. Other output may precede or follow a frame.
    Wipc,
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContentLength => "Content-Length frames",
            Self::Newline => "one message a line",
            Self::Wipc => "WIPC frames",
        })
    }
}
