//! Finds the boundaries of frames in the bytes of a WebSocket, so that a message that never ends can time out.
//!
//! The library `tungstenite`, which decodes frames, does not report whether it has received a part of a message. The
//! tracker in this module reads only the headers (RFC 6455 §5.2). It does not check the headers, because the library
//! checks them.

/// Maximum length of the header of a frame, in bytes: 2 bytes, an extended length of 8 bytes, and a mask of 4 bytes.
const MAX_HEADER_BYTES: usize = 14;

/// The position in the frames of the input.
#[derive(Debug, Default)]
pub(super) struct FrameTracker {
    /// The received part of the incomplete header.
    header: [u8; MAX_HEADER_BYTES],
    header_length: usize,
    /// The number of bytes of the payload that were not received yet.
    payload_left: u64,
    /// Whether the current frame is the last one of its message.
    is_final: bool,
    /// Whether the current frame is a control frame.
    is_control: bool,
    /// Whether a message is incomplete: it has begun, and its last frame is not complete.
    is_within_message: bool,
    /// The number of complete messages, and of complete control frames between messages. This number identifies the
    /// incomplete message.
    completed: u64,
    /// The number of bytes of the incomplete message.
    received_bytes: usize,
}

impl FrameTracker {
    /// Advances over the next bytes.
    pub(super) fn advance(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.payload_left == 0 {
                bytes = self.read_header(bytes);
            }
            let skipped = bytes.len().min(usize::try_from(self.payload_left).unwrap_or(usize::MAX));
            bytes = bytes.get(skipped..).unwrap_or_default();
            self.payload_left -= skipped as u64;
            self.received_bytes = self.received_bytes.saturating_add(skipped);
            if self.header_length == 0 && self.payload_left == 0 {
                self.end_frame();
            }
        }
    }

    /// Returns a number that identifies the incomplete message, or `None` between two messages.
    pub(super) const fn unfinished(&self) -> Option<u64> {
        if self.is_unfinished() { Some(self.completed) } else { None }
    }

    /// Returns the number of bytes of the incomplete message.
    pub(super) const fn received_bytes(&self) -> usize {
        self.received_bytes
    }

    const fn is_unfinished(&self) -> bool {
        self.header_length > 0 || self.payload_left > 0 || self.is_within_message
    }

    /// Reads bytes of the header. Returns the bytes after these bytes. Sets `header_length` to 0 when the header is
    /// complete.
    fn read_header<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            if let Some(place) = self.header.get_mut(self.header_length) {
                *place = *byte;
            }
            self.header_length += 1;
            self.received_bytes = self.received_bytes.saturating_add(1);
            rest = after;
            if self.header_length >= self.needed() {
                self.payload_left = self.payload_length();
                self.is_final = self.header[0] & 0x80 != 0;
                self.is_control = self.header[0] & 0x08 != 0;
                self.is_within_message |= !self.is_control;
                self.header_length = 0;
                break;
            }
        }
        rest
    }

    /// Returns the length of the header, or 2 until the first two bytes of the header are known.
    const fn needed(&self) -> usize {
        if self.header_length < 2 {
            return 2;
        }
        let mask = if self.header[1] & 0x80 == 0 { 0 } else { 4 };
        mask + match self.header[1] & 0x7f {
            126 => 4,
            127 => 10,
            _ => 2,
        }
    }

    fn payload_length(&self) -> u64 {
        let [_, second, a, b, c, d, e, f, g, h, ..] = self.header;
        match second & 0x7f {
            126 => u64::from(u16::from_be_bytes([a, b])),
            127 => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            length => u64::from(length),
        }
    }

    fn end_frame(&mut self) {
        if self.is_final && !self.is_control {
            self.is_within_message = false;
        }
        if !self.is_unfinished() {
            self.completed += 1;
            self.received_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FrameTracker;

    /// Returns a masked frame with this first byte.
    fn frame(first: u8, length: usize) -> Vec<u8> {
        let mut frame = vec![first];
        match length {
            0..126 => frame.push(0x80 | length as u8),
            126..65_536 => {
                frame.push(0xfe);
                frame.extend((length as u16).to_be_bytes());
            }
            _ => {
                frame.push(0xff);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend([1, 2, 3, 4]);
        frame.resize(frame.len() + length, b'x');
        frame
    }

    #[test]
    fn a_message_in_pieces_of_any_length_is_complete_at_its_last_byte() {
        for length in [0, 1, 125, 126, 65_535, 65_536] {
            // A text, a ping, and two fragments with a ping between them.
            let messages = [
                frame(0x81, length),
                frame(0x89, length.min(125)),
                [frame(0x01, length), frame(0x89, 5), frame(0x80, length)].concat(),
            ];
            for piece in [1, 2, 3, 7, 4_096, usize::MAX] {
                let mut tracker = FrameTracker::default();
                for (number, message) in messages.iter().enumerate() {
                    let (beginning, last) = message.split_at(message.len() - 1);
                    for bytes in beginning.chunks(piece) {
                        tracker.advance(bytes);
                        assert_eq!(tracker.unfinished(), Some(number as u64), "{length} in pieces of {piece}");
                    }
                    assert_eq!(tracker.received_bytes(), beginning.len());
                    tracker.advance(last);
                    assert_eq!(tracker.unfinished(), None, "{length} in pieces of {piece}");
                }
                tracker.advance(&messages.concat());
                assert_eq!(tracker.unfinished(), None);
            }
        }
    }
}
