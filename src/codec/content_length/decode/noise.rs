//! Noise: lines that are no header, and the header that may begin inside of one.

use memchr::memchr;

use super::{Ending, Found, Header, Machine, Part, State};
use crate::codec::buffer::grow;
use crate::codec::content_length::search::{Stage, find};

impl Machine {
    /// Looks for a header inside of a line, up to the end of the line.
    pub(super) fn in_noise(&mut self, stage: Stage, ending: Ending, source: &[u8], at: &mut usize) -> Option<Found> {
        let rest = source.get(*at..)?;
        if !self.held.is_empty() {
            return self.go_on(stage, ending, rest, at);
        }
        let end = memchr(b'\n', rest);
        let line = end.and_then(|end| rest.get(..=end)).unwrap_or(rest);
        let begun = find(line).filter(|(start, _)| line.len() - start <= self.header_bytes);
        let noise = match begun {
            Some((0, Stage::Whole)) => {
                *at += line.len();
                self.begin(line);
                return None;
            }
            Some((0, stage)) => {
                *at += line.len();
                grow(&mut self.held, line, self.header_bytes);
                self.state = State::Noise { stage, ending };
                return None;
            }
            Some((start, _)) => line.get(..start)?,
            None => line,
        };
        let start = *at;
        *at += noise.len();
        self.pass(noise, ending);
        Some(self.noise(start..*at))
    }

    /// A header may have begun in what is held.
    fn go_on(&mut self, mut stage: Stage, ending: Ending, rest: &[u8], at: &mut usize) -> Option<Found> {
        let mut used = 0;
        for byte in rest {
            stage = stage.after(*byte);
            let is_broken = matches!(stage, Stage::Name(0 | 1)) || self.held.len() + used == self.header_bytes;
            if is_broken {
                let begun = rest.get(..used)?;
                *at += used;
                self.held.extend_from_slice(begun);
                let held = core::mem::take(&mut self.held);
                self.pass(&held, ending);
                self.held = held;
                return self.noise_held();
            }
            used += 1;
            if stage == Stage::Whole {
                *at += used;
                let mut line = core::mem::take(&mut self.held);
                line.extend_from_slice(rest.get(..used)?);
                self.begin(&line);
                return None;
            }
        }
        *at += used;
        grow(&mut self.held, rest, self.header_bytes);
        self.state = State::Noise { stage, ending };
        None
    }

    /// The next state after these bytes of noise.
    fn pass(&mut self, bytes: &[u8], ending: Ending) {
        let last = bytes.last().copied().unwrap_or_default();
        if last != b'\n' {
            let ending = match ending {
                Ending::Any => Ending::Any,
                Ending::First { .. } => Ending::First { before: last },
            };
            self.state = State::Noise { stage: Stage::NONE, ending };
            return;
        }
        self.state = State::Line(Part::Start);
        if let Ending::First { before } = ending {
            let before = bytes.len().checked_sub(2).and_then(|index| bytes.get(index)).copied().unwrap_or(before);
            if before != b'\r' {
                self.header = Header::NEW;
                self.count += 1;
            }
        }
    }
}
