//! Connections that are held, idle, after one request each.

use std::io::Write;
use std::os::unix::net::UnixStream;

use anyhow::{Result, bail};
use serde_json::json;

use crate::load::{Answers, request};
use crate::worker;

/// The command is a socket and how many connections to it are to be held from here on.
pub(crate) fn connections() -> Result<()> {
    let mut held = Vec::new();
    worker::run(|words| {
        let [socket, count] = words else { bail!("hold takes SOCKET COUNT") };
        let count: usize = count.parse()?;
        held.truncate(count);
        while held.len() < count {
            let mut connection = UnixStream::connect(socket)?;
            connection.write_all(request(held.len()).as_bytes())?;
            let mut answers = Answers::default();
            while answers.count < 1 {
                answers.read(&mut connection)?;
            }
            held.push(connection);
        }
        Ok(json!({ "held": held.len() }))
    })
}
