//! `portway inspect --listen-records`: programs that send the records of their taps.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use portway::{Framing, Listener};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::history::History;
use crate::accept::RETRY_INTERVAL;
use crate::limits::{MAX_INSPECTOR_BYTES, MAX_LONG_LINES, MAX_TAPPED_CONNECTIONS};
use crate::output::{Failure, print_message};
use crate::program::UNREACHABLE;

/// The size of a read. An incomplete line of a program needs a permit if it is longer than this size.
const READ_BYTES: usize = 64 * 1024;

/// Listens on a socket file, and prints its path.
pub(super) async fn listen(path: &Path) -> Result<Listener, Failure> {
    // The framing has no effect, since the listener creates no transports.
    let listener = Listener::unix(path, Framing::Newline)
        .await
        .map_err(|error| Failure::new(UNREACHABLE, format!("cannot listen on {error}")))?;
    print_message(format_args!("listening for records on {}", path.display()));
    Ok(listener)
}

/// Accepts programs, and adds their records to the history. Never returns.
pub(super) async fn accept(listener: Option<Listener>, history: &Arc<History>) {
    let Some(listener) = listener else { return std::future::pending().await };
    let permits = Arc::new(Semaphore::new(MAX_TAPPED_CONNECTIONS));
    let long_lines = Arc::new(Semaphore::new(MAX_LONG_LINES));
    let mut programs = JoinSet::new();
    loop {
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        match listener.accept_unix().await {
            Ok(stream) => {
                let (history, long_lines) = (Arc::clone(history), Arc::clone(&long_lines));
                programs.spawn(async move {
                    read(stream, &history, &long_lines).await;
                    drop(permit);
                });
                // Finished programs are removed.
                while programs.try_join_next().is_some() {}
            }
            // Most errors concern only one connection, so the listener stays open.
            Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
        }
    }
}

/// Reads the records of one program. `long_lines` are the permits for incomplete lines of more than [`READ_BYTES`].
async fn read(mut stream: UnixStream, history: &Arc<History>, long_lines: &Semaphore) {
    let mut lines = history.program_writer();
    let mut long_line = None;
    let mut chunk = vec![0; READ_BYTES];
    loop {
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(count) => {
                // Writing to the history never fails.
                let _: io::Result<()> = lines.write_all(chunk.get(..count).unwrap_or_default());
            }
        }
        if lines.unfinished_bytes() > MAX_INSPECTOR_BYTES {
            let problem = format!("a line of a program must have at most {MAX_INSPECTOR_BYTES} bytes");
            print_message(format_args!("a program was disconnected: {problem}"));
            break;
        }
        if lines.unfinished_bytes() <= READ_BYTES {
            long_line = None;
        } else if long_line.is_none() {
            // The semaphore is never closed.
            long_line = long_lines.acquire().await.ok();
        }
    }
    lines.close_links("the program has disconnected from the inspector");
    drop(long_line);
    if lines.refused() > 0 {
        print_message(format_args!(
            "a program has sent {} lines that are not records of a tap or exceed a limit, see docs/tap.md",
            lines.refused()
        ));
    }
}
