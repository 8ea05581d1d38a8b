//! Handles noise. Noise consists of lines that are not header lines. A header may begin inside such a line.

use memchr::memchr;

use super::{Header, Item, LineEndEffect, LinePosition, Machine, State};
use crate::codec::buffer::grow;
use crate::codec::content_length::search::{HeaderMatch, find};

impl Machine {
    /// Searches a line for a header, up to the end of the line.
    pub(super) fn in_noise(
        &mut self,
        progress: HeaderMatch,
        line_end: LineEndEffect,
        source: &[u8],
        at: &mut usize,
    ) -> Option<Item> {
        let rest = source.get(*at..)?;
        if !self.held.is_empty() {
            return self.continue_match(progress, line_end, rest, at);
        }
        let end = memchr(b'\n', rest);
        let line = end.and_then(|end| rest.get(..=end)).unwrap_or(rest);
        let begun = find(line).filter(|(start, _)| line.len() - start <= self.header_bytes);
        let noise = match begun {
            Some((0, HeaderMatch::Complete)) => {
                *at += line.len();
                self.begin_header(line);
                return None;
            }
            Some((0, progress)) => {
                *at += line.len();
                grow(&mut self.held, line, self.header_bytes);
                self.state = State::Noise { progress, line_end };
                return None;
            }
            Some((start, _)) => line.get(..start)?,
            None => line,
        };
        let start = *at;
        *at += noise.len();
        self.skip(noise, line_end);
        Some(self.noise(start..*at))
    }

    /// Continues a header that may have begun in the buffered bytes.
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
            let is_broken = matches!(progress, HeaderMatch::Name(0 | 1)) || self.held.len() + used == self.header_bytes;
            if is_broken {
                let begun = rest.get(..used)?;
                *at += used;
                self.held.extend_from_slice(begun);
                let held = core::mem::take(&mut self.held);
                self.skip(&held, line_end);
                self.held = held;
                return self.return_noise();
            }
            used += 1;
            if progress == HeaderMatch::Complete {
                *at += used;
                let mut line = core::mem::take(&mut self.held);
                line.extend_from_slice(rest.get(..used)?);
                self.begin_header(&line);
                return None;
            }
        }
        *at += used;
        grow(&mut self.held, rest, self.header_bytes);
        self.state = State::Noise { progress, line_end };
        None
    }

    /// Sets the state after these bytes of noise.
    fn skip(&mut self, bytes: &[u8], line_end: LineEndEffect) {
        let last = bytes.last().copied().unwrap_or_default();
        if last != b'\n' {
            let line_end = match line_end {
                LineEndEffect::Any => LineEndEffect::Any,
                LineEndEffect::First { .. } => LineEndEffect::First { before: last },
            };
            self.state = State::Noise { progress: HeaderMatch::NONE, line_end };
            return;
        }
        self.state = State::Line(LinePosition::Start);
        if let LineEndEffect::First { before } = line_end {
            let before = bytes.len().checked_sub(2).and_then(|index| bytes.get(index)).copied().unwrap_or(before);
            if before != b'\r' {
                self.header = Header::NEW;
                self.count += 1;
            }
        }
    }
}
