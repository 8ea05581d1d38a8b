//! Opens connections, makes one request on each, and then leaves the connections open and idle.

use std::io::Write;
use std::os::unix::net::UnixStream;

use anyhow::{Result, bail};
use serde_json::json;

use crate::load::{Answers, request};
use crate::worker;

/// Answers commands. A command consists of the path of a socket and a number of connections. This process opens or
/// closes connections until it has this number.
pub(crate) fn run() -> Result<()> {
    let mut connections = Vec::new();
    worker::run(|words| {
        let [socket, count] = words else { bail!("the command must be SOCKET COUNT, got {words:?}") };
        let count: usize = count.parse()?;
        connections.truncate(count);
        while connections.len() < count {
            let mut connection = UnixStream::connect(socket)?;
            connection.write_all(request(connections.len()).as_bytes())?;
            let mut answers = Answers::default();
            while answers.count < 1 {
                answers.read(&mut connection)?;
            }
            connections.push(connection);
        }
        Ok(json!({ "held": connections.len() }))
    })
}
