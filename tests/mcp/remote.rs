//! The remote end of a link with MCP. There, the test acts as the peer.

use std::error::Error;
use std::io;

use portway::mcp::{Client, Options};
use portway::profile::Profile;
use portway::{Framing, Transport};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::wire::{RemoteEnd, transport_with_remote_end_of};

pub(crate) type Test = Result<(), Box<dyn Error>>;

pub(crate) struct Remote(RemoteEnd);

/// Returns a transport with the profile of MCP, and its remote end.
pub(crate) fn transport_with_remote() -> io::Result<(Transport, Remote)> {
    let (transport, remote) = transport_with_remote_end_of(64 * 1024, Framing::Newline)?;
    Ok((transport.with_profile(Profile::MCP), Remote(remote)))
}

/// A client that connects, and its remote end.
pub(crate) type Connecting = (JoinHandle<Result<Client, portway::mcp::Error>>, Remote);

pub(crate) fn options() -> Options {
    Options::new("test", "1.2.3")
}

/// Starts to connect a client.
pub(crate) fn connect(options: Options) -> io::Result<Connecting> {
    let (transport, remote) = transport_with_remote()?;
    Ok((tokio::spawn(Client::connect_over(transport, options)), remote))
}

/// Connects a client to a server of the legacy era.
pub(crate) async fn connect_legacy(options: Options) -> Result<(Client, Remote), Box<dyn Error>> {
    let (connecting, mut remote) = connect(options)?;
    let discover = remote.receive().await?;
    remote.fail(&discover, -32601).await?;
    let initialize = remote.receive().await?;
    remote.respond(&initialize, json!({ "protocolVersion": "2025-11-25", "capabilities": {} })).await?;
    assert_eq!(remote.receive().await?["method"], "notifications/initialized");
    Ok((connecting.await??, remote))
}

/// Connects a client to a server of the modern era.
pub(crate) async fn connect_modern(options: Options) -> Result<(Client, Remote), Box<dyn Error>> {
    let (connecting, mut remote) = connect(options)?;
    let discover = remote.receive().await?;
    let result =
        json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } });
    remote.respond(&discover, result).await?;
    Ok((connecting.await??, remote))
}

impl Remote {
    /// Returns the next message.
    pub(crate) async fn receive(&mut self) -> io::Result<Value> {
        self.0.receive_frame(Framing::Newline).await
    }

    pub(crate) async fn send(&mut self, message: Value) -> io::Result<()> {
        self.send_line(&message.to_string()).await
    }

    pub(crate) async fn send_line(&mut self, line: &str) -> io::Result<()> {
        self.0.send_bytes(format!("{line}\n").as_bytes()).await
    }

    pub(crate) async fn respond(&mut self, request: &Value, result: Value) -> io::Result<()> {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await
    }

    /// Responds with an error with this code.
    pub(crate) async fn fail(&mut self, request: &Value, code: i64) -> io::Result<()> {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "error": { "code": code, "message": "no" } })).await
    }

    /// Sends a request, and returns all messages before its response. So all earlier messages have been handled.
    pub(crate) async fn unread_before_response(&mut self) -> io::Result<Vec<Value>> {
        self.send(json!({ "jsonrpc": "2.0", "id": "last", "method": "test/last" })).await?;
        let mut messages = Vec::new();
        loop {
            let message = self.receive().await?;
            if message["id"] == "last" {
                return Ok(messages);
            }
            messages.push(message);
        }
    }

    /// Closes the output of the test.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        self.0.finish().await
    }
}
