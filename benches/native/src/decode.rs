//! How fast a stream of messages is decoded, from memory, up to where each message is at hand with its params unread.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde_json::json;

use crate::worker;

/// How much is given to a decoder at once.
pub(crate) const CHUNK: usize = 64 * 1024;

/// A measurement takes at least so long.
const LEAST: Duration = Duration::from_millis(60);

/// The command is the path of a stream and how many messages there are in it; `decode` counts them. `prepare` makes of the
/// stream what the subject can read.
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
        while start.elapsed() < LEAST {
            let found = decode(stream)?;
            ensure!(found == expected, "{found} messages instead of {expected}");
            bytes += stream.len();
        }
        Ok(json!({ "mbs": bytes as f64 / 1e6 / start.elapsed().as_secs_f64() }))
    })
}
