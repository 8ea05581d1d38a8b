//! Sends the items of a handler's stream. Each item needs one credit. The credit is the number of items that the caller
//! still accepts.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::future::poll_fn;
use std::sync::Weak;
use std::time::Instant;

use futures_core::Stream;
use tokio::task::yield_now;

use super::Text;
use super::limits::{MAX_ITEMS_PER_TURN, MAX_TURN_TIME};
use super::link::Link;
use crate::connection::streams::Permit;
use crate::connection::{RequestKey, control};
use crate::error::CallError;
use crate::error::RpcError;
use crate::json_value::write_result;
use crate::message::Id;

/// The stream of items that a handler returns.
pub(super) type ItemSource = Pin<Box<dyn Stream<Item = Result<Text, RpcError>> + Send>>;

impl Link {
    /// Adds credit to the stream of the request with this id.
    pub(super) fn add_stream_credit(&self, id: &Id, count: u32) {
        let waker = {
            let mut state = self.lock();
            let key = state.connection.request_with_id(id).filter(|key| state.send_streams.add_credit(*key, count));
            key.and_then(|key| state.blocked_streams.remove(&key.slot()))
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Deducts one credit of a stream. Returns `None` if the stream gets no more credit.
    fn poll_credit(&self, key: RequestKey, context: &Context<'_>) -> Poll<Option<()>> {
        let mut state = self.lock();
        match state.send_streams.take_credit(key) {
            Permit::Granted => Poll::Ready(Some(())),
            Permit::Never => Poll::Ready(None),
            Permit::Wait => {
                let replaced = state.blocked_streams.insert(key.slot(), context.waker().clone());
                // In sequential mode, the driver may have stopped reading. The driver must read again to receive more
                // credit.
                let driver = if self.is_sequential() { state.wake() } else { None };
                drop(state);
                drop(replaced);
                driver.into_iter().for_each(Waker::wake);
                Poll::Pending
            }
        }
    }
}

/// Sends the items of a stream, and returns the outcome of the request for this stream.
pub(super) async fn pump(link: Weak<Link>, key: RequestKey, mut source: ItemSource) -> Result<Text, RpcError> {
    let (mut remaining_items, mut turn_start) = (1, Instant::now());
    // The end of the stream needs no credit. So this task polls for each item first, and then waits for the credit.
    while let Some(item) = poll_fn(|context| source.as_mut().poll_next(context)).await {
        let item = item?;
        // Between two polls, only a weak reference to the link exists. So a stream that waits for credit does not keep
        // the link open.
        let credit = |context: &mut Context<'_>| match link.upgrade() {
            Some(link) => link.poll_credit(key, context),
            None => Poll::Ready(None),
        };
        poll_fn(credit).await.ok_or_else(stream_closed)?;
        let link = link.upgrade().ok_or_else(stream_closed)?;
        // Even if the source is always ready, this task yields to the driver, to other streams and to other tasks.
        if remaining_items == 0 || turn_start.elapsed() >= MAX_TURN_TIME {
            yield_now().await;
            remaining_items = MAX_ITEMS_PER_TURN / link.lock().in_flight.len().max(1);
            turn_start = Instant::now();
        }
        remaining_items = remaining_items.saturating_sub(1);
        link.ready().await;
        let id = link.request_id(key).ok_or_else(stream_closed)?;
        link.notify_unbounded(control::ITEM_METHOD, control::write_item(&id, &item)).map_err(RpcError::from)?;
    }
    write_result(Ok::<_, RpcError>(()))
}

/// Returns the error of a stream whose request was answered or whose link has closed. The error is not sent to the
/// caller.
fn stream_closed() -> RpcError {
    CallError::Destroyed.into()
}
