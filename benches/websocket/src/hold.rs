//! Opens connections, makes one request on each, and then leaves the connections open and idle.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Result, bail};
use serde_json::json;

use crate::frames::{Counter, begin_upgrade, echo, end_upgrade, push_masked};
use crate::worker;

/// Number of connections that are opened together. On a busy processor, each round trip takes long. The connections of
/// a group wait for their round trips at the same time. The number is smaller than the length of a listener's queue of
/// connections that are not accepted yet.
const GROUP: usize = 64;

/// Answers commands. A command consists of a port, a number of connections, and a text that each response of the server
/// must contain. This process opens or closes connections until it has this number.
pub(crate) fn run() -> Result<()> {
    let mut connections = Vec::new();
    worker::run(|words| {
        let [port, count, expected] = words else { bail!("the command must be PORT COUNT EXPECTED, got {words:?}") };
        let (port, count): (u16, usize) = (port.parse()?, count.parse()?);
        connections.truncate(count);
        while connections.len() < count {
            connections.extend(open(port, GROUP.min(count - connections.len()), expected)?);
        }
        Ok(json!({ "held": connections.len() }))
    })
}

/// Opens connections, and makes one request on each.
fn open(port: u16, count: usize, expected: &str) -> Result<Vec<TcpStream>> {
    let mut group = (0..count).map(|_| begin_upgrade(port)).collect::<Result<Vec<_>>>()?;
    let mut frame = Vec::new();
    push_masked(&mut frame, &echo(1));
    for stream in &mut group {
        end_upgrade(stream)?;
        stream.write_all(&frame)?;
    }
    let mut chunk = [0; 4096];
    for stream in &mut group {
        let mut answers = Counter::of_each(expected);
        while answers.count < 1 {
            let length = stream.read(&mut chunk)?;
            answers.advance(chunk.get(..length).unwrap_or_default())?;
        }
    }
    Ok(group)
}
