//! Measures how fast a stream of WIPC frames in memory is decoded, and how fast the same stream is copied.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde_json::json;
use wipc_bench::Stream;

use crate::worker;

/// The minimum duration of a measurement.
const MIN_DURATION: Duration = Duration::from_millis(60);

/// Answers commands. A command consists of two lengths in bytes: the length of each payload, and the sum of the lengths
/// of all payloads. `work` decodes or copies a stream, and returns whether all frames were found.
pub(crate) fn measure(work: fn(&mut Stream) -> bool) -> Result<()> {
    let mut streams = HashMap::new();
    worker::run(|words| {
        let [payload, total] = words else { bail!("the command must be PAYLOAD TOTAL, got {words:?}") };
        let (payload, total) = (payload.parse()?, total.parse()?);
        let stream = streams.entry((payload, total)).or_insert_with(|| Stream::new(payload, total));
        let start = Instant::now();
        let mut bytes = 0;
        while start.elapsed() < MIN_DURATION {
            ensure!(work(stream), "the decoder did not find all frames");
            bytes += stream.len();
        }
        Ok(json!({ "mbs": bytes as f64 / 1e6 / start.elapsed().as_secs_f64() }))
    })
}
