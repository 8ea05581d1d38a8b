//! How fast a stream of messages is decoded, from memory, up to where each message is at hand with its params unread.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde_json::json;

use crate::worker;

/// The length of a chunk for a decoder.
pub(crate) const CHUNK: usize = 64 * 1024;

/// The minimum duration of a measurement.
const MIN_DURATION: Duration = Duration::from_millis(60);

/// Answers commands. A command has the path of a stream and its number of messages, which `decode` counts. `prepare`
/// converts the stream for the library.
pub(crate) fn measure(prepare: fn(Vec<u8>) -> Vec<u8>, decode: fn(&[u8]) -> Result<usize>) -> Result<()> {
    let mut streams: HashMap<String, Vec<u8>> = HashMap::new();
    worker::run(|words| {
        let [path, count] = words else { bail!("decode takes PATH COUNT") };
        if !streams.contains_key(*path) {
            streams.insert((*path).to_owned(), prepare(fs::read(path)?));
        }
        let stream = streams.get(*path).map(Vec::as_slice).unwrap_or_default();
        let expected: usize = count.parse()?;
        let start = Instant::now();
        let mut bytes = 0;
        while start.elapsed() < MIN_DURATION {
            let found = decode(stream)?;
            ensure!(found == expected, "{found} messages instead of {expected}");
            bytes += stream.len();
        }
        Ok(json!({ "mbs": bytes as f64 / 1e6 / start.elapsed().as_secs_f64() }))
    })
}
