//! Links arrays of responses with the batches that they answer.

use portway_proto::message::Id;
use serde::{Deserialize, Serialize};

/// The rule by which an array of responses answers a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BatchMatch {
    /// The array has every pending id of the batch.
    #[default]
    All,
    /// The array has at least one pending id of the batch.
    Any,
}

/// Returns whether an array of responses answers a batch. `pending` are the pending ids of the batch. `has_response`
/// returns whether the array has a response with this id. A batch without a pending id is never answered.
#[must_use]
pub fn answers<'i>(
    pending: impl IntoIterator<Item = &'i Id>,
    has_response: impl Fn(&Id) -> bool,
    rule: BatchMatch,
) -> bool {
    let mut pending = pending.into_iter().peekable();
    if pending.peek().is_none() {
        return false;
    }
    match rule {
        BatchMatch::All => pending.all(has_response),
        BatchMatch::Any => pending.any(has_response),
    }
}
