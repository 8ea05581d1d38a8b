//! The decoder of WIPC must find all of 100,000 frames between the lines of 1 GiB of text that a guest prints. The
//! decoder must not need more than 16 MiB of memory.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test is a panic"
)]

#[path = "common/wipc_any_input.rs"]
#[allow(dead_code, unreachable_pub, reason = "other tests share it")]
mod wipc_any_input;

use std::collections::VecDeque;
use std::fs;
use std::ops::Range;

use portway::codec::wipc::{Decoder, Event, Frame, FrameType, encode};
use wipc_any_input::Random;

/// The number of bytes of text, without the frames.
const TEXT_BYTES: usize = 1 << 30;
/// The number of frames between the lines of text.
const FRAMES: usize = 100_000;
/// The number of bytes in a block of text. The printed text consists of parts of this block.
const BLOCK: usize = 1 << 20;
const MAX_CHUNK_BYTES: usize = 100_000;

/// Returns the peak memory of this process, in bytes.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix("kB").unwrap().trim().parse::<usize>().unwrap() * 1024
}

/// Returns lines as programs print them. Some lines contain the magic of WIPC or a part of it.
fn block() -> Vec<u8> {
    let mut text = Vec::with_capacity(BLOCK + 100);
    for line in 0.. {
        if text.len() >= BLOCK {
            break;
        }
        let words = ["loading", "WIPC is a protocol", "Warning: WWIPWIPC", "W", "done \u{57}IPC\u{4}", "\0\u{1}"];
        text.extend_from_slice(format!("[{line}] {}\n", words[line % words.len()]).as_bytes());
    }
    text.truncate(BLOCK);
    text
}

fn payload(number: usize) -> Vec<u8> {
    format!("{{\"number\":{number},\"WIPC\":\"{}\"}}", "x".repeat(number % 300)).into_bytes()
}

/// The expected passthrough: parts of the block, in this order.
#[derive(Default)]
struct Expected(VecDeque<Range<usize>>);

impl Expected {
    /// Checks that `bytes` are the next bytes of the passthrough, and removes them.
    fn check_next(&mut self, block: &[u8], mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let part = self.0.front_mut().expect("the passthrough must not be longer than the printed text");
            let count = part.len().min(bytes.len());
            let (these, rest) = bytes.split_at(count);
            assert!(block[part.start..part.start + count] == *these, "the passthrough must equal the printed text");
            part.start += count;
            if part.start == part.end {
                self.0.pop_front();
            }
            bytes = rest;
        }
    }
}

#[test]
fn all_frames_in_a_gibibyte_of_text_are_found_with_little_memory() {
    let mut dice = Random::new(7);
    let block = block();
    let line_end = block.iter().position(|byte| *byte == b'\n').unwrap();
    let mut decoder = Decoder::new();
    let mut expected = Expected::default();
    let mut found = 0;
    let mut printed = 0;
    let mut unsent: Vec<u8> = Vec::new();
    for number in 0..FRAMES {
        // The rest of the text is divided among the remaining frames.
        let length = (TEXT_BYTES - printed) / (FRAMES - number);
        let start = dice.below(BLOCK - length);
        // If the text before a frame ended with the magic, the decoder would take the frame for the rest of a header.
        // So the last byte of this text is a line end.
        for part in [start..start + length - 1, line_end..line_end + 1] {
            unsent.extend_from_slice(&block[part.clone()]);
            expected.0.push_back(part);
        }
        printed += length;
        encode(FrameType::Data, &payload(number), &mut unsent).unwrap();
        let is_last = number + 1 == FRAMES;
        while unsent.len() > MAX_CHUNK_BYTES || (is_last && !unsent.is_empty()) {
            let chunk: Vec<u8> = unsent.drain(..(dice.below(MAX_CHUNK_BYTES) + 1).min(unsent.len())).collect();
            let mut input = &chunk[..];
            while let Some(event) = decoder.next(&mut input) {
                match event {
                    Event::Frame(Frame { frame_type: FrameType::Data, payload: bytes }) => {
                        assert!(bytes == payload(found), "frame {found}");
                        found += 1;
                    }
                    Event::Passthrough(bytes) => expected.check_next(&block, bytes),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    assert_eq!((decoder.finish(), found, printed), (None, FRAMES, TEXT_BYTES));
    assert!(expected.0.is_empty(), "all printed text must be passed through");
    let peak = peak();
    assert!(peak <= 16 << 20, "{peak} bytes");
    println!("{FRAMES} frames in {TEXT_BYTES} bytes of text, {peak} bytes of memory at most");
}
