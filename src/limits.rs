//! Limits on the resources that a peer can use. Each is a row of limits.toml, fixed or not.

// limits:begin constants
/// Longest time of a call whose progress restarts its timeout, as a multiple of that timeout. `total_timeout` of a call
/// sets another limit.
pub const TOTAL_TIMEOUT_FACTOR: u64 = 60;
/// Longest name of a method, in UTF-16 code units. A request with a longer one is answered with -32600 without the
/// name, and a notification with a longer one is dropped.
pub const MAX_METHOD_LENGTH: usize = 1_024;
/// Most characters of what a peer sent that the text of an error repeats.
pub const MAX_ECHO_LENGTH: usize = 100;
// limits:end constants

/// Whether a text has more than `max` characters, as JavaScript counts them.
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "json"))]
pub(crate) fn is_longer(text: &str, max: usize) -> bool {
    // A character has at most as many UTF-16 code units as UTF-8 bytes.
    text.len() > max && text.encode_utf16().nth(max).is_some()
}

/// The limits that can be set, with their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    // limits:begin fields
    /// Own calls that may wait for an answer; one more fails with `CallError` `too-many-calls`. Default 1 000 000.
    pub pending_calls: usize,
    /// Requests of the peer that may be at work at once; one more is answered with -32600. Default 1 024.
    pub in_flight: usize,
    /// Bytes of JSON text that the ids and params of the peer's requests at work have, together with the replies that
    /// wait for the rest of their batch; each such reply counts 256 bytes more. A request that would pass it, alone or
    /// with its batch, is answered with -32600. A request is taken whatever its size if nothing else is at work. Values
    /// of JavaScript have no size here: browsers count requests, and replies that wait for their batch. Default
    /// 67 108 864 (64 MiB).
    pub in_flight_bytes: usize,
    /// Messages in one incoming batch, not counting responses; a longer one is answered with -32600. Default 1 000.
    pub batch_items: usize,
    /// UTF-16 code units of an id that is a string, and natively of the text of a number; a longer one is answered with
    /// -32600 under the id null. Default 1 024.
    pub id_length: usize,
    /// Longest message on a byte stream, in bytes, inclusive; a longer one is answered with -32600 `oversize` and never
    /// kept. Over WIPC, none is sent that is longer. Default 10 485 760 (10 MiB).
    pub message_bytes: usize,
    /// Longest header of a message before its blank line, in bytes, inclusive; a longer one is answered with -32600
    /// `header-too-large`. Default 8 192 (8 KiB).
    pub header_bytes: usize,
    /// Longest time that a message on a byte stream may take from its first byte to its last, in milliseconds; then it
    /// is dropped. While own calls wait, it is the longest time between two bytes of the message. Default 30 000.
    pub partial_frame_ms: u64,
    /// Deepest nesting of a message that is read from text, inclusive; a deeper one is answered with -32600
    /// `nesting-too-deep`. Default 128.
    pub depth: usize,
    /// In the Rust API in browsers: visits that reading a value of the peer may take. Each value and each key is a
    /// visit, and an object that is referred to twice counts twice; an array counts by its length, holes included. 16
    /// bytes of a string or buffer that is copied are a visit more. Default 1 000 000.
    pub conversion_visits: usize,
    /// Bytes that may wait to be written on a byte stream. With more bytes of answers and of credit for streams,
    /// nothing is read until the peer has read enough; with more bytes of any kind, no notification is taken. Default
    /// 16 777 216 (16 MiB).
    pub unwritten_bytes: usize,
    // limits:end fields
}

impl Limits {
    /// The defaults.
    pub const DEFAULT: Self = Self {
        // limits:begin values
        pending_calls: 1_000_000,
        in_flight: 1_024,
        in_flight_bytes: 67_108_864,
        batch_items: 1_000,
        id_length: 1_024,
        message_bytes: 10_485_760,
        header_bytes: 8_192,
        partial_frame_ms: 30_000,
        depth: 128,
        conversion_visits: 1_000_000,
        unwritten_bytes: 16_777_216,
        // limits:end values
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
