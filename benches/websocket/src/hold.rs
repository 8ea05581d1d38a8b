//! Opens connections, makes one request on each, and then leaves the connections open and idle.

use std::io::{Read, Write};

use anyhow::{Result, bail};
use serde_json::json;

use crate::frames::{Counter, connect, echo, push_masked};
use crate::worker;

/// Answers commands. A command consists of a port, a number of connections, and a text that each response contains.
/// This process opens or closes connections until it has this number.
pub(crate) fn run() -> Result<()> {
    let mut connections = Vec::new();
    worker::run(|words| {
        let [port, count, expected] = words else { bail!("the command must be PORT COUNT EXPECTED, got {words:?}") };
        let (port, count): (u16, usize) = (port.parse()?, count.parse()?);
        connections.truncate(count);
        let mut chunk = [0; 4096];
        while connections.len() < count {
            let mut stream = connect(port)?;
            let mut frame = Vec::new();
            push_masked(&mut frame, &echo(connections.len()));
            stream.write_all(&frame)?;
            let mut answers = Counter::of_each(expected);
            while answers.count < 1 {
                let length = stream.read(&mut chunk)?;
                answers.advance(chunk.get(..length).unwrap_or_default())?;
            }
            connections.push(stream);
        }
        Ok(json!({ "held": connections.len() }))
    })
}
