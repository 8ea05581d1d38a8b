//! Streams of server-sent events: the response to a request, and in the legacy era the messages that the server sends
//! by itself.

use core::time::Duration;
use std::sync::Arc;

use hyper::{Method, StatusCode};
use portway_proto::mcp::http::retry_delay;
use tokio::time::{Instant, sleep};

use super::endpoint::{Endpoint, status_failure};
use super::message::{HttpFailure, Outgoing};
use super::pool::Reply;
use crate::codec::sse::{DEFAULT_NAME, Decoder, Event};
use crate::native::limits::{MAX_HTTP_RESUMES, MAX_HTTP_RETRY_DELAY};

/// A stream that lasted as long as this time counts as a stream with a message. Servers and proxies close idle streams.
const IDLE_TIME: Duration = Duration::from_secs(10);

/// The position in a stream, from which the client can continue after the stream was closed.
#[derive(Default)]
struct Position {
    last_event_id: String,
    retry: Option<Duration>,
    /// The number of streams in a row without a message.
    empty_streams: u32,
}

impl Position {
    /// Returns the time until the next request.
    fn delay(&self) -> Duration {
        retry_delay(self.retry, self.empty_streams, MAX_HTTP_RETRY_DELAY)
    }

    /// Returns whether a call no longer waits for its response.
    const fn is_exhausted(&self) -> bool {
        self.empty_streams > MAX_HTTP_RESUMES
    }
}

impl Endpoint {
    /// Reads the stream of a response. In the legacy era, continues the stream if the server closes it early. Returns
    /// the response.
    pub(super) async fn read_stream(&self, message: &Outgoing, reply: Reply) -> Result<Vec<u8>, HttpFailure> {
        let mut position = Position::default();
        let mut reply = Some(reply);
        loop {
            let read = match reply.take() {
                Some(reply) => self.read_events(Some(message), reply, &mut position).await,
                None => Ok(None),
            };
            if let Ok(Some(response)) = read {
                return Ok(response);
            }
            let can_resume = !position.last_event_id.is_empty() && message.version.is_none();
            if !can_resume || position.is_exhausted() {
                return Err(read.err().unwrap_or_else(|| HttpFailure::new("the stream ended before the response")));
            }
            sleep(position.delay()).await;
            match Box::pin(self.get(&position)).await {
                Ok(next) if is_stream(&next) => reply = Some(next),
                Ok(refused) => return Err(status_failure(&refused)),
                Err(_) => position.empty_streams += 1,
            }
        }
    }

    /// Reads the stream of the messages that the server sends by itself, until the server has no such stream or the
    /// session has ended.
    pub(super) async fn run_stream(self: Arc<Self>) {
        let session = self.session();
        let mut position = Position::default();
        while self.session().id == session.id && !self.session().has_no_stream {
            match self.get(&position).await {
                Ok(reply) if is_stream(&reply) => {
                    // After an error, the stream is requested again, too.
                    let _ = self.read_events(None, reply, &mut position).await;
                }
                Ok(reply) if reply.head.status == StatusCode::NOT_FOUND && session.id.is_some() => return,
                Ok(reply) if reply.head.status.is_server_error() => position.empty_streams += 1,
                Ok(_) => return self.end_streams(),
                Err(_) => position.empty_streams += 1,
            }
            sleep(position.delay()).await;
        }
    }

    async fn get(&self, position: &Position) -> Result<Reply, HttpFailure> {
        let mut headers = vec![("accept".to_owned(), "text/event-stream".to_owned())];
        if !position.last_event_id.is_empty() {
            headers.push(("last-event-id".into(), position.last_event_id.clone()));
        }
        self.send(Method::GET, headers, None, String::new()).await
    }

    /// Delivers the messages of a stream until its end. Returns the response to `message`, and reads nothing after it.
    async fn read_events(
        &self,
        message: Option<&Outgoing>,
        mut reply: Reply,
        position: &mut Position,
    ) -> Result<Option<Vec<u8>>, HttpFailure> {
        reply.release_headers();
        let limits = self.limits();
        let mut decoder = Decoder::new(&limits);
        position.empty_streams += 1;
        let start = Instant::now();
        while let Some(chunk) = reply.chunk().await? {
            let mut input = &*chunk;
            let mut texts = Vec::new();
            while let Some(event) = decoder.next(&mut input) {
                match event {
                    Event::Message { name: DEFAULT_NAME, data } if !data.is_empty() => texts.push(data.to_vec()),
                    Event::Message { .. } => {}
                    Event::TooLarge { .. } => {
                        let max_bytes = limits.message_bytes;
                        return Err(HttpFailure::new(format!("an event must have at most {max_bytes} bytes")));
                    }
                }
            }
            if !decoder.last_event_id().is_empty() {
                decoder.last_event_id().clone_into(&mut position.last_event_id);
            }
            position.retry = decoder.retry_ms().map(Duration::from_millis).or(position.retry);
            for text in texts {
                position.empty_streams = 0;
                match message.map(|message| message.response(&text)) {
                    Some(Ok(Some(response))) => return Ok(Some(response)),
                    // The response to another request does not belong to this stream.
                    Some(Err(_)) => {}
                    Some(Ok(None)) | None => self.deliver(text).await,
                }
            }
        }
        if start.elapsed() >= IDLE_TIME {
            position.empty_streams = 0;
        }
        Ok(None)
    }
}

fn is_stream(reply: &Reply) -> bool {
    reply.head.status == StatusCode::OK && reply.is_of_type("text/event-stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_fails_after_five_streams_without_a_message() {
        let is_exhausted = |empty_streams| Position { empty_streams, ..Position::default() }.is_exhausted();
        assert!(!is_exhausted(5) && is_exhausted(6));
    }
}
