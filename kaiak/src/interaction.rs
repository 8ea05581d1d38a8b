//! Questions to the client. Each question ends once: by an answer, by its timeout, or with its run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portway::Client;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::client;
use crate::fault::{Code, Fault, echo};
use crate::protocol::InteractionResponse;
use crate::time;

const PREFIX: &str = "interaction-";

/// All questions of the server.
#[derive(Debug, Default)]
pub(crate) struct Interactions(Mutex<Questions>);

#[derive(Debug, Default)]
struct Questions {
    /// The number of the last question.
    last: u64,
    open: HashMap<u64, OpenQuestion>,
}

#[derive(Debug)]
struct OpenQuestion {
    session_id: String,
    client: Client,
    options: &'static [&'static str],
    answer: oneshot::Sender<String>,
}

/// A question that waits for its answer. A drop ends the question: later answers fail with -32010.
#[derive(Debug)]
pub(crate) struct Question {
    number: u64,
    /// Receives the chosen option, or an error if the client has left before an answer.
    pub(crate) answer: oneshot::Receiver<String>,
    interactions: Arc<Interactions>,
}

impl Question {
    pub(crate) fn id(&self) -> String {
        format!("{PREFIX}{}", self.number)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.interactions.lock().open.remove(&self.number);
    }
}

impl Interactions {
    /// Opens a question to `client`.
    pub(crate) fn open(
        self: &Arc<Self>,
        session_id: &str,
        client: &Client,
        options: &'static [&'static str],
    ) -> Question {
        let (sender, answer) = oneshot::channel();
        let mut questions = self.lock();
        questions.last += 1;
        let number = questions.last;
        let (session_id, client) = (session_id.to_owned(), client.clone());
        questions.open.insert(number, OpenQuestion { session_id, client, options, answer: sender });
        Question { number, answer, interactions: Arc::clone(self) }
    }

    /// Answers a question.
    ///
    /// # Errors
    /// -32009 for an unknown question, -32010 for a question that has ended or whose client has left, and -32011 for an
    /// invalid answer. After -32011, the question still waits.
    pub(crate) fn respond(&self, response: &InteractionResponse<'_>) -> Result<Value, Fault> {
        let interaction_id = response.interaction_id;
        let data = || json!({ "interaction_id": echo(interaction_id) });
        let unknown = || Fault::new(Code::InteractionNotFound, data());
        let number = number(interaction_id).ok_or_else(unknown)?;
        let mut questions = self.lock();
        if number > questions.last {
            return Err(unknown());
        }
        let Some(question) = questions.open.get(&number) else {
            return Err(Fault::new(Code::InteractionAlreadyResponded, data()));
        };
        if response.session_id.is_some_and(|id| !id.eq_ignore_ascii_case(&question.session_id)) {
            return Err(unknown());
        }
        let option = response.option(question.options)?;
        let question = questions.open.remove(&number).ok_or_else(unknown)?;
        drop(questions);
        // After its client has left, a run continues for the grace of the link. During this time, the run must not
        // apply the answer of another client.
        if client::has_left(&question.client) {
            return Err(Fault::new(Code::InteractionAlreadyResponded, data()));
        }
        // If the run has just ended, its question ended before this answer.
        if question.answer.send(option.to_owned()).is_err() {
            return Err(Fault::new(Code::InteractionAlreadyResponded, data()));
        }
        Ok(json!({ "interaction_id": interaction_id, "status": "processed", "responded_at": time::now() }))
    }

    fn lock(&self) -> MutexGuard<'_, Questions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the number in the id of a question.
fn number(id: &str) -> Option<u64> {
    let digits = id.strip_prefix(PREFIX)?;
    // `parse` would accept a sign and leading zeros.
    let is_canonical = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    is_canonical.then(|| digits.parse().ok()).flatten()
}
