//! Decodes the copy of a WebSocket: the head, the frames and the messages (RFC 6455).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use portway::codec::json::is_json;
use portway::tap::{Direction, TapLink};

use super::head::end_of_head;
use crate::limits::MAX_TAP_HEAD_BYTES;

/// Maximum length of the header of a frame, in bytes: 2 bytes, an extended length of 8 bytes, and a mask of 4 bytes.
const MAX_HEADER_BYTES: usize = 14;

/// The first close frame of a WebSocket, in either direction.
#[derive(Debug, Default)]
pub(super) struct Closing(Mutex<Option<(u16, String)>>);

impl Closing {
    /// Returns the code of the close frame, and a sentence about it.
    pub(super) fn get(&self) -> Option<(u16, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, direction: Direction, payload: &[u8]) {
        let side = if direction == Direction::Sent { "client" } else { "server" };
        let (code, reason) = match payload {
            [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), String::from_utf8_lossy(reason)),
            _ => (1005, "".into()),
        };
        let text = if reason.is_empty() {
            format!("the {side} closed the WebSocket with {code}")
        } else {
            format!("the {side} closed the WebSocket with {code}: {reason}")
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert((code, text));
    }
}

/// The copy of one direction of a WebSocket.
pub(super) struct WebSocketCopy {
    link: Arc<TapLink>,
    direction: Direction,
    max_bytes: usize,
    closing: Arc<Closing>,
    state: State,
    /// The received part of the message that is not complete yet.
    message: Message,
    /// The payload of the current control frame.
    control: Vec<u8>,
}

enum State {
    /// The head of the request or the response is not complete.
    Head(Vec<u8>),
    /// The bytes of an incomplete header of a frame.
    Header(Vec<u8>),
    Payload(Payload),
    /// The bytes are not frames of a WebSocket.
    Other,
}

/// The payload of a frame.
struct Payload {
    opcode: u8,
    is_final: bool,
    /// The number of bytes of the payload that were not read yet.
    left: u64,
    mask: [u8; 4],
    /// The number of bytes of the payload that were read.
    read: usize,
}

#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
    /// The number of all bytes of the message. If the message is too long, `bytes` has only the first of these bytes.
    size: u64,
}

