//! Connections over TCP, by the name of a host.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::thread;

use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// Tries the addresses of a host in their order. Returns the first connection that is accepted.
pub(crate) async fn connect(address: &str) -> io::Result<TcpStream> {
    TcpStream::connect(&*look_up(address).await?).await
}

/// Returns the addresses of a host. A separate thread looks up the name, and the command exits without waiting for this
/// thread. This function does not use the lookup of tokio, which panics if no thread can be started.
pub(crate) async fn look_up(address: &str) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = address.parse() {
        return Ok(vec![address]);
    }
    let (sender, addresses) = oneshot::channel();
    let name = address.to_owned();
    let work = move || {
        // The receiver is dropped after a timeout.
        let _ = sender.send(name.to_socket_addrs().map(Vec::from_iter));
    };
    thread::Builder::new().name("lookup".into()).spawn(work).map_err(|error| {
        io::Error::new(error.kind(), format!("the name cannot be looked up, since no thread can be started: {error}"))
    })?;
    addresses.await.map_err(io::Error::other)?
}
