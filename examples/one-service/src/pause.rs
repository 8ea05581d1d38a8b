//! How a handler gives others their turn between two pieces of its work: the one thing that is another in each place.

/// A worker hears of what was sent to it, a cancellation too, in a later turn of its event loop. A timer brings one; a
/// promise that is fulfilled already does not.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) async fn pause() {
    gloo_timers::future::TimeoutFuture::new(0).await;
}

/// On tokio it is a task that waits behind all others.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) use tokio::task::yield_now as pause;
