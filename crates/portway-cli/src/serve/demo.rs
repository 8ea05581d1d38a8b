//! The methods of `portway serve --demo`.

use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::Stream;
use portway::{Context, Peer, RpcError};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The interval between `stream.heartbeat` notifications.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// The default time of `slow`, in milliseconds.
const SLOW_MS: u64 = 3_000;

/// The maximum time of `slow`, in milliseconds.
const MAX_SLOW_MS: u64 = 3_600_000;

/// The default number of items of `count`.
const COUNT: u64 = 10;

/// Registers the methods, and starts the task that sends `stream.heartbeat` notifications.
pub(super) fn set_up(peer: &Peer) {
    peer.method("ping", |_: Option<Value>, _: Context| async { Ok::<_, RpcError>(json!({ "pong": true })) });
    peer.method("echo", |params: Option<Box<RawValue>>, _: Context| async move { Ok::<_, RpcError>(params) });
    peer.method("slow", |params: Option<Value>, _: Context| async move {
        let time = number(params.as_ref(), "ms", SLOW_MS)?.min(MAX_SLOW_MS);
        tokio::time::sleep(Duration::from_millis(time)).await;
        Ok::<_, RpcError>(json!({ "ms": time }))
    });
    peer.stream_method("count", |params: Option<Value>, _: Context| match number(params.as_ref(), "to", COUNT) {
        Ok(to) => Count { next: 1, to, error: None },
        Err(error) => Count { next: 1, to: 0, error: Some(error) },
    });
    let client = peer.client().clone();
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(HEARTBEAT);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = client.closed() => break,
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
            // If the peer does not read, the notification is dropped.
            let _ = client.notify("stream.heartbeat", &json!({ "t": now }));
        }
    });
}

/// Returns the number in the params: the first element of an array, or the member `name` of an object. Returns
/// `default` if the params have no such value.
fn number(params: Option<&Value>, name: &str, default: u64) -> Result<u64, RpcError> {
    let value = params.and_then(|params| params.get(name).or_else(|| params.get(0)));
    match value {
        None => Ok(default),
        Some(value) => value
            .as_u64()
            .ok_or_else(|| RpcError::invalid_params(format!("{name} must be a non-negative integer, got {value}"))),
    }
}

/// A stream of the numbers from `next` to `to`. If the params are invalid, the first item is `error`.
struct Count {
    next: u64,
    to: u64,
    error: Option<RpcError>,
}

impl Stream for Count {
    type Item = Result<u64, RpcError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        if let Some(error) = self.error.take() {
            return Poll::Ready(Some(Err(error)));
        }
        let number = self.next;
        self.next += 1;
        Poll::Ready((number <= self.to).then_some(Ok(number)))
    }
}
