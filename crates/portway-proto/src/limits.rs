//! Limits on the resources that a peer can use. Each limit is a row of limits.toml. An application can set the limits
//! in [`Limits`]; the other limits are constants.

// limits:begin constants
/// Maximum time of a call whose progress restarts its timeout, as a multiple of that timeout. `total_timeout` of a call
/// sets another limit.
pub const TOTAL_TIMEOUT_FACTOR: u64 = 60;
/// Maximum length of a method name, in UTF-16 code units. A request with a longer name is answered with -32600 without
/// the name. A notification with a longer name is dropped.
pub const MAX_METHOD_LENGTH: usize = 1_024;
/// Maximum characters of the peer's input that an error text repeats.
pub const MAX_ECHO_LENGTH: usize = 100;
/// Maximum credit of one stream: the number of items that the server may still send. It applies to the credit in the
/// request and in one notification `rpc.credit`. A request with more is answered with -32602. A notification with more
/// is ignored.
pub const MAX_STREAM_CREDIT: u32 = 65_536;
/// Maximum total credit of all streams of a peer. A request that exceeds it is answered with -32600 and the reason
/// `too-much-credit`.
pub const MAX_PEER_CREDIT: u32 = 65_536;
// limits:end constants

/// Returns whether a text has more than `max` UTF-16 code units. [`MAX_METHOD_LENGTH`] and [`Limits::id_length`] have
/// the same unit.
#[must_use]
pub fn is_longer(text: &str, max: usize) -> bool {
    // A character has at most as many UTF-16 code units as UTF-8 bytes.
    text.len() > max && text.encode_utf16().nth(max).is_some()
}

/// The limits that an application can set, with their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    // limits:begin fields
    /// Maximum number of pending outgoing calls. One more fails with `CallError` `too-many-calls`. Default 1 000 000.
    pub pending_calls: usize,
    /// Maximum number of running requests from the peer. One more is answered with -32600. Default 1 024.
    pub in_flight: usize,
    /// Maximum bytes of the running requests from the peer. The JSON text of their ids and params counts. A response
    /// that waits for the rest of its batch counts as its text and 256 more bytes. A request that exceeds the limit,
    /// alone or with its batch, is answered with -32600. If no other request is running, a request of any size is
    /// accepted. JavaScript values have no size in bytes. So browsers limit only the number of requests and of
    /// responses that wait for their batch. Default 67 108 864 (64 MiB).
    pub in_flight_bytes: usize,
    /// Maximum number of messages in one incoming batch, not counting responses. A longer batch is answered with
    /// -32600. Default 1 000.
    pub batch_items: usize,
    /// Maximum length of a string id, and natively of the text of a number, in UTF-16 code units. A request with a
    /// longer id is answered with -32600 and the id null. Default 1 024.
    pub id_length: usize,
    /// Maximum length of a message on a byte stream, in bytes, inclusive. A longer message is answered with -32600
    /// `oversize` and not buffered. Over WIPC, a longer message is not sent. Default 10 485 760 (10 MiB).
    pub message_bytes: usize,
    /// Maximum length of a header before its blank line, in bytes, inclusive. A message with a longer header is
    /// answered with -32600 `header-too-large`. Default 8 192 (8 KiB).
    pub header_bytes: usize,
    /// Maximum time that a message on a byte stream may take from its first byte to its last, in milliseconds.
    /// Afterwards the message is dropped. While outgoing calls are pending, the limit applies to the time since the
    /// latest byte of the message. Default 30 000.
    pub partial_frame_ms: u64,
    /// Maximum nesting of a message that is decoded from text, inclusive. A message with deeper nesting is answered
    /// with -32600 `nesting-too-deep`. Default 128.
    pub depth: usize,
    /// In the Rust API in browsers: maximum visits of the conversion of a value from the peer. Each value and each key
    /// is a visit. An object that is referenced twice counts twice. An array counts by its length, holes included.
    /// Every 16 bytes of a copied string or buffer are one more visit. Default 1 000 000.
    pub conversion_visits: usize,
    /// Maximum bytes that wait to be written on a byte stream. With more bytes of responses and of credit for streams,
    /// reading pauses until the peer has read enough. With more bytes of any kind, notifications fail. Default
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
