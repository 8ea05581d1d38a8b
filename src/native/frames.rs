//! What is particular to WIPC: frames that are no messages, and how long a payload may be and may take.

use core::fmt;
use core::time::Duration;
use std::boxed::Box;

use super::transport::Transport;
use crate::codec::wipc::{Frame, MAX_PAYLOAD};

#[derive(Debug)]
pub(super) struct WipcSettings {
    pub(super) on_frame: FrameListener,
    pub(super) max_payload: u32,
    pub(super) payload_timeout: Option<Duration>,
}

impl Default for WipcSettings {
    fn default() -> Self {
        Self { on_frame: FrameListener::default(), max_payload: MAX_PAYLOAD, payload_timeout: None }
    }
}

/// Who hears of frames that are no messages.
#[derive(Default)]
pub(super) struct FrameListener(Option<Box<OnFrame>>);

type OnFrame = dyn Fn(Frame<'_>) + Send + Sync;

impl FrameListener {
    pub(super) fn tell(&self, frame: Frame<'_>) {
        if let Some(listener) = &self.0 {
            listener(frame);
        }
    }
}

impl fmt::Debug for FrameListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FrameListener").field(&self.0.is_some()).finish()
    }
}

/// What is for [`Framing::Wipc`](crate::Framing::Wipc), and means nothing to other framings.
impl Transport {
    /// Runs a function for each frame of [WIPC](crate::wipc) that is no message: `OPEN`, `CLOSE` and `DATA`. See
    /// [`Client::send_frame`](crate::Client::send_frame) for the other direction.
    ///
    /// Whether or not there is such a function, a `CLOSE` ends the link, once what came with it is dispatched. A guest then
    /// finishes what it works on; its host sends nothing more, and hears what the guest still says until it exits, within the
    /// grace.
    pub fn on_frame(self, listener: impl Fn(Frame<'_>) + Send + Sync + 'static) -> Self {
        self.with_wipc(|wipc| wipc.on_frame = FrameListener(Some(Box::new(listener))))
    }

    /// The same, to which a longer payload, in bytes, is no frame of [WIPC](crate::wipc). Else there is no limit but that of
    /// the format, and a peer can make this side hold as much. A call is besides bound by
    /// [`Limits::message_bytes`](crate::Limits::message_bytes).
    pub fn with_max_payload(self, max_payload: u32) -> Self {
        self.with_wipc(|wipc| wipc.max_payload = max_payload)
    }

    /// The same, to which a payload of [WIPC](crate::wipc) that does not come within this time is none, nor its header one:
    /// what has come of it is searched for other frames. Else there is no such time, for nothing in the format says how fast a
    /// payload has to come. [`Limits::partial_frame_ms`](crate::Limits::partial_frame_ms) is for other framings.
    pub fn with_payload_timeout(self, timeout: Duration) -> Self {
        self.with_wipc(|wipc| wipc.payload_timeout = Some(timeout))
    }
}
