//! `portway decode`: reads a byte stream from standard input, and writes one JSON object for each event to standard
//! output.
//!
//! The memory depends on the longest message, not on the length of the stream. All events of a read are written before
//! the next read.

mod events;
mod progress;

use std::io::{self, Read, Write};
use std::process::ExitCode;

use portway::codec::frame::{Event, FrameFault};
use portway::codec::wipc;
use portway::codec::{FrameDecoder, Recogniser};
use portway::message::{Fault, Reason};
use portway::{Framing, Limits, stdio};
use serde_json::value::RawValue;

use self::events::Events;
use self::progress::Progress;
use crate::arguments::{DecodeArguments, DecodeFraming};
use crate::detect::{Detector, HeaderWatch};
use crate::output::{Failure, USAGE_OR_IO_FAILED, exit_after_write, print_detail, print_message};
use crate::terminal::EscapingWriter;

/// Maximum number of bytes in one read.
const READ_BYTES: usize = 256 * 1024;

pub(crate) fn run(arguments: &DecodeArguments) -> Result<ExitCode, Failure> {
    let mut input = stdio::stdin();
    let mut progress = Progress::new();
    let mut events = Events::new(EscapingWriter::on_stdout(stdio::stdout()));
    let mut stream = Stream::new(arguments);
    let mut chunk = vec![0; READ_BYTES];
    let written = loop {
        let count = match input.read(&mut chunk) {
            Ok(count) => count,
            Err(error) => return Err(unreadable(error)),
        };
        let bytes = chunk.get(..count).unwrap_or_default();
        let written = if count > 0 { stream.decode_bytes(bytes, &mut events) } else { stream.finish(&mut events) };
        if let Err(error) = written.and_then(|()| events.flush()) {
            break Err(error);
        }
        if count == 0 {
            break Ok(());
        }
        progress.advance(count, events.count());
    };
    progress.clear();
    let has_other_framing = events.count().messages == 0 && stream.guess.detected.is_some();
    exit_after_write(
        written,
        if events.has_errors() || has_other_framing { ExitCode::FAILURE } else { ExitCode::SUCCESS },
    )
}

fn unreadable(error: io::Error) -> Failure {
    Failure::new(USAGE_OR_IO_FAILED, format!("cannot read standard input: {error}"))
}

/// The decoder of standard input.
struct Stream {
    state: StreamState,
    guess: FramingGuess,
}

/// Checks whether the input seems to have another framing than the user has named.
struct FramingGuess {
    named: Option<Framing>,
    recogniser: Recogniser,
    detected: Option<Framing>,
}

impl FramingGuess {
    /// Checks input that is not a message. Does nothing after the first message.
    fn check(&mut self, recognise: impl FnOnce(&mut Recogniser) -> Option<Framing>, events: &Events<impl Write>) {
        let (Some(named), None, 0) = (self.named, self.detected, events.count().messages) else { return };
        self.detected = recognise(&mut self.recogniser).filter(|other| *other != named);
        let Some(other) = self.detected else { return };
        print_message(format_args!("the input looks like {other}, not {named}"));
        print_detail(match other {
            Framing::ContentLength => "Use --framing content-length, or leave it out.",
            Framing::Newline => "Use --framing newline, or leave it out.",
            Framing::Wipc => "Use --framing wipc.",
        });
    }
}

/// The state of the decoder. If the user names no framing, the first state is `Unknown`, in which the framing is
/// detected.
enum StreamState {
    Unknown {
        detector: Detector,
        limits: Limits,
    },
    Frames {
        decoder: FrameDecoder,
        /// `Some` if the detected framing is one message a line. A later header then shows that the framing is
        /// `Content-Length`.
        watch: Option<HeaderWatch>,
        limits: Limits,
    },
    /// WIPC frames with any payload.
    Wipc(wipc::Decoder),
}

impl Stream {
    fn new(arguments: &DecodeArguments) -> Self {
        let mut limits = Limits::DEFAULT;
        limits.message_bytes = arguments.max_bytes.unwrap_or(limits.message_bytes);
        let (state, named) = match arguments.framing {
            DecodeFraming::Auto => {
                (StreamState::Unknown { detector: Detector::new(limits.message_bytes), limits }, None)
            }
            DecodeFraming::ContentLength => {
                (StreamState::frames(Framing::ContentLength, limits, None), Some(Framing::ContentLength))
            }
            DecodeFraming::Newline => (StreamState::frames(Framing::Newline, limits, None), Some(Framing::Newline)),
            DecodeFraming::Wipc => {
                let max_payload = arguments.max_bytes.and_then(|bytes| u32::try_from(bytes).ok());
                let decoder = wipc::Decoder::with_max_payload(max_payload.unwrap_or(wipc::MAX_PAYLOAD));
                (StreamState::Wipc(decoder), Some(Framing::Wipc))
            }
        };
        Self { state, guess: FramingGuess { named, recogniser: Recogniser::default(), detected: None } }
    }

