//! `portway decode`: a byte stream on standard input, one JSON object for each thing in it on standard output.
//!
//! Memory is bounded by the longest message. What has been read is written before more is waited for.

mod events;
mod progress;

use std::io::{self, Read, Write};
use std::process::ExitCode;

use portway::codec::content_length::header_within;
use portway::codec::frame::{Event, FrameFault};
use portway::codec::framing::FrameDecoder;
use portway::codec::wipc;
use portway::message::{Fault, Reason};
use portway::{Framing, Limits, stdio};
use serde_json::value::RawValue;

use self::events::Events;
use self::progress::Progress;
use crate::arguments::{DecodeArguments, DecodeFraming};
use crate::detect::Detector;
use crate::output::{Problem, UNUSABLE, ended};
use crate::terminal::Shown;

/// How much is read at once.
const CHUNK: usize = 256 * 1024;

pub(crate) fn run(arguments: &DecodeArguments) -> Result<ExitCode, Problem> {
    let mut input = stdio::stdin();
    let mut progress = Progress::new();
    let mut events = Events::new(Shown::on_stdout(stdio::stdout()));
    let mut stream = Stream::new(arguments);
    let mut chunk = vec![0; CHUNK];
    let written = loop {
        let count = match input.read(&mut chunk) {
            Ok(count) => count,
            Err(error) => return Err(unreadable(error)),
        };
        let bytes = chunk.get(..count).unwrap_or_default();
        let written = if count > 0 { stream.take(bytes, &mut events) } else { stream.finish(&mut events) };
        if let Err(error) = written.and_then(|()| events.flush()) {
            break Err(error);
        }
        if count == 0 {
            break Ok(());
        }
        progress.advance(count, events.count());
    };
    progress.clear();
    ended(written, if events.has_errors() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn unreadable(error: io::Error) -> Problem {
    Problem::new(UNUSABLE, format!("cannot read standard input: {error}"))
}

/// What the bytes are, as far as it is known.
enum Stream {
    Unknown {
        detector: Detector,
        limits: Limits,
    },
    Frames {
        decoder: FrameDecoder,
        framing: Framing,
    },
    /// Frames that need not be messages.
    Wipc(wipc::Decoder),
}

impl Stream {
    fn new(arguments: &DecodeArguments) -> Self {
        let mut limits = Limits::DEFAULT;
        limits.message_bytes = arguments.max_bytes.unwrap_or(limits.message_bytes);
        match arguments.framing {
            DecodeFraming::Auto => Self::Unknown { detector: Detector::new(limits.message_bytes), limits },
            DecodeFraming::ContentLength => Self::frames(Framing::ContentLength, &limits),
            DecodeFraming::Newline => Self::frames(Framing::Newline, &limits),
            DecodeFraming::Wipc => {
                let most = arguments.max_bytes.and_then(|most| u32::try_from(most).ok());
                Self::Wipc(wipc::Decoder::with_max_payload(most.unwrap_or(wipc::MAX_PAYLOAD)))
            }
        }
    }

    const fn frames(framing: Framing, limits: &Limits) -> Self {
        Self::Frames { decoder: FrameDecoder::new(framing, limits), framing }
    }

    fn take(&mut self, mut bytes: &[u8], events: &mut Events<impl Write>) -> io::Result<()> {
        match self {
            Self::Unknown { detector, limits } => {
                let mut noise = Ok(());
                let framing = detector.take(bytes, |bytes| noise = events.passthrough(bytes));
                noise?;
                let Some(framing) = framing else { return Ok(()) };
                let known = Self::frames(framing, limits);
                self.become_known(known, events)
            }
            Self::Frames { decoder, framing } => {
                while let Some(event) = decoder.next(&mut bytes) {
                    if let Some(swallowed) = show(&event, *framing, events)? {
                        decoder.unread(&swallowed);
                    }
                }
                Ok(())
            }
            Self::Wipc(decoder) => {
                while let Some(event) = decoder.next(&mut bytes) {
                    show_wipc(&event, events)?;
                }
                Ok(())
            }
        }
    }

    fn finish(&mut self, events: &mut Events<impl Write>) -> io::Result<()> {
        if let Self::Unknown { detector, limits } = self {
            let known = Self::frames(detector.finish(), limits);
            self.become_known(known, events)?;
        }
        match self {
            Self::Unknown { .. } => {}
            Self::Frames { decoder, framing } => {
                while let Some(event) = decoder.finish() {
                    show(&event, *framing, events)?;
                }
            }
            Self::Wipc(decoder) => {
                while let Some(event) = decoder.finish() {
                    show_wipc(&event, events)?;
                }
            }
        }
        Ok(())
    }

    /// Goes over to a decoder, which begins with what the detector has left.
    fn become_known(&mut self, known: Self, events: &mut Events<impl Write>) -> io::Result<()> {
        match std::mem::replace(self, known) {
            Self::Unknown { detector, .. } => self.take(&detector.into_rest(), events),
            Self::Frames { .. } | Self::Wipc(_) => Ok(()),
        }
    }
}

/// Writes an event. Gives what a body has swallowed of the messages that follow it.
fn show(event: &Event<'_>, framing: Framing, events: &mut Events<impl Write>) -> io::Result<Option<Vec<u8>>> {
    match event {
        Event::Body(body) => match json_text(body) {
            Some(text) => events.message(text)?,
            None => {
                events.error(Fault::ParseError, "parse-error")?;
                if framing == Framing::ContentLength {
                    return Ok(header_within(body).and_then(|start| body.get(start..)).map(<[u8]>::to_vec));
                }
            }
        },
        Event::Refused { reason, .. } => events.error(Fault::Refused(*reason), reason.as_str())?,
        Event::Fault(FrameFault::Truncated { held }) => events.truncated(*held as u64)?,
        Event::Fault(fault) => {
            let (fault, reason) = (fault.fault().unwrap_or(Fault::ParseError), name(*fault));
            events.error(fault, reason)?;
        }
        Event::Noise { bytes, .. } => events.passthrough(bytes)?,
        Event::Frame(frame) => events.frame(frame.frame_type.name(), frame.payload)?,
    }
    Ok(None)
}

fn show_wipc(event: &wipc::Event<'_>, events: &mut Events<impl Write>) -> io::Result<()> {
    match event {
        wipc::Event::Frame(frame) => events.frame(frame.frame_type.name(), frame.payload),
        wipc::Event::Passthrough(bytes) => events.passthrough(bytes),
        wipc::Event::Oversize { .. } => events.error(Fault::Refused(Reason::Oversize), Reason::Oversize.as_str()),
        wipc::Event::Truncated { held } => events.truncated(*held),
    }
}

fn json_text(body: &[u8]) -> Option<&str> {
    let text = str::from_utf8(body).ok()?;
    serde_json::from_str::<&RawValue>(text).ok().map(|_| text)
}

/// The reason that a fault is answered with, or a word of the same kind where it has none.
fn name(fault: FrameFault) -> &'static str {
    match fault {
        FrameFault::InvalidHeader => "invalid-header",
        FrameFault::TimedOut { .. } => "timed-out",
        other => other.fault().and_then(Fault::reason).map_or("parse-error", Reason::as_str),
    }
}
