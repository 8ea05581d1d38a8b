//! Recognises and reads header lines, and stores their content in the field `header` of [`Machine`].

use core::mem;

use memchr::memchr;

use super::{Header, Item, LineEndEffect, LinePosition, Machine, State};
use crate::codec::buffer::{grow, leading_whitespace};
use crate::codec::content_length::header::{Line, length_in, read_line};
use crate::codec::content_length::search::{HeaderMatch, find, is_name};
use crate::codec::event_bytes::Span;
use crate::codec::frame::FrameFault;
use crate::message::Unreadable;

impl Machine {
    /// Reads a line that may be a header line, up to its end or to the first byte that cannot be in a header line.
    pub(super) fn in_line(&mut self, mut position: LinePosition, source: &[u8], at: &mut usize) -> Option<Item> {
        let mut rest = source.get(*at..)?;
        if position == LinePosition::Start && self.header.bytes == 0 {
            let whitespace = leading_whitespace(rest);
            let start = *at;
            *at += whitespace;
            // Whitespace between frames is skipped. Whitespace within a run of noise is part of the noise.
            if whitespace > 0 && self.is_in_noise_run {
                return Some(self.noise(start..*at));
            }
            rest = source.get(*at..)?;
        }
        // One byte beyond the limit is read. This byte shows that the line is too long, and whether the name or the
        // value of the header exceeds the limit.
        let room = self.header_bytes.saturating_sub(self.buffered.len());
        rest = rest.get(..=room).unwrap_or(rest);
        let mut used = 0;
        loop {
            let Some(byte) = rest.get(used) else { return self.buffer_line(position, rest, at) };
            position = match (position, byte) {
                (LinePosition::Value, _) => match memchr(b'\n', rest.get(used..)?) {
                    Some(end) => return self.end_line(used + end + 1, source, at),
                    None => {
                        used = rest.len();
                        continue;
                    }
                },
                (LinePosition::Start | LinePosition::Return, b'\n') => {
                    *at += used + 1;
                    self.header.bytes += self.buffered.len() + used + 1;
                    self.buffered.clear();
                    return self.end_header();
                }
                (LinePosition::Start, b'\r') => LinePosition::Return,
                (LinePosition::Start | LinePosition::Name, byte) if is_name(*byte) => LinePosition::Name,
                (LinePosition::Name | LinePosition::BeforeColon, b' ' | b'\t') => LinePosition::BeforeColon,
                (LinePosition::Name | LinePosition::BeforeColon, b':') => LinePosition::Value,
                _ => {
                    let item = self.end_as_noise(rest.get(..used)?, *at);
                    *at += used;
                    return item;
                }
            };
            used += 1;
        }
    }

    /// Buffers the beginning of an incomplete line. Splits the line if it is too long.
    fn buffer_line(&mut self, position: LinePosition, bytes: &[u8], at: &mut usize) -> Option<Item> {
        let room = self.header_bytes.saturating_sub(self.buffered.len());
        if bytes.len() <= room {
            if let Some(fault) = self.too_large(position, bytes.len()) {
                return Some(fault);
            }
            self.state = State::Line(position);
            grow(&mut self.buffered, bytes, self.header_bytes);
            *at += bytes.len();
            return None;
        }
        self.split_long_line(position, bytes, room, at)
    }

    /// Handles a complete line. The last `length` bytes of the line are in `source`, and the other bytes are buffered.
    fn end_line(&mut self, length: usize, source: &[u8], at: &mut usize) -> Option<Item> {
        let bytes = source.get(*at..*at + length)?;
        let room = self.header_bytes.saturating_sub(self.buffered.len());
        if bytes.len() > room {
            return self.split_long_line(LinePosition::Value, bytes, room, at);
        }
        if let Some(fault) = self.too_large(LinePosition::Value, length) {
            return Some(fault);
        }
        self.state = State::Line(LinePosition::Start);
        let start = *at;
        *at += length;
        if self.buffered.is_empty() {
            let (fault, noise_len) = self.read_header_line(bytes);
            return fault.or_else(|| (noise_len > 0).then(|| self.noise(start..start + noise_len)));
        }
        let mut line = mem::take(&mut self.buffered);
        line.extend_from_slice(bytes);
        let (fault, noise_len) = self.read_header_line(&line);
        line.truncate(noise_len);
        self.buffered = line;
        if fault.is_some() {
            self.buffered.clear();
        }
        fault.or_else(|| self.return_noise())
    }

