//! Lets other handlers run between two pieces of work. This function differs between a worker and a socket.

/// Waits for the next task of the event loop, in which a worker receives messages, such as a cancellation. A timer
/// starts a new task; a resolved promise does not.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) async fn pause() {
    gloo_timers::future::TimeoutFuture::new(0).await;
}

/// Lets the other tasks of tokio run.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) use tokio::task::yield_now as pause;
