//! The client of Portway.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::portway::mcp::{self, Client, Options};
use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{CLIENT, block_on};
use crate::calls::{Era, Plan, Target};
use crate::streams;

pub(crate) fn call(target: &Target<'_>, era: Era, plan: Plan) -> Result<f64> {
    let options =
        Options::new(CLIENT.0, CLIENT.1).era(if era == Era::Legacy { mcp::Era::Legacy } else { mcp::Era::Modern });
    block_on(async {
        let client = match target {
            Target::Http(url) => Client::connect_http(url, options).await?,
            Target::Stdio(words) => Client::connect(Target::command(words)?, options).await?,
        };
        let call = async |arguments: Value| {
            let params = json!({ "name": "echo", "arguments": arguments });
            let result: Value = client.call("tools/call", &params).await?;
            let text = result.pointer("/content/0/text").and_then(Value::as_str);
            Ok(text.context("the result must have a text")?.to_owned())
        };
        let rate = plan.run(call).await?;
        client.close().await;
        Ok(rate)
    })
}

pub(crate) struct Streams {
    client: Client,
    received: Arc<AtomicUsize>,
}

impl streams::Streams for Streams {
    async fn connect(url: String) -> Result<Self> {
        let client = Client::connect_http(&url, Options::new(CLIENT.0, CLIENT.1).timeout(None)).await?;
        Ok(Self { client, received: Arc::default() })
    }

    fn open(&mut self) {
        let received = Arc::clone(&self.received);
        let call = self.client.call::<Value>("tools/call", &json!({ "name": "wait" }));
        let call = call.on_progress(move |_: Value| {
            received.fetch_add(1, Ordering::Relaxed);
        });
        tokio::spawn(call.into_future());
    }

    fn received(&self) -> usize {
        self.received.load(Ordering::Relaxed)
    }
}