    /// Checks whether `more` bytes cause the header to exceed its limit for the first time. If so, refuses the header,
    /// and returns a fault. A header that counts as noise is dropped without a fault. The bytes of a line without a
    /// colon do not count, because the line may be noise.
    fn too_large(&mut self, position: LinePosition, more: usize) -> Option<Item> {
        let bytes = self.header.bytes.saturating_add(self.buffered.len()).saturating_add(more);
        if position != LinePosition::Value || bytes <= self.header_bytes || self.header.is_refused {
            return None;
        }
        if self.is_noise() {
            self.mark_uncertain();
            return None;
        }
        self.header.is_refused = true;
        self.is_in_noise_run = true;
        Some(Item::Fault(FrameFault::HeaderTooLarge))
    }

    /// Returns whether the header lines so far count as noise: the lines follow noise, no line is a known header, and
    /// no fault of the header was reported.
    const fn is_noise(&self) -> bool {
        self.is_in_noise_run && !self.header.is_known && !self.header.is_refused
    }

    /// Splits a line that exceeds the limit of headers. The last bytes of the line stay buffered if another header may
    /// begin with these bytes. If the header is refused, the earlier bytes are dropped. Otherwise, the earlier bytes
    /// are returned as noise.
    fn split_long_line(&mut self, position: LinePosition, bytes: &[u8], room: usize, at: &mut usize) -> Option<Item> {
        if let Some(fault) = self.too_large(position, bytes.len()) {
            return Some(fault);
        }
        self.buffered.extend_from_slice(bytes.get(..room)?);
        *at += room;
        let (start, progress) = find(&self.buffered).unwrap_or((self.buffered.len(), HeaderMatch::NONE));
        let header_start = self.buffered.split_off(start);
        if position != LinePosition::Value || self.is_noise() {
            self.mark_uncertain();
            self.state = State::Noise { progress, line_end: LineEndEffect::None };
            let item = self.return_noise();
            self.buffered = header_start;
            return item;
        }
        let before = self.buffered.last().copied().unwrap_or_default();
        let line_end =
            if self.header.bytes == 0 { LineEndEffect::DecidesFirstLine { before } } else { LineEndEffect::None };
        // The header has begun, so the count must be at least 1. Without `max`, the count could be 0: `buffered` is
        // empty if all bytes of the line may be the beginning of another header.
        self.header.bytes = self.header.bytes.saturating_add(self.buffered.len()).max(1);
        self.state = State::Noise { progress, line_end };
        self.buffered = header_start;
        None
    }

    /// Handles a line whose next byte cannot be in a header line. The bytes of the line so far are noise.
    fn end_as_noise(&mut self, bytes: &[u8], at: usize) -> Option<Item> {
        self.mark_uncertain();
        self.state = State::Noise { progress: HeaderMatch::NONE, line_end: LineEndEffect::None };
        if self.buffered.is_empty() {
            return (!bytes.is_empty()).then(|| self.noise(at..at + bytes.len()));
        }
        self.buffered.extend_from_slice(bytes);
        self.return_noise()
    }

    /// Records noise within the header. A header without a length is dropped, unless its fault was already reported.
    fn mark_uncertain(&mut self) {
        if self.header.length.is_some() || self.header.is_refused || self.header.is_contradictory {
            self.header.is_uncertain = true;
        } else {
            self.header = Header::NEW;
            self.message_number += 1;
        }
    }

