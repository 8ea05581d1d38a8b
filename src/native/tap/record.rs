//! The records of a tap, and their JSON.

use std::borrow::Cow;
use std::format;
use std::string::String;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// An event on a link. `docs/tap.md` describes the JSON of a record. `serde_json::to_string` returns the JSON, which is
/// one line of a file of records.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// The time in microseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The id of the link.
    pub link: Arc<str>,
    /// The event.
    pub kind: RecordKind,
}

/// The event of a record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RecordKind {
    /// A connection was opened.
    Open {
        /// The name of the link, which is a text for people.
        name: Arc<str>,
        /// The kind of the connection.
        transport: TapTransport,
    },
    /// A message has crossed the link.
    Message {
        /// Whether this program sent the message.
        direction: Direction,
        /// The text of the message: JSON, without the framing. The text may be cut, see `omitted`.
        text: String,
        /// The size of the whole message in bytes, without the framing.
        size: u64,
        /// The number of characters that were removed from the end of `text`.
        omitted: u64,
    },
    /// Bytes that are not a message have crossed the link.
    Invalid {
        /// Whether this program sent the bytes.
        direction: Direction,
        /// The bytes. The content may be cut, see `omitted`.
        content: Content,
        /// The number of all bytes.
        size: u64,
        /// The number of characters that were removed from the end of a text. For [`Content::Bytes`], the number of
        /// removed bytes.
        omitted: u64,
        /// Why the bytes are not a message.
        reason: Cow<'static, str>,
    },
    /// Messages were not recorded, because the reader of the records was too slow.
    Gap {
        /// The direction of the messages.
        direction: Direction,
        /// The number of messages and of invalid inputs.
        messages: u64,
        /// The total size of these messages and inputs, in bytes.
        bytes: u64,
    },
    /// The connection has ended.
    Close {
        /// The reason as a sentence.
        reason: String,
        /// The close code of a WebSocket, or the exit code of a process.
        code: Option<i64>,
    },
}

/// The content of [`RecordKind::Invalid`].
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// The bytes are UTF-8.
    Text(String),
    /// The bytes are not UTF-8.
    Bytes(std::vec::Vec<u8>),
}

/// The direction of a message, as the owner of the link sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The owner of the link sent the message.
    Sent,
    /// The owner of the link received the message.
    Received,
}

impl Direction {
    /// Returns `sent` or `received`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Received => "received",
        }
    }
}

/// The kind of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TapTransport {
    /// Standard input and output, of this process or of a child process.
    Stdio,
    /// A Unix domain socket.
    Unix,
    /// TCP.
    Tcp,
    /// A WebSocket.
    WebSocket,
    /// HTTP: each message is a request or a part of a response.
    Http,
    /// Any other streams or channels.
    Custom,
}

impl TapTransport {
    /// Returns the name of the kind in a record.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Unix => "unix",
            Self::Tcp => "tcp",
            Self::WebSocket => "websocket",
            Self::Http => "http",
            Self::Custom => "custom",
        }
    }
}

impl RecordKind {
    /// Returns the member `kind` of the JSON: `open`, `message`, `invalid`, `gap` or `close`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::Message { .. } => "message",
            Self::Invalid { .. } => "invalid",
            Self::Gap { .. } => "gap",
            Self::Close { .. } => "close",
        }
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", self.kind.as_str())?;
        map.serialize_entry("at", &self.at)?;
        map.serialize_entry("link", &*self.link)?;
        match &self.kind {
            RecordKind::Open { name, transport } => {
                map.serialize_entry("name", &**name)?;
                map.serialize_entry("transport", transport.as_str())?;
            }
            RecordKind::Message { direction, text, size, omitted } => {
                map.serialize_entry("direction", direction.as_str())?;
                map.serialize_entry("form", "text")?;
                map.serialize_entry("text", text)?;
                map.serialize_entry("size", size)?;
                omit_zero(&mut map, "omitted", *omitted)?;
            }
            RecordKind::Invalid { direction, content, size, omitted, reason } => {
                map.serialize_entry("direction", direction.as_str())?;
                match content {
                    Content::Text(text) => map.serialize_entry("text", text)?,
                    Content::Bytes(bytes) => map.serialize_entry("base64", &base64(bytes))?,
                }
                map.serialize_entry("size", size)?;
                omit_zero(&mut map, "omitted", *omitted)?;
                map.serialize_entry("reason", reason)?;
            }
            RecordKind::Gap { direction, messages, bytes } => {
                map.serialize_entry("direction", direction.as_str())?;
                map.serialize_entry("messages", messages)?;
                map.serialize_entry("bytes", bytes)?;
            }
            RecordKind::Close { reason, code } => {
                map.serialize_entry("reason", reason)?;
                if let Some(code) = code {
                    map.serialize_entry("code", code)?;
                }
            }
        }
        map.end()
    }
}

/// Returns the beginning of the JSON of a message, up to the colon before its text. `link` needs no escapes.
pub(super) fn begin_message(at: u64, link: &str, direction: Direction) -> String {
    let direction = direction.as_str();
    format!(r#"{{"kind":"message","at":{at},"link":"{link}","direction":"{direction}","form":"text","text":"#)
}

fn omit_zero<M: SerializeMap>(map: &mut M, name: &'static str, value: u64) -> Result<(), M::Error> {
    if value == 0 { Ok(()) } else { map.serialize_entry(name, &value) }
}

/// Encodes bytes in base64 (RFC 4648 §4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4_usize {
            let index = (bits >> (18 - 6 * digit)) as usize & 63;
            let character = DIGITS.get(index).copied().map_or('=', char::from);
            text.push(if digit <= group.len() { character } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648 §10.
    #[test]
    fn base64_follows_the_vectors_of_its_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn records_have_the_documented_members() {
        let json =
            |kind: RecordKind| serde_json::to_string(&Record { at: 7, link: "a-1".into(), kind }).unwrap_or_default();
        let start = |kind: &str| format!(r#"{{"kind":"{kind}","at":7,"link":"a-1""#);
        let direction = Direction::Sent;
        for (kind, expected) in [
            (
                RecordKind::Open { name: "pylsp".into(), transport: TapTransport::Stdio },
                r#","name":"pylsp","transport":"stdio"}"#,
            ),
            (
                RecordKind::Message { direction, text: "{\"a\":1}".into(), size: 7, omitted: 0 },
                r#","direction":"sent","form":"text","text":"{\"a\":1}","size":7}"#,
            ),
            (
                RecordKind::Invalid {
                    direction: Direction::Received,
                    content: Content::Bytes([0xff].into()),
                    size: 3,
                    omitted: 2,
                    reason: "it is cut".into(),
                },
                r#","direction":"received","base64":"/w==","size":3,"omitted":2,"reason":"it is cut"}"#,
            ),
            (RecordKind::Gap { direction, messages: 2, bytes: 30 }, r#","direction":"sent","messages":2,"bytes":30}"#),
            (RecordKind::Close { reason: "the end".into(), code: None }, r#","reason":"the end"}"#),
            (RecordKind::Close { reason: "the end".into(), code: Some(1001) }, r#","reason":"the end","code":1001}"#),
        ] {
            let expected = start(kind.as_str()) + expected;
            assert_eq!(json(kind), expected);
        }
    }
}
