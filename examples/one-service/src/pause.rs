//! A function that lets other handlers run between two pieces of work. A worker and a socket need different functions.

/// Waits for a new task of the event loop. Before this task, the worker can receive messages, such as a cancellation. A
/// timer starts a new task; a resolved promise does not.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) async fn pause() {
    gloo_timers::future::TimeoutFuture::new(0).await;
}

/// Lets the other tasks of tokio run.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) use tokio::task::yield_now as pause;