    /// Reads a header line. Returns the new fault of the header, or `None`. Also returns the number of leading bytes of
    /// the line that are noise.
    fn read_header_line(&mut self, line: &[u8]) -> (Option<Item>, usize) {
        let (line_kind, inner_header_start) = read_line(line);
        let is_first = self.header.bytes == 0;
        self.header.bytes = self.header.bytes.saturating_add(line.len());
        let fault = match line_kind {
            Line::Length(length) => self.record_length(length, line.len()),
            Line::InvalidLength if self.header.is_refused || self.header.is_contradictory => {
                self.header.is_contradictory = true;
                None
            }
            Line::InvalidLength => {
                self.start_over();
                self.is_in_noise_run = true;
                Some(Item::Fault(FrameFault::InvalidHeader))
            }
            Line::SuffixedLength(length) => {
                self.header.suffixed_length = Some(length);
                None
            }
            Line::ContentType(reason) => {
                self.header.is_known = true;
                self.header.reason = self.header.reason.or(reason);
                None
            }
            Line::Other if inner_header_start.is_none() && is_first && !line.ends_with(b"\r\n") => {
                self.start_over();
                return (None, line.len());
            }
            Line::Other => None,
        };
        let Some(start) = inner_header_start else { return (fault, 0) };
        self.begin_header(line.get(start..).unwrap_or_default());
        (fault, start)
    }

    fn record_length(&mut self, length: Option<u64>, line_bytes: usize) -> Option<Item> {
        let previous = self.header.length.replace(length);
        let differs = self.header.is_contradictory || previous.is_some_and(|previous| previous != length);
        if differs && self.header.is_uncertain {
            self.message_number += 1;
            self.header = Header { bytes: line_bytes, length: Some(length), is_known: true, ..Header::NEW };
            return None;
        }
        let is_new_fault = differs && !self.header.is_contradictory && !self.header.is_refused;
        self.header.is_contradictory |= differs;
        self.header.is_known = true;
        if !is_new_fault {
            return None;
        }
        self.is_in_noise_run = true;
        Some(Item::Fault(FrameFault::InvalidHeader))
    }

    /// Begins a header with `line`, which was found within noise or within another line.
    pub(super) fn begin_header(&mut self, line: &[u8]) {
        self.start_over();
        self.header = Header {
            bytes: line.len(),
            length: Some(length_in(line)),
            is_known: true,
            is_uncertain: true,
            ..Header::NEW
        };
    }

    /// Handles the blank line at the end of a header.
    fn end_header(&mut self) -> Option<Item> {
        let header = self.header;
        let length = header.length.or(header.suffixed_length).filter(|_| !header.is_contradictory);
        if header.is_refused {
            match length.map(|length| length.unwrap_or(u64::MAX)) {
                Some(remaining @ 1..) => {
                    self.beginning.open(Unreadable::HeaderTooLarge);
                    self.state = State::Drop { remaining, is_new: true };
                }
                _ => self.start_over(),
            }
            return None;
        }
        let Some(length) = length else {
            self.start_over();
            // Within a run of noise, a header without a length is part of the noise, and is not reported.
            let is_new_fault = !mem::replace(&mut self.is_in_noise_run, true);
            return is_new_fault.then_some(Item::Fault(FrameFault::InvalidHeader));
        };
        match length.and_then(|length| usize::try_from(length).ok()).filter(|length| *length <= self.message_bytes) {
            None => {
                self.is_in_noise_run = true;
                self.beginning.open(Unreadable::TooLarge);
                self.state = State::Drop { remaining: length.unwrap_or(u64::MAX), is_new: true };
                Some(Item::Fault(FrameFault::Oversize { length }))
            }
            Some(0) => {
                self.is_in_noise_run = false;
                self.start_over();
                Some(Item::Body(Span::Empty, header.reason))
            }
            Some(length) => {
                self.is_in_noise_run = false;
                self.state = State::Body { length, reason: header.reason };
                None
            }
        }
    }
}
