//! Builds frames of a client, and reads frames of the daemon. The reader rejects output that is not a frame.

use std::fmt::Display;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Returns a header with the length of `body`, followed by `body`.
pub(crate) fn frame(body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    frame_with_length(body.len(), body)
}

/// Returns a header with the given `length`, followed by `body`.
pub(crate) fn frame_with_length(length: impl Display, body: impl AsRef<[u8]>) -> Vec<u8> {
    with_header(&format!("Content-Length: {length}\r\n"), body)
}

/// Returns a header with the given `lines`, followed by `body`.
pub(crate) fn with_header(lines: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    [lines.as_bytes(), b"\r\n", body.as_ref()].concat()
}

/// Returns a request without params. `id` is JSON text.
pub(crate) fn request(id: impl Display, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
}

/// Returns a request with params. `id` and `params` are JSON text.
pub(crate) fn request_with(id: impl Display, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// Returns a notification with params. `params` is JSON text.
pub(crate) fn notification_with(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// Returns the text of the first frame in `output`, and the length of the frame in bytes. Returns `Ok(None)` if the
/// frame is incomplete.
///
/// Some clients accept only the header `Content-Length`, so a frame with any other header is an error.
pub(crate) fn split_frame(output: &[u8]) -> Result<Option<(String, usize)>, String> {
    const NAME: &[u8] = b"Content-Length: ";
    let error_text = || format!("not a frame: {:?}", String::from_utf8_lossy(&output[..output.len().min(200)]));
    let prefix_length = output.len().min(NAME.len());
    if output[..prefix_length] != NAME[..prefix_length] {
        return Err(error_text());
    }
    let Some(end) = output.windows(4).position(|window| window == b"\r\n\r\n") else {
        return if output.len() < 100 { Ok(None) } else { Err(error_text()) };
    };
    let digits = str::from_utf8(&output[NAME.len()..end]).map_err(|_| error_text())?;
    let length: usize = digits.parse().map_err(|_| error_text())?;
    if length.to_string() != digits {
        return Err(error_text());
    }
    match output.get(end + 4..end + 4 + length) {
        None => Ok(None),
        Some(body) => Ok(Some((String::from_utf8(body.to_vec()).map_err(|_| error_text())?, end + 4 + length))),
    }
}

/// An answer of the daemon.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The unchanged text of the answer.
    pub(crate) text: String,
    value: Value,
}

/// The error of an answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

impl Answer {
    /// Parses an answer. Asserts that the answer has only the members of the specification (JSON-RPC 2.0 §5), since
    /// Emacs refuses an answer with any other member.
    pub(crate) fn read(text: String) -> Self {
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(value["jsonrpc"], "2.0", "{text}");
        let names = |value: &Value| -> Vec<String> {
            let mut names: Vec<String> =
                value.as_object().unwrap_or_else(|| panic!("{text}")).keys().cloned().collect();
            names.sort();
            names
        };
        if value.get("error").is_some() {
            assert_eq!(names(&value), ["error", "id", "jsonrpc"], "{text}");
            let error_members = names(&value["error"]);
            assert!(error_members == ["code", "message"] || error_members == ["code", "data", "message"], "{text}");
        } else {
            assert_eq!(names(&value), ["id", "jsonrpc", "result"], "{text}");
        }
        Self { text, value }
    }

    /// Returns the unchanged JSON text of the id.
    pub(crate) fn id(&self) -> String {
        #[derive(Deserialize)]
        struct WithId<'a> {
            #[serde(borrow)]
            id: &'a RawValue,
        }
        serde_json::from_str::<WithId<'_>>(&self.text).unwrap().id.get().to_owned()
    }

    pub(crate) fn result(&self) -> &Value {
        self.value.get("result").unwrap_or_else(|| panic!("an error: {}", self.text))
    }

    pub(crate) fn failure(&self) -> Failure {
        let error = self.value.get("error").unwrap_or_else(|| panic!("no error: {}", self.text));
        Failure {
            code: error["code"].as_i64().unwrap(),
            message: error["message"].as_str().unwrap().to_owned(),
            data: error.get("data").cloned(),
        }
    }

    /// Asserts that this answer is the error for a message that is not valid JSON.
    pub(crate) fn assert_parse_error(&self) {
        let expected = Failure { code: -32700, message: "Parse error".to_owned(), data: None };
        assert_eq!(self.failure(), expected, "{}", self.text);
        assert_eq!(self.id(), "null", "{}", self.text);
    }

    /// Asserts that this answer is an error -32600 with this id, and with this reason in its data.
    pub(crate) fn assert_refusal(&self, id: &str, reason: &str) {
        let message = if reason == "batch-not-supported" { "Batch requests not supported" } else { "Invalid Request" };
        let data = Some(serde_json::json!({ "reason": reason }));
        assert_eq!(self.failure(), Failure { code: -32600, message: message.to_owned(), data }, "{}", self.text);
        assert_eq!(self.id(), id, "{}", self.text);
    }

    /// Asserts that this answer is the error for valid JSON that is not a request.
    pub(crate) fn assert_invalid_request(&self, id: &str) {
        let expected = Failure { code: -32600, message: "Invalid Request".to_owned(), data: None };
        assert_eq!(self.failure(), expected, "{}", self.text);
        assert_eq!(self.id(), id, "{}", self.text);
    }
}
