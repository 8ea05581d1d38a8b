//! The options of WIPC: a callback for frames that are not messages, and limits for the payload of a frame.

use core::fmt;
use core::time::Duration;

use super::transport::Transport;
use crate::codec::wipc::{Frame, MAX_PAYLOAD};

#[derive(Debug)]
pub(super) struct WipcOptions {
    pub(super) on_frame: FrameCallback,
    pub(super) max_payload: u32,
    pub(super) payload_timeout: Option<Duration>,
}

impl Default for WipcOptions {
    fn default() -> Self {
        Self { on_frame: FrameCallback::default(), max_payload: MAX_PAYLOAD, payload_timeout: None }
    }
}

/// The callback for frames that are not messages.
#[derive(Default)]
pub(super) struct FrameCallback(Option<Box<OnFrame>>);

type OnFrame = dyn Fn(Frame<'_>) + Send + Sync;

impl FrameCallback {
    pub(super) fn call(&self, frame: Frame<'_>) {
        if let Some(callback) = &self.0 {
            callback(frame);
        }
    }
}

impl fmt::Debug for FrameCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FrameCallback").field(&self.0.is_some()).finish()
    }
}

/// Options for [`Framing::Wipc`](crate::Framing::Wipc). Other framings ignore these options.
impl Transport {
    /// Registers a callback for each frame of [WIPC](crate::wipc) that is not a message: `OPEN`, `CLOSE` and `DATA`.
    /// [`Client::send_frame`](crate::Client::send_frame) sends these frames.
    ///
    /// `CLOSE` ends the link, with or without a callback, after all earlier messages were dispatched. A guest that
    /// receives `CLOSE` completes its running requests. A host that receives `CLOSE` stops sending. The host continues
    /// to read until the guest exits, or until the [grace](Transport::with_grace) is over.
    pub fn on_frame(self, callback: impl Fn(Frame<'_>) + Send + Sync + 'static) -> Self {
        self.with_wipc(|wipc| wipc.on_frame = FrameCallback(Some(Box::new(callback))))
    }

    /// Sets the maximum payload of a [WIPC](crate::wipc) frame, in bytes. A header with a larger length does not begin
    /// a frame. The maximum limits the memory that a peer can use. Default: 2^32 − 1, the limit of the format. For
    /// messages, [`Limits::message_bytes`](crate::Limits::message_bytes) also applies.
    pub fn with_max_payload(self, max_payload: u32) -> Self {
        self.with_wipc(|wipc| wipc.max_payload = max_payload)
    }

    /// Sets the maximum time between the header of a [WIPC](crate::wipc) frame and the end of its payload. After a
    /// timeout, the received bytes are searched for other frames. Default: no limit. For other framings,
    /// [`Limits::partial_frame_ms`](crate::Limits::partial_frame_ms) applies instead.
    pub fn with_payload_timeout(self, timeout: Duration) -> Self {
        self.with_wipc(|wipc| wipc.payload_timeout = Some(timeout))
    }
}
