//! The names of the framings.

use core::fmt;

/// How messages are separated in a byte stream. The module `codec` has the codecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// `Content-Length: N`, a blank line, and N bytes, as the Language Server Protocol.
    ContentLength,
    /// One message per line.
    Newline,
    /// One message in each `CALL` frame of WIPC, among other output.
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