impl WebSocketCopy {
    pub(super) const fn new(link: Arc<TapLink>, direction: Direction, max_bytes: usize, closing: Arc<Closing>) -> Self {
        let message = Message { bytes: Vec::new(), size: 0 };
        Self { link, direction, max_bytes, closing, state: State::Head(Vec::new()), message, control: Vec::new() }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match std::mem::replace(&mut self.state, State::Other) {
                State::Head(head) => self.push_head(head, bytes),
                State::Header(header) => self.push_header(header, bytes),
                State::Payload(payload) => self.push_payload(payload, bytes),
                State::Other => {
                    self.invalid(bytes, "the bytes do not belong to a WebSocket");
                    &[]
                }
            };
        }
    }

    /// Records input that ended within a head, the header of a frame or a message.
    pub(super) fn finish(&mut self) {
        match std::mem::replace(&mut self.state, State::Other) {
            State::Head(head) if !head.is_empty() => self.invalid(&head, "the stream ended within the head"),
            State::Header(header) if !header.is_empty() => {
                self.invalid(&header, "the stream ended within the header of a frame");
            }
            State::Payload(_) => self.end_message("the stream ended within the message"),
            _ if self.message.size > 0 => self.end_message("the stream ended within the message"),
            _ => {}
        }
    }

    fn push_head<'a>(&mut self, mut head: Vec<u8>, bytes: &'a [u8]) -> &'a [u8] {
        let before = head.len();
        head.extend_from_slice(bytes);
        match end_of_head(&head) {
            Some(end) => {
                let is_open = self.direction == Direction::Sent || head.starts_with(b"HTTP/1.1 101 ");
                if is_open {
                    self.state = State::Header(Vec::new());
                    return bytes.get(end - before..).unwrap_or_default();
                }
                self.invalid(&head, "the server did not open a WebSocket");
            }
            None if head.len() > MAX_TAP_HEAD_BYTES => self.invalid(&head, "the head is too long"),
            None => self.state = State::Head(head),
        }
        &[]
    }

    fn push_header<'a>(&mut self, mut header: Vec<u8>, bytes: &'a [u8]) -> &'a [u8] {
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            header.push(*byte);
            rest = after;
            if let Some(payload) = parse_header(&header) {
                let is_valid = header.first().is_some_and(|first| first & 0x70 == 0)
                    && matches!(payload.opcode, 0..=2 | 8..=10)
                    && (payload.opcode < 8 || (payload.is_final && payload.left <= 125));
                if !is_valid {
                    self.invalid(&header, "the header of the frame is invalid");
                    return rest;
                }
                self.control.clear();
                // A frame without payload is complete.
                self.state = State::Payload(payload);
                if let State::Payload(Payload { left: 0, .. }) = &self.state {
                    self.end_frame();
                }
                return rest;
            }
            if header.len() >= MAX_HEADER_BYTES {
                self.invalid(&header, "the header of the frame is invalid");
                return rest;
            }
        }
        self.state = State::Header(header);
        rest
    }

    fn push_payload<'a>(&mut self, mut payload: Payload, bytes: &'a [u8]) -> &'a [u8] {
        let count = usize::try_from(payload.left).unwrap_or(usize::MAX).min(bytes.len());
        let (piece, rest) = bytes.split_at_checked(count).unwrap_or((bytes, &[]));
        let is_control = payload.opcode >= 8;
        let buffer = if is_control { &mut self.control } else { &mut self.message.bytes };
        let max_bytes = if is_control { 125 } else { self.max_bytes };
        let room = max_bytes.saturating_sub(buffer.len());
        let start = buffer.len();
        buffer.extend_from_slice(piece.get(..room).unwrap_or(piece));
        unmask(buffer.get_mut(start..).unwrap_or_default(), payload.mask, payload.read);
        if !is_control {
            self.message.size += piece.len() as u64;
        }
        payload.read += piece.len();
        payload.left -= piece.len() as u64;
        let is_complete = payload.left == 0;
        self.state = State::Payload(payload);
        if is_complete {
            self.end_frame();
        }
        rest
    }

    fn end_frame(&mut self) {
        let State::Payload(payload) = std::mem::replace(&mut self.state, State::Header(Vec::new())) else { return };
        match payload.opcode {
            8 => self.closing.set(self.direction, &self.control),
            0..=2 if payload.is_final => self.record_message(),
            _ => {}
        }
    }

    fn record_message(&mut self) {
        if self.message.size > self.message.bytes.len() as u64 {
            return self.end_message("the message is longer than the maximum");
        }
        let Message { bytes, .. } = std::mem::take(&mut self.message);
        match str::from_utf8(&bytes) {
            Err(_) => self.invalid(&bytes, "the message is not UTF-8"),
            Ok(text) if !is_json(text) => {
                self.invalid(&bytes, "the message is not JSON");
            }
            Ok(text) => self.link.message(self.direction, text),
        }
    }

    /// Records the received part of a message as invalid.
    fn end_message(&mut self, reason: &'static str) {
        let Message { bytes, size } = std::mem::take(&mut self.message);
        let reason = format!("{reason}, after {size} bytes");
        self.link.invalid(self.direction, &bytes, reason);
    }

    fn invalid(&self, bytes: &[u8], reason: &'static str) {
        self.link.invalid(self.direction, bytes, reason);
    }
}

/// Removes the mask of bytes of a payload (RFC 6455 §5.3). `at` is the position of the first byte in the payload.
fn unmask(bytes: &mut [u8], mut mask: [u8; 4], at: usize) {
    if mask == [0; 4] {
        return;
    }
    mask.rotate_left(at % 4);
    // The compiler handles groups of a fixed length at once.
    let key: [u8; 16] = std::array::from_fn(|index| mask.get(index % 4).copied().unwrap_or_default());
    for group in bytes.chunks_mut(key.len()) {
        for (byte, key) in group.iter_mut().zip(key) {
            *byte ^= key;
        }
    }
}

/// Parses the header of a frame (RFC 6455 §5.2). Returns `None` if the header is not complete.
fn parse_header(header: &[u8]) -> Option<Payload> {
    let [first, second, rest @ ..] = header else { return None };
    let (left, rest) = match second & 0x7f {
        126 => (u64::from(u16::from_be_bytes(*rest.first_chunk()?)), rest.get(2..)?),
        127 => (u64::from_be_bytes(*rest.first_chunk()?), rest.get(8..)?),
        length => (u64::from(length), rest),
    };
    let mask = if second & 0x80 == 0 { [0; 4] } else { *rest.first_chunk()? };
    Some(Payload { opcode: first & 0x0f, is_final: first & 0x80 != 0, left, mask, read: 0 })
}

