//! Sends the items of a handler's stream, within the credit of the caller.

use core::fmt;
use core::pin::Pin;
use core::task::{Poll, Waker};
use std::boxed::Box;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use futures_core::Stream;
use tokio::task::yield_now;

use super::Text;
use super::limits::{MAX_ITEMS_PER_TURN, MAX_TURN_TIME};
use super::link::Link;
use super::stream_messages;
use crate::connection::RequestKey;
use crate::error::CallError;
use crate::error::RpcError;
use crate::json_value::write_result;
use crate::message::Id;

/// The stream of items that a handler returns.
pub(super) type ItemSource = Pin<Box<dyn Stream<Item = Result<Text, RpcError>> + Send>>;

/// The number of items that may still be sent.
#[derive(Default)]
pub(super) struct SendCredit(Mutex<CreditState>);

#[derive(Default)]
struct CreditState {
    count: u32,
    /// The highest credit so far.
    window: u32,
    /// Whether no more credit can arrive.
    is_closed: bool,
    waker: Option<Waker>,
}

impl SendCredit {
    pub(super) fn new(count: u32) -> Arc<Self> {
        Arc::new(Self(Mutex::new(CreditState { count, window: count, is_closed: false, waker: None })))
    }

    /// Returns the highest credit so far.
    pub(super) fn window(&self) -> u32 {
        self.lock().window
    }

    /// Adds credit. It may exceed the window by at most `spare`, the unused credit of all streams of the peer.
    fn add(&self, count: u32, spare: u32) {
        let mut credit = self.lock();
        credit.count = credit.count.saturating_add(count).min(credit.window.saturating_add(spare));
        credit.window = credit.window.max(credit.count);
        let waker = credit.waker.take();
        drop(credit);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Records that no more credit can arrive.
    pub(super) fn close(&self) {
        let mut credit = self.lock();
        credit.is_closed = true;
        let waker = credit.waker.take();
        drop(credit);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits for credit and takes one unit. Returns `None` if there is none, and no more can arrive.
    async fn acquire(&self) -> Option<()> {
        poll_fn(|context| {
            let mut credit = self.lock();
            if let Some(rest) = credit.count.checked_sub(1) {
                credit.count = rest;
                return Poll::Ready(Some(()));
            }
            if credit.is_closed {
                return Poll::Ready(None);
            }
            credit.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, CreditState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SendCredit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendCredit")
    }
}

impl Link {
    /// Adds credit to the stream of the request with this id.
    pub(super) fn add_stream_credit(&self, id: &Id, count: u32) {
        let key = self.with_connection(|connection| connection.request_with_id(id));
        if let Some(credit) = key.and_then(|key| self.in_flight.credit(key)) {
            credit.add(count, self.in_flight.spare_credit());
        }
    }
}

/// Sends the items of a stream, and returns the response to its request.
pub(super) async fn pump(
    link: Weak<Link>,
    key: RequestKey,
    mut source: ItemSource,
    credit: Arc<SendCredit>,
) -> Result<Text, RpcError> {
    let (mut remaining_items, mut turn_start) = (1, Instant::now());
    // The end needs no credit, so the next item is polled before there is credit for it.
    while let Some(item) = poll_fn(|context| source.as_mut().poll_next(context)).await {
        let item = item?;
        credit.acquire().await.ok_or_else(stream_closed)?;
        let link = link.upgrade().ok_or_else(stream_closed)?;
        // A source that is always ready yields to the driver, to other streams and to other tasks.
        if remaining_items == 0 || turn_start.elapsed() >= MAX_TURN_TIME {
            yield_now().await;
            remaining_items = MAX_ITEMS_PER_TURN / link.in_flight.len().max(1);
            turn_start = Instant::now();
        }
        remaining_items = remaining_items.saturating_sub(1);
        link.ready().await;
        let id = link.request_id(key).ok_or_else(stream_closed)?;
        link.notify_unbounded(stream_messages::ITEM, stream_messages::write_item(&id, &item))
            .map_err(RpcError::from)?;
    }
    write_result(Ok::<_, RpcError>(()))
}

/// Returns the error after the request was answered or the link has closed. It is not sent.
fn stream_closed() -> RpcError {
    CallError::Destroyed.into()
}
