//! The items of a stream that the other side gives.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;
use std::borrow::ToOwned;
use std::boxed::Box;
use std::collections::VecDeque;
use std::future::Future;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::Stream;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::Text;
use super::call::milliseconds;
use super::convert::read_result;
use super::error::CallError;
use super::limits::{MAX_STREAM_CREDIT, STREAM_WINDOW};
use super::link::Link;
use super::state::{CallListener, Outcome};
use super::streams::{self, Asked};
use crate::connection::CallKey;

/// The items of a stream, made by [`Client::stream`](crate::Client::stream).
///
/// They are asked for when it is first polled. Dropping it before its end cancels it: the other side is told by the
/// notification `$/cancelRequest`.
#[must_use = "a stream is asked for when it is polled"]
pub struct Items<T> {
    stage: Stage,
    decode: fn(&RawValue) -> Result<T, CallError>,
}

enum Stage {
    Unsent(Box<Unsent>),
    Open(Opened),
    Failed(CallError),
    Over,
}

struct Unsent {
    link: Arc<Link>,
    method: Box<str>,
    params: Option<Text>,
    timeout: Option<Duration>,
    window: u32,
}

/// A stream that the other side knows of. Dropping it gives it up.
struct Opened {
    link: Arc<Link>,
    key: CallKey,
    reply: oneshot::Receiver<Outcome>,
    /// How it ended, once it has.
    end: Option<Outcome>,
    inflow: Arc<Inflow>,
    timeout: Option<u64>,
    window: u32,
    /// Items that were taken since credit was given last.
    taken: u32,
}

impl<T: DeserializeOwned> Items<T> {
    pub(super) fn new(
        link: &Arc<Link>,
        timeout: Option<Duration>,
        method: &str,
        params: Result<Option<Text>, CallError>,
    ) -> Self {
        let stage = match params {
            Err(problem) => Stage::Failed(problem),
            Ok(params) => {
                let (link, method) = (Arc::clone(link), method.into());
                Stage::Unsent(Box::new(Unsent { link, method, params, timeout, window: STREAM_WINDOW }))
            }
        };
        Self { stage, decode: read_result }
    }
}

impl<T> Items<T> {
    /// How long to wait for the next item, in place of the client's timeout. `None` waits for ever.
    pub fn timeout(mut self, longest: impl Into<Option<Duration>>) -> Self {
        if let Stage::Unsent(unsent) = &mut self.stage {
            unsent.timeout = longest.into();
        }
        self
    }

    /// How many items may be on their way before the first of them is taken: 16, if nothing is said, and 65 536 at most.
    pub fn window(mut self, items: u32) -> Self {
        if let Stage::Unsent(unsent) = &mut self.stage {
            unsent.window = items.clamp(1, MAX_STREAM_CREDIT);
        }
        self
    }
}

impl<T> Stream for Items<T> {
    type Item = Result<T, CallError>;

    /// After an error there are no more items.
    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        this.stage = match mem::replace(&mut this.stage, Stage::Over) {
            Stage::Unsent(unsent) => (*unsent).send(),
            stage => stage,
        };
        let item = match &mut this.stage {
            Stage::Open(opened) => ready!(opened.poll_item(context)),
            _ => match mem::replace(&mut this.stage, Stage::Over) {
                Stage::Failed(problem) => Some(Err(problem)),
                _ => None,
            },
        };
        let item = item.map(|item| item.and_then(|value| (this.decode)(&value)));
        if !matches!(item, Some(Ok(_))) {
            this.stage = Stage::Over;
        }
        Poll::Ready(item)
    }
}

impl Unsent {
    fn send(self) -> Stage {
        let Self { link, method, params, timeout, window } = self;
        let timeout = timeout.map(milliseconds);
        let request =
            streams::write_request(&Asked { method: (&*method).into(), params: params.as_deref(), credit: window });
        let inflow = Arc::new(Inflow::new(window));
        let listener = CallListener::Items(Arc::clone(&inflow));
        match link.call(streams::REQUEST, request, timeout, Some(listener)) {
            Ok((key, reply)) => Stage::Open(Opened { link, key, reply, end: None, inflow, timeout, window, taken: 0 }),
            Err(problem) => Stage::Failed(problem),
        }
    }
}

