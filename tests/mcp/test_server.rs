//! A server of MCP for the tests.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;

use portway::RpcError;
use portway::mcp::{Context, Error, Level, Server};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;

pub(crate) type Outcome = Result<Value, RpcError>;

#[derive(Deserialize)]
struct Sum {
    a: i64,
    b: i64,
}

/// Notifies when the future of a handler is dropped.
pub(crate) struct Dropped(pub(crate) Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

pub(crate) fn text(text: impl ToString) -> Value {
    json!({ "content": [{ "type": "text", "text": text.to_string() }] })
}

/// Returns a server, and a notification that the tool `wait` has been cancelled.
pub(crate) fn server() -> Result<(Server, Arc<Notify>), Error> {
    let server = Server::new("test-server", "1.2.3");
    server.instructions("Add numbers.");
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer", "x-mcp-header": "B" } },
        "required": ["a", "b"],
    });
    let add = json!({ "name": "add", "title": "Add", "inputSchema": schema });
    server.tool(add, |Sum { a, b }: Sum, _| async move {
        Ok::<_, RpcError>(text(a.checked_add(b).ok_or_else(|| RpcError::internal("too large"))?))
    })?;
    server.tool(json!({ "name": "steps" }), |arguments: BTreeMap<String, u64>, context: Context| async move {
        for step in 1..=arguments.get("count").copied().unwrap_or(2) {
            context.progress(&step)?;
            context.log(Level::Info, &json!({ "step": step }))?;
            tokio::task::yield_now().await;
        }
        Outcome::Ok(text("done"))
    })?;
    let cancelled = Arc::new(Notify::new());
    let notify = Arc::clone(&cancelled);
    server.tool(json!({ "name": "wait" }), move |_: Value, context: Context| {
        let dropped = Dropped(Arc::clone(&notify));
        async move {
            context.progress(&0)?;
            let _dropped = dropped;
            pending::<Outcome>().await
        }
    })?;
    server.tool(json!({ "name": "greet" }), |_: Value, context: Context| async move {
        let name: Value = context.ask("name", "elicitation/create", &json!({ "message": "name?" })).await?;
        let roots: Value = context.ask("roots", "roots/list", &()).await?;
        Outcome::Ok(text(format!("hello {} of {}", name["content"]["name"], roots["roots"][0]["uri"])))
    })?;
    server.tool(json!({ "name": "panic" }), |_: Value, context: Context| async move {
        assert!(context.is_cancelled(), "a test panics");
        Outcome::Ok(json!(null))
    })?;
    server.resource(json!({ "uri": "text://readme", "name": "readme" }), |uri, _| async move {
        Outcome::Ok(json!({ "contents": [{ "uri": uri, "text": "é😀" }] }))
    })?;
    let template = json!({ "uriTemplate": "text://{page}", "name": "pages" });
    server.resource_template(template, |uri, variables: BTreeMap<String, String>, _| async move {
        Outcome::Ok(json!({ "contents": [{ "uri": uri, "text": variables["page"] }], "ttlMs": 5 }))
    })?;
    server.prompt(json!({ "name": "review" }), |arguments: BTreeMap<String, String>, _| async move {
        Outcome::Ok(json!({ "messages": [], "description": arguments.get("code") }))
    })?;
    Ok((server, cancelled))
}
