//! Measures how fast a stream of server-sent events is decoded in memory, and how fast memchr passes over its lines.

use std::fs;
use std::time::{Duration, Instant};

use ::portway::Limits;
use ::portway::codec::sse::{Decoder, Event};
use anyhow::{Result, bail, ensure};
use memchr::memchr_iter;
use serde_json::json;

use crate::worker;

/// The number of bytes that a decoder receives at once.
const CHUNK: usize = 64 * 1024;

/// The minimum duration of a measurement.
const MIN_DURATION: Duration = Duration::from_millis(20);

/// The number of measurements for a command. The best one counts, because other programs only make the passes slower.
const MEASUREMENTS: usize = 5;

/// Answers commands. A command consists of the path of a stream, and the number of events or lines that `pass` must
/// return.
pub(crate) fn measure(pass: fn(&[u8]) -> Result<usize>) -> Result<()> {
    let mut loaded = (String::new(), Vec::new());
    worker::run(|words| {
        let [path, expected] = words else { bail!("the command must be PATH COUNT, got {words:?}") };
        if loaded.0 != *path {
            loaded = ((*path).to_owned(), fs::read(path)?);
        }
        let expected: usize = expected.parse()?;
        let mut best = 0.0_f64;
        for _ in 0..MEASUREMENTS {
            let start = Instant::now();
            let mut bytes = 0;
            while start.elapsed() < MIN_DURATION {
                let found = pass(&loaded.1)?;
                ensure!(found == expected, "the pass must find {expected}, got {found}");
                bytes += loaded.1.len();
            }
            best = best.max(bytes as f64 / 1e6 / start.elapsed().as_secs_f64());
        }
        Ok(json!({ "mbs": best }))
    })
}

/// Returns the number of events.
pub(crate) fn decode(stream: &[u8]) -> Result<usize> {
    let mut decoder = Decoder::new(&Limits::DEFAULT);
    let mut count = 0;
    for mut chunk in stream.chunks(CHUNK) {
        while let Some(event) = decoder.next(&mut chunk) {
            match event {
                Event::Message { data, .. } if !data.is_empty() => count += 1,
                other => bail!("an event must have data, got {other:?}"),
            }
        }
    }
    Ok(count)
}

/// Returns the number of lines.
pub(crate) fn count_lines(stream: &[u8]) -> Result<usize> {
    // The positions are used one by one, as a decoder uses them. `count()` would count without positions.
    let mut count = 0;
    for chunk in stream.chunks(CHUNK) {
        for position in memchr_iter(b'\n', chunk) {
            std::hint::black_box(position);
            count += 1;
        }
    }
    Ok(count)
}
