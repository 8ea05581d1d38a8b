//! The server of all clients.

use std::io::{Write, stdout};

use ::portway::RpcError;
use ::portway::mcp::{Context, HttpService, Server};
use anyhow::Result;
use serde_json::{Value, json};

use crate::libraries::block_on;

/// Creates a server with two tools. `echo` returns its arguments as text. `wait` sends one progress notification, so
/// its HTTP response is a stream, and never returns.
fn create() -> Result<Server> {
    let server = Server::new("benchmark", "1.0.0");
    let tool = |name| json!({ "name": name, "description": "A tool of the benchmark." });
    server.tool(tool("echo"), |arguments: Value, _| async move {
        Ok::<_, RpcError>(json!({ "content": [{ "type": "text", "text": arguments.to_string() }] }))
    })?;
    server.tool(tool("wait"), |_: Value, context: Context| async move {
        context.progress(&json!({ "progress": 0 }))?;
        std::future::pending::<Result<Value, RpcError>>().await
    })?;
    Ok(server)
}

pub(crate) fn serve_stdio() -> Result<()> {
    block_on(async {
        create()?.serve_stdio().await?;
        Ok(())
    })
}

pub(crate) fn serve_http() -> Result<()> {
    block_on(async {
        let listener = HttpService::bind(0).await?;
        writeln!(stdout(), "{}", json!({ "port": listener.local_addr()?.port() }))?;
        HttpService::new(&create()?).serve(listener).await?;
        Ok(())
    })
}
