//! Bounds on what a peer can make us hold or do.

/// Longest name of a method, in characters as JavaScript counts them (UTF-16 code units). A request with a longer one is
/// answered -32600 without the name, and a notification with a longer one is dropped.
pub const MAX_METHOD_LENGTH: usize = 1_024;

/// Most characters of what a peer sent that the text of an error repeats.
pub const MAX_ECHO_LENGTH: usize = 100;

/// Whether text has more characters than this, as JavaScript counts them.
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "json"))]
pub(crate) fn is_longer(text: &str, longest: usize) -> bool {
    // A character has no more code units in UTF-16 than in UTF-8.
    text.len() > longest && text.encode_utf16().nth(longest).is_some()
}

/// Every bound, with its default. Each can be set; none is off by accident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Longest message on a byte transport, in bytes. Default 10 485 760 (10 MiB), inclusive.
    pub message_bytes: usize,
    /// Longest header of a message, where the framing has one, in bytes before its blank line. Default 8 192, inclusive.
    pub header_bytes: usize,
    /// Longest time that a message on a byte transport may take from its first byte to its last, in milliseconds. Default
    /// 30 000.
    pub partial_frame_ms: u64,
    /// Deepest nesting of a message that is read from text. Default 128, inclusive.
    pub depth: usize,
    /// Most items in a batch that comes in, not counting responses. Default 1 000.
    pub batch_items: usize,
    /// Most requests of the peer that are being worked on at once. Default 1 024.
    pub in_flight: usize,
    /// Most bytes of JSON text that the params of those requests have, together with the replies that wait for the rest of
    /// their batch. Default 67 108 864 (64 MiB). A request is taken whatever its size if nothing else is at work. Values of
    /// JavaScript have no size here: browsers count the requests alone.
    pub in_flight_bytes: usize,
    /// Most calls of ours that wait for an answer at once. Default 1 000 000.
    pub pending_calls: usize,
    /// Most bytes that wait to be written on a byte transport. With more bytes of answers, nothing is read until the peer has
    /// read enough; with more bytes of any kind, no notification is taken. Default 16 777 216 (16 MiB).
    pub unwritten_bytes: usize,
    /// Longest string that is taken for an id, in characters as JavaScript counts them (UTF-16 code units), and longest text
    /// of a number. Default 1 024.
    pub id_length: usize,
    /// In the Rust API in browsers: most visits that reading a value of the peer may take. Each value and each key is a visit,
    /// and an object that is referred to twice counts twice; an array counts by its length, holes included. 16 bytes of a
    /// string or buffer that is copied are a visit more. Default 1 000 000.
    pub conversion_visits: usize,
}

impl Limits {
    /// The defaults.
    pub const DEFAULT: Self = Self {
        message_bytes: 10 * 1024 * 1024,
        header_bytes: 8 * 1024,
        partial_frame_ms: 30_000,
        depth: 128,
        batch_items: 1_000,
        in_flight: 1_024,
        in_flight_bytes: 64 * 1024 * 1024,
        pending_calls: 1_000_000,
        unwritten_bytes: 16 * 1024 * 1024,
        id_length: 1_024,
        conversion_visits: 1_000_000,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
