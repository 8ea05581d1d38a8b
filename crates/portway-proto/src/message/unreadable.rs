//! Responses that cannot be decoded.

use core::fmt;

/// The reason why a response cannot be decoded. The peer has answered, but its result or error is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// The response is longer than [`crate::Limits::message_bytes`].
    TooLarge,
    /// The header of the response is longer than [`crate::Limits::header_bytes`].
    HeaderTooLarge,
    /// The header of the response declares a content type other than JSON-RPC in UTF-8.
    ContentType,
    /// The response is not JSON (RFC 8259), for example `NaN`, or it is not UTF-8.
    NotJson,
    /// The response is nested deeper than [`crate::Limits::depth`].
    TooDeep,
    /// A string in the response has a lone surrogate, so it is not Unicode text.
    LoneSurrogate,
    /// A number in the response is too large for a double.
    NumberOutOfRange,
    /// A member of the envelope, such as `result`, is repeated.
    RepeatedMember,
    /// The response is incomplete, and no further byte arrived within [`crate::Limits::partial_frame_ms`]. Over WIPC,
    /// the timeout of payloads applies instead.
    Stalled,
    /// The engine of a browser could not deserialize the response: the event `messageerror` of HTML.
    MessageError,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "it is longer than the limit of messages",
            Self::HeaderTooLarge => "its header is longer than the limit of headers",
            Self::ContentType => "its header declares another type than JSON-RPC in UTF-8",
            Self::NotJson => "it is not JSON",
            Self::TooDeep => "it is nested deeper than the limit",
            Self::LoneSurrogate => "a string in it has half of a surrogate pair",
            Self::NumberOutOfRange => "a number in it is too large for a double",
            Self::RepeatedMember => "a member of its envelope comes twice",
            Self::Stalled => "it is incomplete: no further byte arrived in time",
            Self::MessageError => "the engine could not deserialize it",
        })
    }
}
