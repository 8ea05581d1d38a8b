//! The run of a handler, as a future of the result that is sent.

use core::pin::Pin;
use core::task::{Context as TaskContext, Poll};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::super::Era;
use super::Work;
use super::context::Exchange;
use crate::codec::json;
use crate::error::RpcError;
use crate::json_value::{Text, write_result};
use crate::native::mcp_dialect;

/// The methods whose results clients may store, and must name the time.
const CACHEABLE: [&str; 6] =
    ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"];

pub(super) struct Run {
    work: Work,
    exchange: Arc<Exchange>,
    is_cacheable: bool,
}

impl Run {
    pub(super) fn new(method: &str, work: Work, exchange: Arc<Exchange>) -> Self {
        Self { work, exchange, is_cacheable: CACHEABLE.contains(&method) }
    }

    /// Adds the members that a result of the modern era must have, unless the handler has set them.
    fn complete(&self, result: Text) -> Result<Text, RpcError> {
        let result = mcp_dialect::object_result(result)?;
        if self.exchange.era() == Era::Legacy {
            return Ok(result);
        }
        let [kind, time, scope] =
            json::members(result.get().as_bytes(), ["resultType", "ttlMs", "cacheScope"]).unwrap_or_default();
        let mut added = Vec::new();
        let mut add = |member: Option<&RawValue>, text| {
            if member.is_none() {
                added.push(text);
            }
        };
        add(kind, r#""resultType":"complete""#);
        let is_complete = kind.is_none_or(|kind| kind.get() == r#""complete""#);
        if self.is_cacheable && is_complete {
            add(time, r#""ttlMs":0"#);
            add(scope, r#""cacheScope":"private""#);
        }
        if added.is_empty() {
            return Ok(result);
        }
        let rest = result.get().get(1..).unwrap_or_default();
        let comma = if rest.trim_ascii_start().starts_with('}') { "" } else { "," };
        let text = format!("{{{}{comma}{rest}", added.join(","));
        RawValue::from_string(text).map_err(|problem| RpcError::internal(problem.to_string()))
    }
}

impl Future for Run {
    type Output = Result<Text, RpcError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match self.work.as_mut().poll(context) {
            Poll::Ready(outcome) => Poll::Ready(outcome.and_then(|result| self.complete(result))),
            Poll::Pending => match self.exchange.input_result(context.waker()) {
                Some(result) => Poll::Ready(result),
                None => Poll::Pending,
            },
        }
    }
}

/// The drop of the handler cancels the work that it has started elsewhere.
impl Drop for Run {
    fn drop(&mut self) {
        self.exchange.cancel_token.cancel();
    }
}

/// Returns the result `{}`.
pub(super) fn empty() -> Result<Text, RpcError> {
    write_result(Ok::<_, RpcError>(BTreeMap::<(), ()>::new()))
}
