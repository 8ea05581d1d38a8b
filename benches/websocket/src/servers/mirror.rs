//! A server that returns all bytes after the handshake, and answers a call of `flood` with notifications. The rate of
//! this server is the maximum rate that `load.rs` and `flood.rs` can measure.

use anyhow::{Result, ensure};
use memchr::memmem::find;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{ADDRESS, flood_count, print_port, tick};
use crate::frames::push_unmasked;

const CHUNK_BYTES: usize = 64 * 1024;

/// A chunk with a call of `flood` is shorter than this number of bytes. Longer chunks are not searched for such a call.
const MAX_FLOOD_BYTES: usize = 128;

/// The number of notifications that are written at once.
const BLOCK: u64 = 1_000;

pub(crate) async fn serve() -> Result<()> {
    let listener = TcpListener::bind(ADDRESS).await?;
    print_port(listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            if let Err(error) = mirror(stream).await {
                eprintln!("mirror: {error:#}");
            }
        });
    }
}

async fn mirror(mut stream: TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let length = stream.read(&mut chunk).await?;
    ensure!(chunk.get(..length).is_some_and(|head| head.ends_with(b"\r\n\r\n")), "the head must arrive at once");
    stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\n\r\n").await?;
    loop {
        let length = stream.read(&mut chunk).await?;
        let bytes = chunk.get(..length).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(());
        }
        let call = find(bytes, br#"{"jsonrpc""#).filter(|_| bytes.len() < MAX_FLOOD_BYTES);
        let call = call.and_then(|start| str::from_utf8(bytes.get(start..)?).ok());
        match call.map(flood_count).transpose()?.flatten() {
            None => stream.write_all(bytes).await?,
            Some(count) => {
                let mut frames = Vec::new();
                (0..BLOCK).for_each(|number| push_unmasked(&mut frames, &tick(number)));
                for _ in 0..count.div_ceil(BLOCK) {
                    stream.write_all(&frames).await?;
                }
            }
        }
    }
}
