//! The frames of WIPC that are no messages: the application's.

use core::fmt;
use std::sync::Arc;

use crate::codec::wipc::Frame;

/// Who hears of them.
#[derive(Clone, Default)]
pub(super) struct FrameListener(Option<Arc<OnFrame>>);

type OnFrame = dyn Fn(Frame<'_>) + Send + Sync;

impl FrameListener {
    pub(super) fn new(listener: impl Fn(Frame<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

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
