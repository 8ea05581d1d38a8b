//! The faults of peers that follow from several rows, as sentences.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::buffer::Row;
use crate::classify::Kind;
use crate::inspector::{Inspector, Reason};
use crate::links;

/// The severity of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A peer, or a link, has failed.
    Error,
    /// A peer may have made a mistake, or the recording may be incomplete.
    Warning,
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The severity.
    pub severity: Severity,
    /// The text.
    pub text: String,
    /// The row that the text refers to.
    pub seq: Option<u64>,
}

impl Inspector {
    pub(super) fn faults(&self, row: &Row) -> Vec<Fault> {
        let mut faults = Vec::new();
        if row.kind == Kind::Gap {
            let text = match row.items {
                1 => "The tap did not record 1 message.".to_owned(),
                count => format!("The tap did not record {count} messages."),
            };
            faults.push(Fault { severity: Severity::Warning, text, seq: None });
        }
        faults.extend(self.reasons.get(&row.seq).map(fault));
        faults
    }
}

fn fault(reason: &Reason) -> Fault {
    let (severity, text, seq) = match reason {
        Reason::RepeatedId { other } => {
            (Severity::Warning, "Another call with this id was pending.".to_owned(), Some(*other))
        }
        Reason::Ended { close } => {
            (Severity::Error, "The connection ended before a response arrived.".to_owned(), Some(*close))
        }
        Reason::NullId => (
            Severity::Error,
            "The id is null, so the response belongs to no call. The peer could not read a message.".to_owned(),
            None,
        ),
        Reason::NoId => (Severity::Error, "The response has no id, so it belongs to no call.".to_owned(), None),
        Reason::SecondResponse { first } => {
            (Severity::Error, "The call with this id already has a response.".to_owned(), Some(*first))
        }
        Reason::OtherType { call, id } => (
            Severity::Error,
            format!("No call with this id was pending. A call has the id {}, of another type.", links::json(id)),
            Some(*call),
        ),
        Reason::OnlyPending { call, id } => (
            Severity::Error,
            format!("No call with this id was pending. The only pending call has the id {}.", links::json(id)),
            Some(*call),
        ),
        Reason::IncompleteRecording { lost: 0 } => (
            Severity::Warning,
            "No recorded call has this id. The call may be older than the recording.".to_owned(),
            None,
        ),
        Reason::IncompleteRecording { lost } => {
            (Severity::Warning, format!("No recorded call has this id. {lost} messages were not recorded."), None)
        }
        Reason::Unknown => (
            Severity::Error,
            "No call with this id was pending. The peer may have answered a notification.".to_owned(),
            None,
        ),
        Reason::IncompleteBatch { batch, missing, more } => {
            let mut ids: Vec<String> = missing.iter().map(links::json).collect();
            if *more > 0 {
                ids.push(format!("{more} more"));
            }
            (
                Severity::Error,
                format!("The array lacks responses to ids of the batch: {}.", ids.join(", ")),
                Some(*batch),
            )
        }
    };
    Fault { severity, text, seq }
}
