//! The questions of a handler in the modern era. A server of this era sends no requests. It returns its questions as a
//! result `input_required`, and the client sends its request again, with the answers.

use std::collections::BTreeMap;
use std::task::Waker;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::member;
use super::state::{StateSigner, unknown_state};
use crate::error::{RpcError, invalid_params};
use crate::json_value::{Text, write_result};

#[derive(Default)]
pub(super) struct Input {
    /// The answers of the client, by key. `None` until the first question.
    answers: Option<BTreeMap<String, Text>>,
    /// The questions without an answer, by key.
    questions: BTreeMap<String, Question>,
    /// Wakes the future of the handler, which may not be the future that asks.
    waker: Option<Waker>,
}

#[derive(Serialize)]
struct Question {
    method: String,
    /// The schema of MCP requires the params of most questions.
    params: Text,
}

/// The result with the questions of a handler.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired<'i> {
    result_type: &'static str,
    input_requests: &'i BTreeMap<String, Question>,
    /// The earlier answers as JSON, with their signature before them.
    request_state: String,
}

impl Input {
    /// Returns the answer to a question. If there is none, adds the question to the result.
    pub(super) fn answer(
        &mut self,
        request: Option<&RawValue>,
        signer: Option<&StateSigner>,
        key: &str,
        method: &str,
        params: Option<Text>,
    ) -> Result<Option<Text>, RpcError> {
        let answers = match &mut self.answers {
            Some(answers) => answers,
            None => self.answers.insert(read_answers(request, signer)?),
        };
        if let Some(answer) = answers.get(key) {
            return Ok(Some(answer.clone()));
        }
        let params = params.unwrap_or_else(|| RawValue::NULL.to_owned());
        let params = if params.get() == "null" { empty_object()? } else { params };
        self.questions.insert(key.into(), Question { method: method.into(), params });
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        Ok(None)
    }

    /// Returns the result with the questions, or registers the waker if no question was asked. `sign` returns the
    /// `requestState` for the earlier answers.
    pub(super) fn result(
        &mut self,
        waker: &Waker,
        sign: impl FnOnce(&str) -> Result<String, RpcError>,
    ) -> Option<Result<Text, RpcError>> {
        if self.questions.is_empty() {
            self.waker = Some(waker.clone());
            return None;
        }
        let answers = self.answers.take().unwrap_or_default();
        let request_state = sign(&serde_json::to_string(&answers).unwrap_or_default());
        let input_requests = &self.questions;
        Some(write_result(request_state.map(|request_state| InputRequired {
            result_type: "input_required",
            input_requests,
            request_state,
        })))
    }
}

fn empty_object() -> Result<Text, RpcError> {
    write_result(Ok::<_, RpcError>(BTreeMap::<(), ()>::new()))
}

/// Returns the answers in the params of a request: the answers in the state, and the new answers.
fn read_answers(request: Option<&RawValue>, signer: Option<&StateSigner>) -> Result<BTreeMap<String, Text>, RpcError> {
    let state: Option<Text> = request.and_then(|request| member(request, "requestState"));
    let mut answers = match state {
        Some(state) => {
            let signed: String = serde_json::from_str(state.get()).map_err(|_| unknown_state())?;
            let state = signer.map_or(Ok(&*signed), |signer| signer.verify(request, &signed))?;
            serde_json::from_str::<BTreeMap<String, Text>>(state).map_err(|_| unknown_state())?
        }
        None => BTreeMap::new(),
    };
    let new: Option<Text> = request.and_then(|request| member(request, "inputResponses"));
    if let Some(new) = new.filter(|new| new.get() != "null") {
        let new: BTreeMap<String, Text> =
            serde_json::from_str(new.get()).map_err(|_| invalid_params("inputResponses must be an object"))?;
        answers.extend(new);
    }
    if let Some((key, _)) = answers.iter().find(|(_, answer)| !answer.get().starts_with('{')) {
        return Err(invalid_params(format!("the response to the question {key:?} must be an object")));
    }
    Ok(answers)
}
