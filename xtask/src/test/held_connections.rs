//! Keeps the HTTP server of wasm-bindgen-test-runner from stalling.
//!
//! It starts with four threads, each of which serves one connection until that is closed, and it counts a thread that
//! has been told to wake as free until it has. So of the six connections that a browser opens at once for the modules of
//! a page, two often stay without a thread, and the page never loads. Once connections that say nothing have taken those
//! four, every other gets a thread of its own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const HELD: usize = 8;

/// Connections to a server that is about to start; closed when dropped.
#[must_use = "dropping it closes the connections"]
pub(super) struct HeldConnections {
    address: SocketAddr,
    done: Arc<AtomicBool>,
}

impl HeldConnections {
    /// Finds a free port for the server, and waits for it in the background.
    pub(super) fn new() -> io::Result<Self> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let done = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&done);
        thread::spawn(move || {
            let mut held = Vec::new();
            while !until.load(Ordering::Relaxed) {
                // One after the other: a burst of them would meet the same fault.
                if held.len() < HELD {
                    held.extend(TcpStream::connect(address));
                }
                thread::sleep(Duration::from_millis(20));
            }
        });
        Ok(Self { address, done })
    }

    /// Where the server is to listen.
    pub(super) fn address(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for HeldConnections {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
    }
}
