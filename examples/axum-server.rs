//! A router of axum that hands its WebSockets to Portway, in two ways.
//!
//! `cargo run --example axum-server --features websocket` starts the server. During its run,
//! `portway call --ws ws://127.0.0.1:8080/upgraded add '[1, 2]'` calls its method `add`.

use std::convert::Infallible;

use axum::Router;
use axum::extract::Request;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures_util::{SinkExt, StreamExt};
use portway::{Context, RpcError, Server, Transport};

/// Adds the methods of the service. Each connection has a separate `Server`.
fn set_up(server: &Server) {
    server.method("add", |(a, b): (i64, i64), _: Context| async move { Ok::<_, RpcError>(a + b) });
}

/// Serves a WebSocket of axum. Axum does the framing, limits the length of messages and answers pings.
fn serve_messages(socket: WebSocket) -> std::io::Result<()> {
    let (sink, stream) = socket.split();
    let sink = sink.with(async |text: String| Ok::<_, axum::Error>(Message::Text(text.into())));
    let sink = Box::pin(sink);
    let texts = stream.filter_map(async |message| match message {
        Ok(message @ (Message::Text(_) | Message::Binary(_))) => Some(Ok(message.into_data())),
        // Axum answers pings and close frames.
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    });
    let server = Server::new(Transport::messages(sink, texts)?);
    set_up(&server);
    server.forget();
    Ok(())
}

/// Upgrades and serves a connection. Portway does the framing, with the limits, pings and close codes of Portway.
async fn upgrade(request: Request) -> Result<Response, Infallible> {
    let Ok(response) = tungstenite::handshake::server::create_response_with_body(&request, axum::body::Body::empty)
    else {
        return Ok(StatusCode::BAD_REQUEST.into_response());
    };
    tokio::spawn(async move {
        if let Ok(upgraded) = hyper::upgrade::on(request).await {
            let transport = Transport::upgraded(hyper_util::rt::TokioIo::new(upgraded))?;
            let server = Server::new(transport);
            set_up(&server);
            server.run().await;
        }
        std::io::Result::Ok(())
    });
    Ok(response)
}

/// Refuses the requests of pages of other sites.
async fn check_origin(request: Request, next: axum::middleware::Next) -> Response {
    if is_admitted(request.headers()) { next.run(request).await } else { StatusCode::FORBIDDEN.into_response() }
}

/// Returns whether `Host` is a name of this server, and `Origin` is absent or the origin of this server. The two names
/// are for a server on the loopback address. Replace them for a server on another address.
fn is_admitted(headers: &HeaderMap) -> bool {
    let header = |name| headers.get(name).map(HeaderValue::as_bytes);
    let host = header("host").unwrap_or_default();
    let is_local = host.starts_with(b"127.0.0.1:") || host.starts_with(b"localhost:");
    is_local && header("origin").is_none_or(|origin| origin.strip_prefix(b"http://") == Some(host))
}

/// Returns the router: `/messages` serves by `Transport::messages`, and `/upgraded` by `Transport::upgraded`.
pub(crate) fn router() -> Router {
    Router::new()
        .route(
            "/messages",
            any(async |upgrade: WebSocketUpgrade| {
                upgrade.max_message_size(10 << 20).on_upgrade(async |socket| {
                    // `serve_messages` fails only outside of a tokio runtime, and axum runs this closure inside of one.
                    let _ = serve_messages(socket);
                })
            }),
        )
        .route("/upgraded", any(upgrade))
        .layer(axum::middleware::from_fn(check_origin))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener, router()).await
}
