//! Measures the rate of notifications that a server sends.

use std::io::{Read, Write};
use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::json;

use crate::frames::{Counter, connect, push_masked};
use crate::worker;

const CHUNK_BYTES: usize = 256 * 1024;

/// Answers commands. A command consists of a port, the number of notifications, and the method of a request that must
/// precede `flood`. If no request is necessary, the method is `-`. For example, rpc-websockets sends an event only to
/// clients that have called `rpc.on`.
pub(crate) fn run() -> Result<()> {
    worker::run(|words| {
        let [port, count, preceding_method] = words else {
            bail!("the command must be PORT COUNT PRECEDING_METHOD, got {words:?}")
        };
        let count: usize = count.parse()?;
        let mut stream = connect(port.parse()?)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        if *preceding_method != "-" {
            let mut frame = Vec::new();
            push_masked(
                &mut frame,
                &format!(r#"{{"jsonrpc":"2.0","id":0,"method":"{preceding_method}","params":["tick"]}}"#),
            );
            stream.write_all(&frame)?;
            let mut answers = Counter::of_each(r#""result""#);
            while answers.count < 1 {
                let length = stream.read(&mut chunk)?;
                answers.advance(chunk.get(..length).unwrap_or_default())?;
            }
        }
        let mut frames = Vec::new();
        push_masked(
            &mut frames,
            &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"flood","params":{{"count":{count}}}}}"#),
        );
        let mut ticks = Counter::of_some(r#""tick""#);
        let start = Instant::now();
        stream.write_all(&frames)?;
        while ticks.count < count {
            let length = stream.read(&mut chunk)?;
            ticks.advance(chunk.get(..length).unwrap_or_default())?;
        }
        Ok(json!({ "rps": count as f64 / start.elapsed().as_secs_f64() }))
    })
}
