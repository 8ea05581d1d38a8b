//! The signals that end a command: SIGINT, SIGTERM and SIGHUP.

use std::future::poll_fn;
use std::task::Poll;
use std::{fs, io};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that are handled. If this process ignores a signal at its start, the signal stays ignored. `nohup` and
/// scripts with background jobs rely on ignored signals.
#[derive(Debug)]
pub struct Signals(Vec<(SignalKind, Signal)>);

impl Signals {
    /// Registers the handlers.
    ///
    /// # Errors
    /// If the system cannot register a handler.
    pub fn listen() -> io::Result<Self> {
        let ignored = ignored();
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let handled = kinds.into_iter().filter(|kind| ignored & (1 << (kind.as_raw_value() - 1)) == 0);
        handled.map(|kind| Ok((kind, signal(kind)?))).collect::<io::Result<_>>().map(Self)
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> SignalKind {
        poll_fn(|context| {
            let received =
                self.0.iter_mut().find_map(|(kind, signal)| signal.poll_recv(context).is_ready().then_some(*kind));
            received.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// Returns a bit mask of the signals that this process ignores, see `SigIgn` in proc_pid_status(5). Returns 0 on
/// systems other than Linux, on which only `unsafe` code can read the ignored signals.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
