//! A running request, and its response.

use core::task::{Context as TaskContext, Poll};
use std::sync::Arc;

use serde_json::value::RawValue;

use super::super::Shared;
use super::super::Work;
use super::super::context::{Answer, Exchange, Outlet};
use super::events::EventQueue;
use crate::codec::json;
use crate::error::{CallError, RpcError, handler_panicked};
use crate::json_value::Text;
use crate::message::{ErrorObject, Id};
use crate::native::in_flight::catch_panic;

/// A response to a request.
pub(super) struct Response {
    pub(super) text: String,
    /// `None` for a result.
    pub(super) error: Option<RpcError>,
}

impl Response {
    pub(super) fn new(id: &Id, outcome: Result<Text, RpcError>) -> Self {
        let error = outcome.as_ref().err().cloned();
        let mut text = String::new();
        json::encode_response_into(id, &outcome.map_err(ErrorObject::from), &mut text);
        Self { text, error }
    }
}

/// The handler of a request. Its drop cancels the request.
pub(super) struct Running {
    id: Id,
    work: Result<Work, Option<RpcError>>,
}

impl Running {
    pub(super) fn start(shared: &Shared, method: &str, exchange: Exchange) -> Self {
        let id = exchange.id.clone();
        let work = catch_panic(|| -> Work { Box::pin(shared.run(method, exchange)) });
        Self { id, work: work.map_err(|_| Some(handler_panicked())) }
    }

    /// Creates a request whose work has its own handler.
    pub(super) const fn new(id: Id, work: Work) -> Self {
        Self { id, work: Ok(work) }
    }

    /// Waits for the response. Must not be called after the response.
    pub(super) fn poll(&mut self, context: &mut TaskContext<'_>) -> Poll<Response> {
        let outcome = match &mut self.work {
            Err(error) => Err(error.take().unwrap_or_else(handler_panicked)),
            Ok(work) => match catch_panic(|| work.as_mut().poll(context)) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(outcome)) => outcome,
                Err(_) => Err(handler_panicked()),
            },
        };
        Poll::Ready(Response::new(&self.id, outcome))
    }
}

/// The messages of a request of the modern era. They are in the response to the request.
pub(super) struct ResponseOutlet(pub(super) Arc<EventQueue>);

impl Outlet for ResponseOutlet {
    fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), CallError> {
        push_notification(&self.0, method, params)
    }

    fn call(&self, _: &str, _: Option<Text>) -> Answer {
        Box::pin(core::future::ready(Err(RpcError::internal("a server of this era sends no requests"))))
    }
}

pub(super) fn push_notification(queue: &EventQueue, method: &str, params: Option<&RawValue>) -> Result<(), CallError> {
    let mut text = String::new();
    json::encode_notification_into(method, params, &mut text);
    if queue.push(text) { Ok(()) } else { Err(CallError::Congested) }
}
