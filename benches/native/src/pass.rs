//! A program between a client and a server that only passes bytes on. No tap can do less work than this program.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use anyhow::Result;

/// The same number of bytes as one read of `portway tap`.
const CHUNK_BYTES: usize = 64 * 1024;

/// Accepts connections at `listen`, and passes each one to the server at `to`.
pub(crate) fn run(listen: &Path, to: &Path) -> Result<()> {
    for client in UnixListener::bind(listen)?.incoming() {
        let (client, server) = (Arc::new(client?), Arc::new(UnixStream::connect(to)?));
        for (from, to) in [(Arc::clone(&client), Arc::clone(&server)), (server, client)] {
            thread::spawn(move || {
                // An error means that one of the two programs has ended.
                let _ = pass(&from, &to);
                let _ = to.shutdown(Shutdown::Write);
            });
        }
    }
    Ok(())
}

fn pass(mut from: &UnixStream, mut to: &UnixStream) -> Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = from.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(chunk.get(..count).unwrap_or_default())?;
    }
}
