//! Connections that stay open and idle after one request each.

use std::io::Write;
use std::os::unix::net::UnixStream;

use anyhow::{Result, bail};
use serde_json::json;

use crate::load::{Answers, request};
use crate::worker;

/// Answers commands. A command has a socket and the number of connections that stay open from now on.
pub(crate) fn run() -> Result<()> {
    let mut connections = Vec::new();
    worker::run(|words| {
        let [socket, count] = words else { bail!("hold takes SOCKET COUNT") };
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
