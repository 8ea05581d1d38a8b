//! Finds the boundaries of frames in the bytes of a WebSocket, so that a message that never ends can time out.
//!
//! The library `tungstenite`, which decodes frames, does not report whether it has received a part of a message. The
//! tracker in this module reads only the headers (RFC 6455 §5.2). The tracker also checks the form of lengths, which
//! the library does not check. The library checks all other rules.

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
    /// Whether the current frame is the last frame of its message.
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
    /// Whether a length had more bytes than necessary, or more than 63 bits.
    has_invalid_length: bool,
}

impl FrameTracker {
    /// Advances over the next bytes. Returns the number of bytes that the library may receive. The number includes all
    /// bytes, unless a header has an invalid length. In this case, the number includes only the bytes before the last
    /// byte of this header. So the library never receives the complete header.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.payload_left == 0 {
                rest = self.read_header(rest);
                if self.has_invalid_length {
                    return bytes.len() - rest.len() - 1;
                }
            }
            let skipped = rest.len().min(usize::try_from(self.payload_left).unwrap_or(usize::MAX));
            rest = rest.get(skipped..).unwrap_or_default();
            self.payload_left -= skipped as u64;
            self.received_bytes = self.received_bytes.saturating_add(skipped);
            if self.header_length == 0 && self.payload_left == 0 {
                self.end_frame();
            }
        }
        bytes.len()
    }

    /// Returns whether a length was invalid (RFC 6455 §5.2). The bytes after an invalid length have no meaning.
    pub(super) const fn has_invalid_length(&self) -> bool {
        self.has_invalid_length
    }

    /// Returns a number that identifies the incomplete message or control frame, or `None` if neither is incomplete.
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

    /// Reads bytes of the header. Returns the bytes that were not read. Sets `header_length` to 0 when the header is
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
                let payload_length = self.payload_length();
                self.has_invalid_length = payload_length.is_none();
                self.payload_left = payload_length.unwrap_or(0);
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

    /// Returns the length of the payload, or `None` if its form is invalid.
    fn payload_length(&self) -> Option<u64> {
        let [_, second, a, b, c, d, e, f, g, h, ..] = self.header;
        let (length, valid) = match second & 0x7f {
            126 => (u64::from(u16::from_be_bytes([a, b])), 126..=0xffff),
            127 => (u64::from_be_bytes([a, b, c, d, e, f, g, h]), 0x1_0000..=u64::MAX >> 1),
            length => return Some(u64::from(length)),
        };
        valid.contains(&length).then_some(length)
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

    #[test]
    fn a_length_is_invalid_if_it_has_too_many_bytes_or_bits() {
        let short = |length: u16| [&[0x81, 126][..], &length.to_be_bytes()].concat();
        let long = |length: u64| [&[0x81, 127][..], &length.to_be_bytes()].concat();
        for (header, is_valid) in [
            (short(0), false),
            (short(125), false),
            (short(126), true),
            (short(u16::MAX), true),
            (long(0), false),
            (long(125), false),
            (long(126), false),
            (long(65_535), false),
            (long(65_536), true),
            (long(u64::MAX >> 1), true),
            (long(1 << 63), false),
            (long(u64::MAX), false),
        ] {
            for (mask_bit, mask) in [(0, &[][..]), (0x80, &[1, 2, 3, 4])] {
                let mut header = [&header, mask].concat();
                if let Some(second) = header.get_mut(1) {
                    *second |= mask_bit;
                }
                let before = frame(0x81, 5);
                let bytes = [&before[..], &header, b"rest"].concat();
                let mut tracker = FrameTracker::default();
                let end = if is_valid { bytes.len() } else { before.len() + header.len() - 1 };
                assert_eq!(tracker.advance(&bytes), end, "{header:?}");
                assert_eq!(tracker.has_invalid_length(), !is_valid, "{header:?}");
            }
        }
    }
}
