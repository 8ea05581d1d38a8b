//! The client of the official SDK for Rust.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ContentBlock, Implementation, ProgressNotificationParam,
    ProtocolVersion,
};
use ::rmcp::service::{ClientLifecycleMode, ClientServiceExt, NotificationContext, RunningService};
use ::rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use ::rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use ::rmcp::{ClientHandler, RoleClient};
use anyhow::{Context, Result};
use serde_json::Value;

use super::{CLIENT, block_on};
use crate::calls::{Era, Plan, Target};
use crate::streams;

/// Maximum number of HTTP requests that a client sends at once.
const MAX_REQUESTS: usize = 1_024;

/// How a client uses HTTP connections.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Connections {
    /// Each request has a new connection, as by default.
    New,
    /// Connections are used again.
    Kept,
}

fn transport(url: &str, connections: Connections) -> StreamableHttpClientTransport<reqwest::Client> {
    let config = StreamableHttpClientTransportConfig::with_uri(url).max_concurrent_requests(MAX_REQUESTS);
    match connections {
        Connections::New => StreamableHttpClientTransport::from_config(config),
        Connections::Kept => StreamableHttpClientTransport::with_client(reqwest::Client::new(), config),
    }
}

fn lifecycle(era: Era) -> ClientLifecycleMode {
    match era {
        Era::Legacy => ClientLifecycleMode::Initialize,
        Era::Modern => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    }
}

pub(crate) fn call(target: &Target<'_>, era: Era, plan: Plan, connections: Connections) -> Result<f64> {
    block_on(async {
        let handler = Counter::default();
        let service = match target {
            Target::Http(url) => handler.serve_with_lifecycle(transport(url, connections), lifecycle(era)).await?,
            Target::Stdio(words) => {
                let process = TokioChildProcess::new(Target::command(words)?)?;
                handler.serve_with_lifecycle(process, lifecycle(era)).await?
            }
        };
        let call = async |arguments: Value| {
            let params = CallToolRequestParams::new("echo").with_arguments(match arguments {
                Value::Object(arguments) => arguments,
                _ => Default::default(),
            });
            let result = service.call_tool(params).await?;
            let text = result.content.into_iter().find_map(|content| match content {
                ContentBlock::Text(text) => Some(text.text),
                _ => None,
            });
            text.context("the result must have a text")
        };
        let rate = plan.run(call).await?;
        service.cancel().await?;
        Ok(rate)
    })
}

/// Counts progress notifications.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicUsize>);

impl ClientHandler for Counter {
    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new(CLIENT.0, CLIENT.1))
    }
}

pub(crate) struct Streams {
    service: RunningService<RoleClient, Counter>,
    received: Counter,
}

impl streams::Streams for Streams {
    async fn connect(url: String) -> Result<Self> {
        let received = Counter::default();
        let transport = transport(&url, Connections::New);
        let service = received.clone().serve_with_lifecycle(transport, lifecycle(Era::Modern)).await?;
        Ok(Self { service, received })
    }

    fn open(&mut self) {
        let peer = self.service.peer().clone();
        tokio::spawn(async move { peer.call_tool(CallToolRequestParams::new("wait")).await });
    }

    fn received(&self) -> usize {
        self.received.0.load(Ordering::Relaxed)
    }
}
