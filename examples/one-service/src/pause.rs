//! `pause` lets other tasks run during a long computation. A worker and a socket need different functions for a pause.

/// Waits for a new task of the event loop. Before this task, the worker can receive messages, such as a cancellation.
/// The function uses a timer, because a resolved promise does not start a new task.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) async fn pause() {
    gloo_timers::future::TimeoutFuture::new(0).await;
}

/// Lets the other tasks of tokio run.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) use tokio::task::yield_now as pause;
