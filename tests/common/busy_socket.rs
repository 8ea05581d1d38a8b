//! A Unix domain socket whose listener accepts no connection, and whose queue is full.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with};

/// Returns a listener whose queue is full, and the connections in the queue.
pub(crate) fn full_listener(path: &Path) -> rustix::io::Result<(OwnedFd, Vec<OwnedFd>)> {
    let socket = || socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::NONBLOCK, None);
    let (listener, address) = (socket()?, SocketAddrUnix::new(path)?);
    bind(&listener, &address)?;
    listen(&listener, 0)?;
    let mut queued = Vec::new();
    loop {
        let client = socket()?;
        if connect(&client, &address).is_err() {
            return Ok((listener, queued));
        }
        queued.push(client);
    }
}
