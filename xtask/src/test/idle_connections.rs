//! Prevents a fault of the HTTP server of wasm-bindgen-test-runner, in which a page never loads.
//!
//! The server starts with four threads. Each thread serves one connection until the connection is closed. The server
//! starts another thread only if no thread is free, and counts a thread that is waking up as free. A browser opens six
//! connections at once for the modules of a page. Often, the server then starts no thread for two of these connections,
//! and the page never loads. Idle connections therefore occupy the four threads, so that the server starts a new thread
//! for every other connection.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Number of idle connections, which is more than the four threads of the server.
const CONNECTIONS: usize = 8;

/// Connections to a server that starts later. Dropping this value closes the connections.
#[must_use = "a drop closes the connections"]
pub(super) struct IdleConnections {
    address: SocketAddr,
    is_dropped: Arc<AtomicBool>,
}

impl IdleConnections {
    /// Finds a free port for the server, and connects in the background as soon as the server listens.
    pub(super) fn new() -> io::Result<Self> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let is_dropped = Arc::new(AtomicBool::new(false));
        let must_end = Arc::clone(&is_dropped);
        thread::spawn(move || {
            let mut connections = Vec::new();
            while !must_end.load(Ordering::Relaxed) {
                // The connections are opened one after the other. If all were opened at once, the server would start
                // too few threads for them, as it does for the connections of a browser.
                if connections.len() < CONNECTIONS {
                    connections.extend(TcpStream::connect(address));
                }
                thread::sleep(Duration::from_millis(20));
            }
        });
        Ok(Self { address, is_dropped })
    }

    /// Returns the address on which the server must listen.
    pub(super) fn address(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for IdleConnections {
    fn drop(&mut self) {
        self.is_dropped.store(true, Ordering::Relaxed);
    }
}
