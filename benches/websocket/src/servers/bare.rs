//! An echo on `tokio-tungstenite`, without JSON. Portway uses the same library for the framing, `tungstenite`.

use core::pin::pin;
use core::task::Poll;

use anyhow::Result;
use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::{ADDRESS, flood_count, print_port, tick};

#[derive(Clone, Copy)]
pub(crate) enum Flush {
    /// Flushes the output when no received message is left to answer, as Portway does.
    WhenIdle,
    /// Flushes the output after each answer, as `SinkExt::send` does.
    EachMessage,
}

pub(crate) async fn serve(flush: Flush) -> Result<()> {
    let listener = TcpListener::bind(ADDRESS).await?;
    print_port(listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            if let Err(error) = echo(stream, flush).await {
                eprintln!("bare: {error:#}");
            }
        });
    }
}

async fn echo(stream: TcpStream, flush: Flush) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut socket = tokio_tungstenite::accept_async(stream).await?;
    while let Some(Ok(message)) = next(&mut socket).await? {
        let count = if let Message::Text(text) = &message { flood_count(text)? } else { continue };
        match count {
            None => socket.feed(message).await?,
            Some(count) => {
                for number in 0..count {
                    socket.feed(Message::Text(tick(number).into())).await?;
                }
            }
        }
        if matches!(flush, Flush::EachMessage) {
            socket.flush().await?;
        }
    }
    Ok(())
}

pub(super) type Received = Option<Result<Message, tokio_tungstenite::tungstenite::Error>>;

/// Returns the next message. If no message has been received yet, flushes the output before the wait.
pub(super) async fn next(socket: &mut WebSocketStream<TcpStream>) -> Result<Received> {
    let received = {
        let mut next = pin!(socket.next());
        core::future::poll_fn(|context| Poll::Ready(next.as_mut().poll(context))).await
    };
    if let Poll::Ready(received) = received {
        return Ok(received);
    }
    socket.flush().await?;
    Ok(socket.next().await)
}
