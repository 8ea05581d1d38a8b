//! The copy of the bytes of one link. The copy is decoded and recorded.

use std::sync::Arc;

use portway::tap::{Direction, Tap, TapLink, TapStream, TapTransport};
use portway::{Framing, Limits};

use super::websocket::{Closing, WebSocketCopy};
use crate::arguments::DecodeFraming;
use crate::detect::{Detector, HeaderWatch};

/// The taps of the command, and the options of their decoders.
#[derive(Clone, Debug)]
pub(super) struct Taps {
    pub(super) taps: Vec<Tap>,
    pub(super) framing: DecodeFraming,
    pub(super) limits: Limits,
}

/// The copy of one link.
#[derive(Debug)]
pub(super) struct LinkCopy {
    links: Vec<Arc<TapLink>>,
    framing: DecodeFraming,
    limits: Limits,
    closing: Arc<Closing>,
}

impl Taps {
    /// Records that a link was opened.
    pub(super) fn open(&self, name: &str, transport: TapTransport) -> LinkCopy {
        let links = self.taps.iter().map(|tap| Arc::new(tap.named(name).open(transport))).collect();
        LinkCopy { links, framing: self.framing, limits: self.limits, closing: Arc::default() }
    }
}

impl LinkCopy {
    /// Returns the copies of one direction of a byte stream.
    pub(super) fn stream(&self, direction: Direction) -> Copies {
        Copies(self.links.iter().map(|link| self.decoder(link, direction)).collect())
    }

    /// Returns the copies of one direction of a WebSocket. The bytes begin with the head of the request or response.
    pub(super) fn websocket(&self, direction: Direction) -> Copies {
        let copy = |link: &Arc<TapLink>| {
            let (link, closing) = (Arc::clone(link), Arc::clone(&self.closing));
            Copy::WebSocket(WebSocketCopy::new(link, direction, self.limits.message_bytes, closing))
        };
        Copies(self.links.iter().map(copy).collect())
    }

    fn decoder(&self, link: &Arc<TapLink>, direction: Direction) -> Copy {
        let target = Target { link: Arc::clone(link), direction, limits: self.limits };
        match self.framing {
            DecodeFraming::Auto => Copy::Unknown(Detector::new(self.limits.message_bytes), target),
            DecodeFraming::ContentLength => target.frames(Framing::ContentLength, None),
            DecodeFraming::Newline => target.frames(Framing::Newline, None),
            DecodeFraming::Wipc => target.frames(Framing::Wipc, None),
        }
    }

    /// Records the end of the link. If a close frame has closed a WebSocket, the frame's reason and code replace the
    /// arguments.
    pub(super) fn close(&self, reason: &str, code: Option<i64>) {
        let (reason, code) = match self.closing.get() {
            Some((code, reason)) => (reason, Some(i64::from(code))),
            None => (reason.to_owned(), code),
        };
        self.links.iter().for_each(|link| link.close(&reason, code));
    }
}

/// The copies of one direction, one for each tap.
#[derive(Debug)]
pub(super) struct Copies(Vec<Copy>);

impl Copies {
    /// Decodes and records bytes, which may end within a message.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.iter_mut().for_each(|copy| copy.push(bytes));
    }

    /// Records the buffered bytes at the end of the input.
    pub(super) fn finish(&mut self) {
        self.0.iter_mut().for_each(Copy::finish);
    }
}

/// The decoder of one copy.
#[derive(Debug)]
enum Copy {
    /// The framing is not known yet.
    Unknown(Detector, Target),
    Frames {
        stream: Box<TapStream>,
        /// Is `Some` if one message a line was detected. A later header then shows that the framing is
        /// `Content-Length`.
        watch: Option<(HeaderWatch, Target)>,
    },
    WebSocket(WebSocketCopy),
}

/// The link and the direction of a copy.
#[derive(Clone, Debug)]
struct Target {
    link: Arc<TapLink>,
    direction: Direction,
    limits: Limits,
}

impl Target {
    fn frames(&self, framing: Framing, watch: Option<(HeaderWatch, Self)>) -> Copy {
        let stream = TapStream::new(Arc::clone(&self.link), self.direction, framing, &self.limits);
        Copy::Frames { stream: Box::new(stream), watch }
    }

    /// Returns the decoder for a detected framing.
    fn for_detected(&self, framing: Framing) -> Copy {
        let watch = (framing == Framing::Newline).then(|| (HeaderWatch::default(), self.clone()));
        self.frames(framing, watch)
    }
}

impl Copy {
    fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Unknown(detector, target) => {
                let noise = |bytes: &[u8]| {
                    target.link.invalid(target.direction, bytes, "no message has shown the framing yet");
                };
                if let Some(framing) = detector.push(bytes, noise) {
                    self.begin(framing);
                }
            }
            Self::Frames { stream, watch: None } => stream.push(bytes),
            Self::Frames { stream, watch: Some((watch, target)) } => {
                if let Some(frames) = watch.push(bytes, |lines| stream.push(lines)) {
                    stream.finish();
                    *self = target.frames(Framing::ContentLength, None);
                    self.push(&frames);
                }
            }
            Self::WebSocket(copy) => copy.push(bytes),
        }
    }

    fn finish(&mut self) {
        if let Self::Unknown(detector, _) = self {
            let framing = detector.finish();
            self.begin(framing);
        }
        match self {
            Self::Unknown(..) => {}
            Self::Frames { stream, watch } => {
                if let Some((watch, _)) = watch {
                    watch.finish(|lines| stream.push(lines));
                }
                stream.finish();
            }
            Self::WebSocket(copy) => copy.finish(),
        }
    }

    /// Replaces the detector by a decoder, and decodes the bytes that the detector has buffered.
    fn begin(&mut self, framing: Framing) {
        let Self::Unknown(_, target) = self else { return };
        let frames = target.for_detected(framing);
        if let Self::Unknown(detector, _) = std::mem::replace(self, frames) {
            self.push(&detector.into_rest());
        }
    }
}