impl Opened {
    fn poll_item(&mut self, context: &mut Context<'_>) -> Poll<Option<Outcome>> {
        if self.end.is_none()
            && let Poll::Ready(end) = Pin::new(&mut self.reply).poll(context)
        {
            self.end = Some(end.unwrap_or(Err(CallError::Destroyed)));
        }
        // An answer comes after the items that were sent before it; any other end is one at once.
        if let Some(Err(error)) = &self.end
            && error.remote().is_none()
        {
            return Poll::Ready(Some(Err(error.clone())));
        }
        let restart = |timeout| self.link.restart(self.key, timeout);
        let item = ready!(self.inflow.poll(context, self.end.is_some(), self.timeout, restart));
        match item {
            Next::Item(item) => {
                self.give_credit();
                Poll::Ready(Some(Ok(item)))
            }
            Next::Surplus => Poll::Ready(Some(Err(CallError::InvalidResponse))),
            Next::Nothing => Poll::Ready(match self.end.take() {
                Some(Err(error)) => Some(Err(error)),
                _ => None,
            }),
        }
    }

    /// What was taken may be replaced, half a window at a time.
    fn give_credit(&mut self) {
        self.taken += 1;
        if self.end.is_some() || self.taken.saturating_mul(2) < self.window {
            return;
        }
        let count = mem::take(&mut self.taken);
        self.inflow.lock().credit += count;
        // If it cannot be sent, the link has ended, and so does the stream.
        let _ = self.link.notify_always(streams::CREDIT, streams::write_credit(self.key.id(), count));
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.end.is_none() {
            self.link.give_up(self.key);
        }
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").finish_non_exhaustive()
    }
}

/// What has come of a stream and was not taken yet.
#[derive(Debug)]
pub(super) struct Inflow(Mutex<Incoming>);

#[derive(Debug)]
struct Incoming {
    items: VecDeque<Text>,
    /// How many items may still come.
    credit: u32,
    /// Whether more have come.
    is_too_much: bool,
    /// Whether the timeout runs.
    is_awaited: bool,
    waker: Option<Waker>,
}

enum Next {
    Item(Text),
    Surplus,
    Nothing,
}

impl Incoming {
    /// Sets whether the timeout runs. Calls `restart` on a change, under this lock, to keep the order of changes. Lock order:
    /// inflow, then link.
    fn await_item(&mut self, is_awaited: bool, restart: impl FnOnce()) {
        if mem::replace(&mut self.is_awaited, is_awaited) != is_awaited {
            restart();
        }
    }
}

impl Inflow {
    /// The call that asks for the stream is awaited from its beginning.
    const fn new(credit: u32) -> Self {
        let items = VecDeque::new();
        Self(Mutex::new(Incoming { items, credit, is_too_much: false, is_awaited: true, waker: None }))
    }

    /// An item has come.
    pub(super) fn take(&self, link: &Link, key: CallKey, value: &RawValue) {
        let mut incoming = self.lock();
        match incoming.credit.checked_sub(1) {
            Some(rest) => {
                incoming.credit = rest;
                incoming.items.push_back(value.to_owned());
            }
            None => incoming.is_too_much = true,
        }
        match incoming.waker.take() {
            Some(waker) => {
                drop(incoming);
                waker.wake();
            }
            // Nobody waits: then no time runs.
            None => incoming.await_item(false, || link.restart(key, None)),
        }
    }

    /// The next item. Time counts while somebody waits: `restart` sets the timeout of the call anew.
    fn poll(
        &self,
        context: &Context<'_>,
        is_over: bool,
        timeout: Option<u64>,
        restart: impl FnOnce(Option<u64>),
    ) -> Poll<Next> {
        let mut incoming = self.lock();
        let next = match incoming.items.pop_front() {
            Some(item) => Next::Item(item),
            None if incoming.is_too_much => Next::Surplus,
            None if is_over => Next::Nothing,
            None => {
                incoming.waker = Some(context.waker().clone());
                incoming.await_item(true, || restart(timeout));
                return Poll::Pending;
            }
        };
        incoming.await_item(false, || {
            if !is_over {
                restart(None);
            }
        });
        Poll::Ready(next)
    }

    fn lock(&self) -> MutexGuard<'_, Incoming> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
