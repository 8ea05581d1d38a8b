//! Compares the decoder of WIPC frames with a simple implementation of the specification, for random bytes in random
//! pieces.

use portway::codec::wipc::{Decoder, Event, Frame, FrameType, HEADER_BYTES, MAX_PAYLOAD, encode, header};

/// The content of a stream: its frames, and the passthrough around them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StreamContent {
    /// Each frame, with the number of passthrough bytes before it.
    pub frames: Vec<(usize, FrameType, Vec<u8>)>,
    pub passthrough: Vec<u8>,
    /// The number of bytes of an incomplete frame at the end of the stream, if at least its magic has arrived. These
    /// bytes are also in `passthrough`.
    pub truncated: Option<u64>,
}

impl StreamContent {
    pub fn record(&mut self, event: Event<'_>) {
        assert_eq!(self.truncated, None, "no event may follow the end of the input");
        match event {
            Event::Frame(Frame { frame_type, payload }) => {
                self.frames.push((self.passthrough.len(), frame_type, payload.to_vec()));
            }
            Event::Passthrough(bytes) => {
                assert!(!bytes.is_empty(), "a passthrough event must have bytes");
                self.passthrough.extend_from_slice(bytes);
            }
            Event::Oversize { .. } | Event::Dropped { .. } => {
                panic!("a decoder without a limit for CALL frames must not drop a call, got {event:?}")
            }
            Event::Truncated { received_bytes } => self.truncated = Some(received_bytes),
        }
    }

    /// Returns the stream, rebuilt from its content.
    pub fn rebuild(&self) -> Vec<u8> {
        let mut stream = Vec::new();
        let mut from = 0;
        for (position, frame_type, payload) in &self.frames {
            stream.extend_from_slice(&self.passthrough[from..*position]);
            encode(*frame_type, payload, &mut stream).unwrap();
            from = *position;
        }
        stream.extend_from_slice(&self.passthrough[from..]);
        stream
    }
}

/// Decodes a stream that arrives in these pieces and then ends. Returns its content.
pub fn content_of<'p>(max_payload: u32, pieces: impl IntoIterator<Item = &'p [u8]>) -> StreamContent {
    let mut decoder = Decoder::with_max_payload(max_payload);
    let mut content = StreamContent::default();
    for mut piece in pieces {
        while let Some(event) = decoder.next(&mut piece) {
            content.record(event);
        }
        assert!(piece.is_empty(), "the decoder must consume the whole piece");
    }
    while let Some(event) = decoder.finish() {
        content.record(event);
    }
    assert_eq!(decoder.unfinished(), None);
    content
}

/// Returns the content that a stream has according to the specification. In contrast to the decoder, this function
/// searches the whole stream at once.
pub fn expected(max_payload: u32, stream: &[u8]) -> StreamContent {
    let mut content = StreamContent::default();
    let mut at = 0;
    while at < stream.len() {
        let rest = &stream[at..];
        let magic_prefix = &b"WIPC"[..rest.len().min(4)];
        let code = rest.get(4).copied().unwrap_or(0);
        let length = rest.get(5..9).map_or(0, |length| u32::from_le_bytes(length.try_into().unwrap()));
        let may_be_header = rest.starts_with(magic_prefix) && code < 4 && length <= max_payload;
        let end = HEADER_BYTES as u64 + u64::from(length);
        if may_be_header && rest.len() >= HEADER_BYTES && rest.len() as u64 >= end {
            let payload = rest[HEADER_BYTES..end as usize].to_vec();
            content.frames.push((content.passthrough.len(), FrameType::from_code(code).unwrap(), payload));
            at += end as usize;
        } else if may_be_header {
            content.passthrough.extend_from_slice(rest);
            content.truncated = (rest.len() >= 4).then_some(rest.len() as u64);
            break;
        } else {
            content.passthrough.push(stream[at]);
            at += 1;
        }
    }
    content
}

/// A xorshift generator, which returns the same numbers for the same seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number from 0 to `end - 1`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }
}

/// Returns a stream of valid frames, damaged frames and parts of frames.
pub fn any_stream(dice: &mut Random) -> Vec<u8> {
    let mut stream = Vec::new();
    for _ in 0..dice.below(7) {
        let payload: Vec<u8> = match dice.below(4) {
            0 => Vec::new(),
            1 => b"WIPC\x02\x01\0\0\0"[..dice.below(10)].to_vec(),
            2 => b"IPCWIPC"[dice.below(7)..].to_vec(),
            _ => (0..dice.below(30)).map(|_| dice.below(256) as u8).collect(),
        };
        let code = dice.below(5) as u8;
        let mut frame = header(FrameType::Open, payload.len()).unwrap().to_vec();
        frame[4] = if code == 4 { dice.below(256) as u8 } else { code };
        match dice.below(10) {
            0..=4 => frame.extend(payload),
            // A part of a header, a wrong length, half of a payload, a payload without a header, or text with parts of
            // the magic.
            5 => frame.truncate(dice.below(HEADER_BYTES)),
            6 => frame[5 + dice.below(4)] = dice.below(256) as u8,
            7 => frame.extend(&payload[payload.len() / 2..]),
            8 => frame = payload,
            _ => frame = b"WIWIPCWWIPC is a protocol\nWIP"[dice.below(29)..].to_vec(),
        }
        stream.extend(frame);
    }
    stream
}

/// Cuts a stream at random positions. Returns the pieces.
pub fn cut<'s>(dice: &mut Random, mut stream: &'s [u8]) -> Vec<&'s [u8]> {
    let max_length = [1, 3, 10, 40][dice.below(4)];
    let mut pieces = Vec::new();
    while !stream.is_empty() {
        let (piece, rest) = stream.split_at((dice.below(max_length) + 1).min(stream.len()));
        pieces.push(piece);
        stream = rest;
    }
    pieces
}

/// Checks that the decoder returns the content of a random stream, both if the stream arrives whole and if it
/// arrives in pieces. The stream depends only on `seed`.
pub fn check(seed: u64) {
    let mut dice = Random::new(seed);
    let stream = any_stream(&mut dice);
    let max_payload = [MAX_PAYLOAD, MAX_PAYLOAD, 20, 0][dice.below(4)];
    let expected = expected(max_payload, &stream);
    assert_eq!(expected.rebuild(), stream, "seed {seed}");
    let pieces = cut(&mut dice, &stream);
    assert_eq!(content_of(max_payload, pieces), expected, "in pieces, seed {seed}: {stream:?}");
    assert_eq!(content_of(max_payload, [&stream[..]]), expected, "whole, seed {seed}: {stream:?}");
}