impl fmt::Debug for WebSocketCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocketCopy").field("direction", &self.direction).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use futures_util::Stream;
    use portway::tap::{Content, RecordKind, Tap, TapTransport};

    use super::*;

    /// Returns a frame. `first_byte` contains the opcode, and 0x80 for the last frame of a message.
    fn frame(first_byte: u8, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
        let flag = if mask.is_some() { 0x80 } else { 0 };
        let mut bytes = match payload.len() {
            length @ 0..=125 => vec![first_byte, flag | length as u8],
            length @ 126..=65_535 => [&[first_byte, flag | 126][..], &(length as u16).to_be_bytes()].concat(),
            length => [&[first_byte, flag | 127][..], &(length as u64).to_be_bytes()].concat(),
        };
        bytes.extend(mask.into_iter().flatten());
        let key = mask.unwrap_or_default();
        bytes.extend(payload.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key));
        bytes
    }

    /// Passes `stream` to a copy in pieces of `size` bytes. Returns the recorded texts, and the code of the close
    /// frame.
    fn recorded(stream: &[u8], size: usize, direction: Direction, max_bytes: usize) -> (Vec<String>, Option<u16>) {
        let (tap, mut records) = Tap::channel();
        let closing = Arc::<Closing>::default();
        let link = Arc::new(tap.open(TapTransport::WebSocket));
        let mut copy = WebSocketCopy::new(link, direction, max_bytes, Arc::clone(&closing));
        stream.chunks(size).for_each(|piece| copy.push(piece));
        copy.finish();
        drop((copy, tap));
        let mut shown = Vec::new();
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(record)) = Stream::poll_next(std::pin::Pin::new(&mut records), &mut context) {
            match record.kind {
                RecordKind::Message { text, .. } => shown.push(text),
                RecordKind::Invalid { content: Content::Text(text), reason, .. } => {
                    shown.push(format!("{reason}: {text}"))
                }
                RecordKind::Invalid { reason, .. } => shown.push(reason.into_owned()),
                _ => {}
            }
        }
        (shown, closing.get().map(|(code, _)| code))
    }

    #[test]
    fn messages_are_read_from_any_pieces() {
        let long = format!("[\"{}\"]", "é".repeat(40_000));
        let medium = format!("[\"{}\"]", "m".repeat(300));
        for (direction, head, mask) in [
            (Direction::Sent, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", Some([1, 2, 3, 4])),
            (Direction::Received, "HTTP/1.1 101 Switching Protocols\r\n\r\n", None),
        ] {
            let stream = [
                head.as_bytes().to_vec(),
                frame(0x81, b"{\"a\":1}", mask),
                frame(0x01, b"[1,", mask),
                frame(0x89, b"ping", mask),
                frame(0x00, b"", mask),
                frame(0x80, b"2]", mask),
                frame(0x82, medium.as_bytes(), mask),
                frame(0x81, long.as_bytes(), mask),
                frame(0x81, b"not json", mask),
                frame(0x81, b"", mask),
                frame(0x82, b"\xff", mask),
                frame(0x88, b"\x03\xe9bye", mask),
            ]
            .concat();
            let expected = [
                "{\"a\":1}",
                "[1,2]",
                &medium,
                &long,
                "the message is not JSON: not json",
                "the message is not JSON: ",
                "the message is not UTF-8",
            ];
            for size in [1, 3, 1_000, usize::MAX] {
                let (shown, code) = recorded(&stream, size, direction, 1_000_000);
                assert_eq!(shown, expected, "{size}");
                assert_eq!(code, Some(1001));
            }
        }
    }

    #[test]
    fn bytes_that_are_not_a_websocket_are_recorded_as_invalid() {
        let head = b"GET / HTTP/1.1\r\n\r\n";
        for (stream, expected) in [
            (&b"HTTP/1.1 403 Forbidden\r\n\r\nno"[..], "the server did not open a WebSocket"),
            (b"HTTP/1.1 101 S\r\n", "the stream ended within the head"),
            (b"HTTP/1.1 101 S\r\n\r\n\xf1\x00", "the header of the frame is invalid"),
            (b"HTTP/1.1 101 S\r\n\r\n\x83\x00", "the header of the frame is invalid"),
            (b"HTTP/1.1 101 S\r\n\r\n\x81", "the stream ended within the header of a frame"),
            (b"HTTP/1.1 101 S\r\n\r\n\x81\x05{}", "the stream ended within the message, after 2 bytes: {}"),
        ] {
            let (shown, _) = recorded(stream, 7, Direction::Received, 100);
            assert!(shown.iter().any(|line| line.starts_with(expected)), "{shown:?}");
        }
        let long = [&head[..], &frame(0x81, &[b'1'; 200], Some([9, 8, 7, 6]))].concat();
        let (shown, _) = recorded(&long, 50, Direction::Sent, 100);
        let expected = format!("the message is longer than the maximum, after 200 bytes: {}", "1".repeat(100));
        assert_eq!(shown, [expected]);
    }
}