    fn decode_bytes(&mut self, mut bytes: &[u8], events: &mut Events<impl Write>) -> io::Result<()> {
        match &mut self.state {
            StreamState::Unknown { detector, limits } => {
                let mut noise = Ok(());
                let framing = detector.push(bytes, |bytes| noise = events.passthrough(bytes));
                noise?;
                let Some(framing) = framing else { return Ok(()) };
                let decoding_state = StreamState::for_detected(framing, *limits);
                self.set_state(decoding_state, events)
            }
            StreamState::Frames { decoder, watch: None, .. } => decode(decoder, &mut bytes, &mut self.guess, events),
            StreamState::Frames { decoder, watch: Some(watch), limits } => {
                let mut decoded = Ok(());
                let frames = watch.push(bytes, |mut lines| {
                    if decoded.is_ok() {
                        decoded = decode(decoder, &mut lines, &mut self.guess, events);
                    }
                });
                decoded?;
                let Some(frames) = frames else { return Ok(()) };
                self.state = StreamState::frames(Framing::ContentLength, *limits, None);
                self.decode_bytes(&frames, events)
            }
            StreamState::Wipc(decoder) => {
                while let Some(event) = decoder.next(&mut bytes) {
                    write_wipc_event(&event, &mut self.guess, events)?;
                }
                Ok(())
            }
        }
    }

    fn finish(&mut self, events: &mut Events<impl Write>) -> io::Result<()> {
        if let StreamState::Unknown { detector, limits } = &self.state {
            let decoding_state = StreamState::for_detected(detector.finish(), *limits);
            self.set_state(decoding_state, events)?;
        }
        match &mut self.state {
            StreamState::Unknown { .. } => {}
            StreamState::Frames { decoder, watch, .. } => {
                let mut decoded = Ok(());
                if let Some(watch) = watch {
                    watch.finish(|mut lines| decoded = decode(decoder, &mut lines, &mut self.guess, events));
                }
                decoded?;
                while let Some(event) = decoder.finish() {
                    write_event(&event, &mut self.guess, events)?;
                }
            }
            StreamState::Wipc(decoder) => {
                while let Some(event) = decoder.finish() {
                    write_wipc_event(&event, &mut self.guess, events)?;
                }
            }
        }
        Ok(())
    }

    /// Replaces the detector by a decoder, and decodes the bytes that the detector has buffered.
    fn set_state(&mut self, decoding_state: StreamState, events: &mut Events<impl Write>) -> io::Result<()> {
        match std::mem::replace(&mut self.state, decoding_state) {
            StreamState::Unknown { detector, .. } => self.decode_bytes(&detector.into_rest(), events),
            StreamState::Frames { .. } | StreamState::Wipc(_) => Ok(()),
        }
    }
}

impl StreamState {
    const fn frames(framing: Framing, limits: Limits, watch: Option<HeaderWatch>) -> Self {
        Self::Frames { decoder: FrameDecoder::new(framing, &limits), watch, limits }
    }

    /// Returns the state for a detected framing.
    fn for_detected(framing: Framing, limits: Limits) -> Self {
        Self::frames(framing, limits, (framing == Framing::Newline).then(HeaderWatch::default))
    }
}

/// Decodes bytes. Writes an event for each message, for each error, and for each run of bytes outside messages.
fn decode(
    decoder: &mut FrameDecoder,
    bytes: &mut &[u8],
    guess: &mut FramingGuess,
    events: &mut Events<impl Write>,
) -> io::Result<()> {
    loop {
        let before = *bytes;
        let Some(event) = decoder.next(bytes) else { return Ok(()) };
        if !write_event(&event, guess, events)? {
            decoder.reject_body(before);
        }
    }
}

/// Writes an event. Returns `false` for a body that is not JSON.
fn write_event(event: &Event<'_>, guess: &mut FramingGuess, events: &mut Events<impl Write>) -> io::Result<bool> {
    match event {
        Event::Body(body) => match json_text(body) {
            Some(text) => events.message(text)?,
            None => {
                guess.check(|_| Framing::recognise(body), events);
                events.error(Fault::ParseError, "parse-error")?;
                return Ok(false);
            }
        },
        Event::Refused { reason, .. } => events.error(Fault::Refused(*reason), reason.as_str())?,
        Event::Fault(FrameFault::Truncated { received_bytes }) => events.truncated(*received_bytes as u64)?,
        Event::Fault(fault) => {
            let (fault, reason) = (fault.fault().unwrap_or(Fault::ParseError), reason_name(*fault));
            events.error(fault, reason)?;
        }
        Event::Noise { bytes, .. } => {
            guess.check(|recogniser| recogniser.look(bytes), events);
            events.passthrough(bytes)?;
        }
        // The decoder has already reported an error for the dropped bytes.
        Event::Dropped { .. } => {}
        Event::Frame(frame) => events.frame(frame.frame_type.name(), frame.payload)?,
    }
    Ok(true)
}

fn write_wipc_event(
    event: &wipc::Event<'_>,
    guess: &mut FramingGuess,
    events: &mut Events<impl Write>,
) -> io::Result<()> {
    match event {
        wipc::Event::Frame(frame) => events.frame(frame.frame_type.name(), frame.payload),
        wipc::Event::Passthrough(bytes) => {
            guess.check(|recogniser| recogniser.look(bytes), events);
            events.passthrough(bytes)
        }
        wipc::Event::Dropped { .. } => Ok(()),
        wipc::Event::Oversize { .. } => events.error(Fault::Refused(Reason::Oversize), Reason::Oversize.as_str()),
        wipc::Event::Truncated { received_bytes } => events.truncated(*received_bytes),
    }
}

fn json_text(body: &[u8]) -> Option<&str> {
    let text = str::from_utf8(body).ok()?;
    serde_json::from_str::<&RawValue>(text).ok().map(|_| text)
}

/// Returns the `reason` of the event for a fault. If servers report this fault with a `data.reason`, both reasons are
/// equal.
fn reason_name(fault: FrameFault) -> &'static str {
    match fault {
        FrameFault::InvalidHeader => "invalid-header",
        FrameFault::TimedOut { .. } => "timed-out",
        other => other.fault().and_then(Fault::reason).map_or("parse-error", Reason::as_str),
    }
}
