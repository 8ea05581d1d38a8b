//! An outgoing message, with the members that its HTTP request repeats, and the responses that HTTP failures become.

use serde_json::json;
use serde_json::value::RawValue;

use super::super::error::failure_mark;
use crate::codec::json;
use crate::json_value::Text;
use crate::message::{Id, ObjectPayload, RequestId};

pub(super) struct Outgoing {
    pub(super) text: String,
    pub(super) method: String,
    /// The id of a request.
    pub(super) id: Option<u64>,
    /// The version of MCP in `_meta`. Only messages of the modern era have it.
    pub(super) version: Option<String>,
    params: Option<Text>,
}

impl Outgoing {
    pub(super) fn read(text: &str) -> Self {
        let [method, id, params] = json::members(text.as_bytes(), ["method", "id", "params"]).unwrap_or_default();
        let method = method.and_then(text_of).unwrap_or_default();
        // A response has the id of the server's request.
        let id = id.and_then(Text::read_id).and_then(|id| id.to_call()).filter(|_| !method.is_empty());
        let meta = params.and_then(|params| member(params, "_meta"));
        let version = meta.and_then(|meta| member(meta, "io.modelcontextprotocol/protocolVersion")).and_then(text_of);
        Self { text: text.into(), method, id, version, params: params.map(ToOwned::to_owned) }
    }

    /// Returns a member of the params.
    pub(super) fn param(&self, name: &str) -> Option<&RawValue> {
        member(self.params.as_ref()?, name)
    }

    /// Returns the text of a member of the params.
    pub(super) fn text_param(&self, name: &str) -> Option<String> {
        self.param(name).and_then(text_of)
    }

    /// Returns the text of a response to this request. Returns `None` for any other message. An error without an id, or
    /// with the id null, gets the id of this request, because the HTTP response belongs to the request.
    pub(super) fn response(&self, text: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let Some([method, id, error]) = json::members(text, ["method", "id", "error"]) else { return Ok(None) };
        if method.is_some() {
            return Ok(None);
        }
        let id = id.and_then(Text::read_id).unwrap_or(Id::Null);
        if id.to_call().is_some() && id.to_call() == self.id {
            return Ok(Some(text.to_vec()));
        }
        match error.filter(|_| id == Id::Null) {
            Some(error) => {
                Ok(Some(json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string().into_bytes()))
            }
            None => Err(format!("the response must have the id {}, got {id}", self.id.unwrap_or_default())),
        }
    }
}

/// The reason why HTTP has not delivered a response.
#[derive(Debug)]
pub(super) struct HttpFailure {
    pub(super) status: Option<u16>,
    pub(super) challenge: Option<String>,
    pub(super) problem: String,
}

impl HttpFailure {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self { status: None, challenge: None, problem: problem.into() }
    }

    /// Returns the response to the request with this id.
    pub(super) fn response(&self, id: u64) -> Vec<u8> {
        let Self { status, challenge, problem } = self;
        let data = json!({ "mark": failure_mark(), "status": status, "challenge": challenge });
        let error = json!({ "code": -32603, "message": problem, "data": data });
        json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_bytes()
    }
}

impl From<std::io::Error> for HttpFailure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}

fn member<'t>(object: &'t RawValue, name: &str) -> Option<&'t RawValue> {
    let [member] = json::members(object.get().as_bytes(), [name])?;
    member
}

fn text_of(value: &RawValue) -> Option<String> {
    Text::read_text(value).map(Into::into)
}
