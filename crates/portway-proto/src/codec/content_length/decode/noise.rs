//! Handles noise: bytes that belong to no frame. A header may begin inside a line of noise.

use memchr::memchr;

use super::{Header, Item, LineEndEffect, LinePosition, Machine, State};
use crate::codec::buffer::grow;
use crate::codec::content_length::search::{HeaderMatch, find};

impl Machine {
    /// Searches the rest of a line for a header. `progress` is the part of a header that the buffered bytes have
    /// matched.
    pub(super) fn in_noise(
        &mut self,
        progress: HeaderMatch,
        line_end: LineEndEffect,
        source: &[u8],
        at: &mut usize,
    ) -> Option<Item> {
        let rest = source.get(*at..)?;
        if !self.buffered.is_empty() {
            return self.continue_match(progress, line_end, rest, at);
        }
        let end = memchr(b'\n', rest);
        let line = end.and_then(|end| rest.get(..=end)).unwrap_or(rest);
        let found_match = find(line).filter(|(start, _)| line.len() - start <= self.header_bytes);
        let noise = match found_match {
            Some((0, HeaderMatch::Complete)) => {
                *at += line.len();
                self.begin_header(line);
                return None;
            }
            Some((0, progress)) => {
                *at += line.len();
                grow(&mut self.buffered, line, self.header_bytes);
                self.state = State::Noise { progress, line_end };
                return None;
            }
            Some((start, _)) => line.get(..start)?,
            None => line,
        };
        let start = *at;
        *at += noise.len();
        self.set_state_after(noise, line_end);
        Some(self.noise(start..*at))
    }

    /// Compares further bytes with a header, whose beginning the buffered bytes have matched.
    fn continue_match(
        &mut self,
        mut progress: HeaderMatch,
        line_end: LineEndEffect,
        rest: &[u8],
        at: &mut usize,
    ) -> Option<Item> {
        let mut used = 0;
        for byte in rest {
            progress = progress.after(*byte);
            let is_broken =
                matches!(progress, HeaderMatch::Name(0 | 1)) || self.buffered.len() + used == self.header_bytes;
            if is_broken {
                let matched_bytes = rest.get(..used)?;
                *at += used;
                self.buffered.extend_from_slice(matched_bytes);
                let buffered = core::mem::take(&mut self.buffered);
                self.set_state_after(&buffered, line_end);
                self.buffered = buffered;
                return self.return_noise();
            }
            used += 1;
            if progress == HeaderMatch::Complete {
                *at += used;
                let mut line = core::mem::take(&mut self.buffered);
                line.extend_from_slice(rest.get(..used)?);
                self.begin_header(&line);
                return None;
            }
        }
        *at += used;
        grow(&mut self.buffered, rest, self.header_bytes);
        self.state = State::Noise { progress, line_end };
        None
    }

    /// Sets the state of the decoder after `bytes`, which are noise.
    fn set_state_after(&mut self, bytes: &[u8], line_end: LineEndEffect) {
        let last = bytes.last().copied().unwrap_or_default();
        if last != b'\n' {
            let line_end = match line_end {
                LineEndEffect::None => LineEndEffect::None,
                LineEndEffect::DecidesFirstLine { .. } => LineEndEffect::DecidesFirstLine { before: last },
            };
            self.state = State::Noise { progress: HeaderMatch::NONE, line_end };
            return;
        }
        self.state = State::Line(LinePosition::Start);
        if let LineEndEffect::DecidesFirstLine { before } = line_end {
            let before = bytes.len().checked_sub(2).and_then(|index| bytes.get(index)).copied().unwrap_or(before);
            if before != b'\r' {
                self.header = Header::NEW;
                self.message_number += 1;
            }
        }
    }
}
