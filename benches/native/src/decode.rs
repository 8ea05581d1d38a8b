//! Measures how fast a library decodes a stream of messages in memory. The library may leave the params of a message
//! unparsed.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde_json::json;

use crate::worker;

/// The number of bytes that a decoder receives at once.
pub(crate) const CHUNK: usize = 64 * 1024;

/// The minimum duration of a measurement.
const MIN_DURATION: Duration = Duration::from_millis(60);

/// Answers commands. A command consists of the path of a stream and the number of messages in the stream. `prepare`
/// converts the stream for the library. `decode` returns the number of messages that the library finds.
pub(crate) fn measure(prepare: fn(Vec<u8>) -> Vec<u8>, decode: fn(&[u8]) -> Result<usize>) -> Result<()> {
    let mut streams: HashMap<String, Vec<u8>> = HashMap::new();
    worker::run(|words| {
        let [path, count] = words else { bail!("the command must be PATH COUNT, got {words:?}") };
        if !streams.contains_key(*path) {
            streams.insert((*path).to_owned(), prepare(fs::read(path)?));
        }
        let stream = streams.get(*path).map(Vec::as_slice).unwrap_or_default();
        let expected: usize = count.parse()?;
        let start = Instant::now();
        let mut bytes = 0;
        while start.elapsed() < MIN_DURATION {
            let message_count = decode(stream)?;
            ensure!(message_count == expected, "the decoder must find {expected} messages, got {message_count}");
            bytes += stream.len();
        }
        Ok(json!({ "mbs": bytes as f64 / 1e6 / start.elapsed().as_secs_f64() }))
    })
}
