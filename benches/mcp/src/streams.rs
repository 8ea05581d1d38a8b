//! Opens streams of server-sent events, and leaves them open.

use std::future::Future;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::libraries::runtime;
use crate::worker;

/// Number of streams that are opened together. While streams are opened, they need more memory than later.
const GROUP: usize = 64;

/// Maximum time until a group is open.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The open streams of a library.
pub(crate) trait Streams: Sized {
    /// Connects to the server.
    fn connect(url: String) -> impl Future<Output = Result<Self>>;

    /// Starts a call of the tool `wait`, whose response is a stream.
    fn open(&mut self);

    /// Returns the number of streams from which a message has arrived.
    fn received(&self) -> usize;
}

/// Answers commands. A command consists of the port of a server, and a number of streams. This process opens streams
/// until it has this number.
pub(crate) fn hold<S: Streams>() -> Result<()> {
    let runtime = runtime()?;
    let mut streams = None;
    let mut opened = 0;
    worker::run(|words| {
        let [port, count] = words else { bail!("the command must be PORT COUNT, got {words:?}") };
        let count: usize = count.parse()?;
        runtime.block_on(async {
            if streams.is_none() {
                streams = Some(S::connect(format!("http://127.0.0.1:{port}/mcp")).await?);
            }
            let streams = streams.as_mut().context("not connected")?;
            while opened < count {
                for _ in 0..GROUP.min(count - opened) {
                    streams.open();
                    opened += 1;
                }
                let group_open = timeout(TIMEOUT, async {
                    while streams.received() < opened {
                        sleep(Duration::from_millis(1)).await;
                    }
                });
                group_open.await.with_context(|| format!("{} of {opened} streams are open", streams.received()))?;
            }
            Ok(json!({ "held": count }))
        })
    })
}
