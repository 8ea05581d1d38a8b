//! A server of JSON-RPC on `tokio-tungstenite` and `serde_json`, without a library for JSON-RPC. It does only the work
//! that every JSON-RPC server must do: it parses each message and its params, and serializes each response. It has no
//! limits, no cancellation and no concurrent handlers.

use anyhow::{Context, Result};
use futures_util::SinkExt;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::{ADDRESS, Echo, Flood, bare, print_port};

#[derive(Deserialize)]
struct Request<'t> {
    #[serde(borrow)]
    id: &'t RawValue,
    method: &'t str,
    #[serde(borrow)]
    params: &'t RawValue,
}

#[derive(Serialize)]
struct Response<'t, T> {
    jsonrpc: &'static str,
    id: &'t RawValue,
    result: T,
}

#[derive(Serialize)]
struct Notification {
    jsonrpc: &'static str,
    method: &'static str,
    params: Echo,
}

pub(crate) async fn serve() -> Result<()> {
    let listener = TcpListener::bind(ADDRESS).await?;
    print_port(listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            if let Err(error) = answer_all(stream).await {
                eprintln!("by-hand: {error:#}");
            }
        });
    }
}

async fn answer_all(stream: TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut socket = tokio_tungstenite::accept_async(stream).await?;
    while let Some(Ok(message)) = bare::next(&mut socket).await? {
        let Message::Text(text) = &message else { continue };
        let request: Request<'_> = serde_json::from_str(text)?;
        match request.method {
            "echo" => {
                let result = echo(serde_json::from_str(request.params.get())?).await;
                send(&mut socket, &Response { jsonrpc: "2.0", id: request.id, result }).await?;
            }
            "flood" => {
                let Flood { count } = serde_json::from_str(request.params.get())?;
                for number in 0..count {
                    let params = Echo { text: "hello".into(), number };
                    send(&mut socket, &Notification { jsonrpc: "2.0", method: "tick", params }).await?;
                }
            }
            other => return Err(anyhow::anyhow!("the method must be echo or flood, got {other}")),
        }
    }
    Ok(())
}

async fn echo(params: Echo) -> Echo {
    params
}

async fn send(socket: &mut WebSocketStream<TcpStream>, message: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(message).context("the message must be serializable")?;
    socket.feed(Message::Text(text.into())).await?;
    Ok(())
}
