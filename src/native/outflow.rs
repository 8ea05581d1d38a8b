//! The items of a stream that a handler gives: sent as long as there is credit for them.

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
use super::error::CallError;
use super::limits::{MAX_ITEMS_PER_TURN, MAX_TURN_TIME};
use super::link::Link;
use super::streams;
use crate::connection::RequestKey;
use crate::message::Id;
use crate::text::{RpcError, write_result};

/// What a handler of a stream gives.
pub(super) type Source = Pin<Box<dyn Stream<Item = Result<Text, RpcError>> + Send>>;

/// How many items may still be sent.
#[derive(Default)]
pub(super) struct Outflow(Mutex<Credit>);

#[derive(Default)]
struct Credit {
    count: u32,
    /// The most that there has been at a time.
    window: u32,
    /// No more comes.
    is_last: bool,
    waker: Option<Waker>,
}

impl Outflow {
    pub(super) fn new(count: u32) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Credit { count, window: count, is_last: false, waker: None })))
    }

    /// The most credit that there has been at a time.
    pub(super) fn window(&self) -> u32 {
        self.lock().window
    }

    /// Gives credit: beyond the window no more than `spare`, which all streams together may still have.
    fn grant(&self, count: u32, spare: u32) {
        let mut credit = self.lock();
        credit.count = credit.count.saturating_add(count).min(credit.window.saturating_add(spare));
        credit.window = credit.window.max(credit.count);
        let waker = credit.waker.take();
        drop(credit);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// No more credit can come.
    pub(super) fn end(&self) {
        let mut credit = self.lock();
        credit.is_last = true;
        let waker = credit.waker.take();
        drop(credit);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits for credit, and uses one of it; `None` if there is none and no more comes.
    async fn spend(&self) -> Option<()> {
        poll_fn(|context| {
            let mut credit = self.lock();
            if let Some(rest) = credit.count.checked_sub(1) {
                credit.count = rest;
                return Poll::Ready(Some(()));
            }
            if credit.is_last {
                return Poll::Ready(None);
            }
            credit.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, Credit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Outflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outflow")
    }
}

impl Link {
    /// The other side takes more items of the stream that it asked for under this id.
    pub(super) fn grant(&self, id: &Id, count: u32) {
        let key = self.input(|connection| connection.request_with_id(id));
        if let Some(outflow) = key.and_then(|key| self.running.outflow(key)) {
            outflow.grant(count, self.running.spare_credit());
        }
    }
}

/// Sends what a handler gives, and ends with what the request is answered with.
pub(super) async fn run(
    link: Weak<Link>,
    key: RequestKey,
    mut source: Source,
    outflow: Arc<Outflow>,
) -> Result<Text, RpcError> {
    let (mut left, mut began) = (1, Instant::now());
    // The end needs no credit, so the next item is asked for before it can be sent.
    while let Some(item) = poll_fn(|context| source.as_mut().poll_next(context)).await {
        let item = item?;
        outflow.spend().await.ok_or_else(gone)?;
        let link = link.upgrade().ok_or_else(gone)?;
        // A source that never waits takes turns with the link, with other streams and with other tasks.
        if left == 0 || began.elapsed() >= MAX_TURN_TIME {
            yield_now().await;
            left = MAX_ITEMS_PER_TURN / link.running.len().max(1);
            began = Instant::now();
        }
        left = left.saturating_sub(1);
        link.ready().await;
        let id = link.request_id(key).ok_or_else(gone)?;
        link.notify_always(streams::ITEM, streams::write_item(&id, &item)).map_err(RpcError::from)?;
    }
    write_result(Ok::<_, RpcError>(()))
}

/// Nobody hears this: the request was answered, or the link has ended.
fn gone() -> RpcError {
    CallError::Destroyed.into()
}
