//! The vectors of `tests/data/wipc-vectors.json`. The tests of the JavaScript codec use the same vectors.

use portway::codec::wipc::{FrameType, MAX_PAYLOAD};
use serde::Deserialize;

use crate::wipc_any_input::content_of;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Vector {
    name: String,
    pieces: Vec<String>,
    max_payload: Option<u32>,
    frames: Vec<(u8, String)>,
    passthrough: String,
    truncated: Option<u64>,
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> = hexadecimal.chars().map(|digit| digit.to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[test]
fn each_stream_decodes_as_its_vector_specifies_in_any_chunks() {
    let vectors: Vec<Vector> = serde_json::from_str(include_str!("../data/wipc-vectors.json")).unwrap();
    assert!(vectors.len() >= 40, "{} vectors", vectors.len());
    for vector in vectors {
        let pieces: Vec<Vec<u8>> = vector.pieces.iter().map(|piece| bytes(piece)).collect();
        let stream = pieces.concat();
        let max_payload = vector.max_payload.unwrap_or(MAX_PAYLOAD);
        let decoded = content_of(max_payload, pieces.iter().map(Vec::as_slice));
        let frames: Vec<(u8, Vec<u8>)> =
            decoded.frames.iter().map(|(_, frame_type, payload)| (frame_type.code(), payload.clone())).collect();
        let expected: Vec<(u8, Vec<u8>)> =
            vector.frames.iter().map(|(code, payload)| (*code, bytes(payload))).collect();
        assert_eq!(frames, expected, "{}", vector.name);
        assert!(expected.iter().all(|(code, _)| FrameType::from_code(*code).is_some()));
        assert_eq!(decoded.passthrough, bytes(&vector.passthrough), "{}", vector.name);
        assert_eq!(decoded.truncated, vector.truncated, "{}", vector.name);
        for cut in 0..=stream.len() {
            let (before, after) = stream.split_at(cut);
            assert_eq!(content_of(max_payload, [before, after]), decoded, "{}, cut at {cut}", vector.name);
        }
        assert_eq!(content_of(max_payload, stream.chunks(1)), decoded, "{}, byte by byte", vector.name);
    }
}
