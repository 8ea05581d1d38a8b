//! The answers to the questions of the page: rows, details, links, pending calls and figures.

mod faults;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

pub use faults::{Fault, Severity};

use super::{CallState, Inspector, Item};
use crate::buffer::{Flags, Row};
use crate::classify::{Kind, code_name};
use crate::filter::Counts;
use crate::limits::{MAX_DETAIL_ITEMS, MAX_EARLIER_CALLS};
use crate::links::{self, Link, MethodFigures, MethodId, State, Traffic};
use crate::record::Direction;

/// A row, for the page.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RowView {
    /// The sequence number.
    pub seq: u64,
    /// The time in microseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The index of the link.
    pub link: u32,
    /// The direction.
    pub direction: Option<Direction>,
    /// The kind.
    pub kind: Kind,
    /// The method.
    pub method: Option<String>,
    /// The id as JSON.
    pub id: Option<String>,
    /// The size in bytes.
    pub size: Option<u64>,
    /// The number of messages in a batch or a gap.
    pub items: u32,
    /// The code of an error or of a close.
    pub code: Option<i64>,
    /// The duration of the call, in microseconds.
    pub elapsed: Option<u64>,
    /// The state of the calls.
    pub calls: CallState,
    /// Whether no call waited for this response.
    pub unmatched: bool,
    /// Whether a finding about the message, or a fault of the row, is an error.
    pub has_errors: bool,
    /// Whether a finding about the message, or a fault of the row, is a warning.
    pub has_warnings: bool,
    /// Whether the text is not the whole message.
    pub is_cut: bool,
    /// Whether the text is in the history.
    pub has_text: bool,
}

/// The detail of a row.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Detail {
    /// The row.
    #[serde(flatten)]
    pub row: RowView,
    /// The row of the response to this request, or of the request of this response.
    pub partner: Option<u64>,
    /// The messages of a batch.
    pub batch: Vec<ItemView>,
    /// The previous calls of the same method on this link, the newest first.
    pub earlier: Vec<u64>,
    /// The name of the error code.
    pub code_name: Option<String>,
    /// The faults that follow from other rows.
    pub faults: Vec<Fault>,
}

/// A message of a batch, for the page.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemView {
    /// The kind.
    pub kind: Kind,
    /// The method.
    pub method: Option<String>,
    /// The id as JSON.
    pub id: Option<String>,
    /// The code of an error.
    pub code: Option<i64>,
    /// The state of the call.
    pub calls: CallState,
    /// Whether no call waited for this response.
    pub unmatched: bool,
    /// The row of the response to this request, or of the request of this response.
    pub partner: Option<u64>,
    /// The duration of the call, in microseconds.
    pub elapsed: Option<u64>,
}

/// A link, for the page.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkView {
    /// The index.
    pub index: u32,
    /// The id in the records.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The transport.
    pub transport: Option<String>,
    /// The state.
    pub state: State,
    /// The time of the last `open` record.
    pub opened_at: Option<u64>,
    /// The time of the last `close` record.
    pub closed_at: Option<u64>,
    /// The code of the last `close` record.
    pub close_code: Option<i64>,
    /// The reason of the last `close` record.
    pub close_reason: Option<String>,
    /// The number of `open` records after the first.
    pub reconnects: u64,
    /// The sent messages.
    pub sent: Traffic,
    /// The received messages.
    pub received: Traffic,
    /// The number of rows with an error.
    pub errors: u64,
    /// The number of pending calls.
    pub pending: u64,
    /// The number of responses that no call waited for.
    pub unmatched: u64,
    /// The number of messages that the tap did not record.
    pub lost: u64,
    /// The duration of the last answered call.
    pub last_elapsed: Option<u64>,
    /// The median of the durations of answered calls.
    pub median_elapsed: Option<u64>,
    /// The time of the last record.
    pub last_at: u64,
}

/// A pending call.
#[derive(Clone, Debug, Serialize)]
pub struct PendingCall {
    /// The row.
    pub seq: u64,
    /// The index in its batch.
    pub item: Option<u32>,
    /// The index of the link.
    pub link: u32,
    /// The direction of the request.
    pub direction: Direction,
    /// The method.
    pub method: String,
    /// The id as JSON.
    pub id: String,
    /// The time of the request.
    pub at: u64,
    /// The time since the request, in microseconds.
    pub age: u64,
}

/// The figures of a method.
#[derive(Clone, Debug, Serialize)]
pub struct MethodView {
    /// The method. `None` for all methods beyond the limit.
    pub method: Option<String>,
    /// The number of calls.
    pub calls: u64,
    /// The number of notifications.
    pub notifications: u64,
    /// The number of calls that ended with an error.
    pub errors: u64,
    /// The number of pending calls.
    pub pending: u64,
    /// The number of calls that the close of a link ended.
    pub ended: u64,
    /// The median of the durations.
    pub median: Option<u64>,
    /// The 95th percentile of the durations.
    pub p95: Option<u64>,
    /// The longest duration.
    pub longest: Option<u64>,
    /// The bytes of single messages.
    pub bytes: u64,
}

/// Figures of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// The number of rows.
    pub rows: usize,
    /// The number of rows that the filter shows.
    pub shown: u32,
    /// The number of rows that arrived during a pause.
    pub waiting: u64,
    /// The bytes of the texts in the history.
    pub text_bytes: u64,
    /// The number of records that were taken in.
    pub taken: u64,
    /// The number of rows that were dropped.
    pub dropped_rows: u64,
    /// The number of texts that were dropped while their rows stayed.
    pub dropped_texts: u64,
    /// The number of messages that taps did not record.
    pub lost: u64,
    /// The number of pending calls.
    pub pending: usize,
    /// The number of responses that no call waited for.
    pub unmatched: u64,
    /// Changes whenever the list changes.
    pub revision: u64,
}

impl Inspector {
    /// Returns a row.
    #[must_use]
    pub fn row(&self, seq: u64) -> Option<RowView> {
        self.buffer.get(seq).map(|row| self.view(row))
    }

    fn view(&self, row: &Row) -> RowView {
        RowView {
            seq: row.seq,
            at: row.at,
            link: row.link,
            direction: row.direction,
            kind: row.kind,
            method: self.methods.name(row.method).map(ToOwned::to_owned),
            id: row.id.as_ref().map(links::json),
            size: row.size(),
            items: row.items,
            code: row.code(),
            elapsed: row.elapsed(),
            calls: calls(row.flags),
            unmatched: row.flags.has(Flags::UNMATCHED),
            has_errors: row.has_errors(),
            has_warnings: row.has_warnings(),
            is_cut: row.flags.has(Flags::CUT),
            has_text: row.flags.has(Flags::HAS_TEXT),
        }
    }

    /// Returns the detail of a row.
    #[must_use]
    pub fn detail(&self, seq: u64) -> Option<Detail> {
        let row = self.buffer.get(seq)?;
        let items = self.batches.get(&seq).map(|batch| batch.items.as_slice()).unwrap_or_default();
        let names = &self.options.code_names;
        Some(Detail {
            row: self.view(row),
            partner: row.partner().filter(|partner| self.buffer.get(*partner).is_some()),
            batch: items.iter().take(MAX_DETAIL_ITEMS).map(|item| self.item_view(item)).collect(),
            earlier: self.earlier(row),
            code_name: row.code().filter(|_| row.kind == Kind::Error).and_then(|code| code_name(code, names)),
            faults: self.faults(row),
        })
    }

    fn item_view(&self, item: &Item) -> ItemView {
        ItemView {
            kind: item.kind,
            method: self.methods.name(item.method).map(ToOwned::to_owned),
            id: item.id.as_ref().map(links::json),
            code: item.code,
            calls: item.calls,
            unmatched: item.is_unmatched,
            partner: item.partner,
            elapsed: item.elapsed,
        }
    }

    /// Returns the previous requests of the same method on the same link. For a response, returns the requests before
    /// the request that the response answers.
    fn earlier(&self, row: &Row) -> Vec<u64> {
        if !row.method.is_some() || !matches!(row.kind, Kind::Request | Kind::Result | Kind::Error) {
            return Vec::new();
        }
        let own = if row.kind == Kind::Request { row.seq } else { row.partner().unwrap_or(row.seq) };
        let requests = self.buffer.before(own).filter(|other| other.kind == Kind::Request);
        let same = requests.filter(|other| other.method == row.method && other.link == row.link);
        same.take(MAX_EARLIER_CALLS).map(|other| other.seq).collect()
    }

    /// Returns the counts for the tabs.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the figures of the history.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let shown = self.filter.filter().tab;
        let counts = self.counts;
        Totals {
            rows: self.buffer.len(),
            shown: match shown {
                crate::filter::Tab::All => counts.all,
                crate::filter::Tab::Sent => counts.sent,
                crate::filter::Tab::Received => counts.received,
                crate::filter::Tab::Notifications => counts.notifications,
                crate::filter::Tab::Errors => counts.errors,
            },
            waiting: self.paused_from.map_or(0, |from| self.next_seq - from),
            text_bytes: self.buffer.text_bytes(),
            taken: self.figures.taken,
            dropped_rows: self.figures.dropped_rows,
            dropped_texts: self.figures.dropped_texts,
            lost: self.figures.lost,
            pending: self.calls.len(),
            unmatched: self.figures.unmatched,
            revision: self.revision,
        }
    }

    /// Returns the rows that the filter shows, in their order.
    #[must_use]
    pub fn shown(&self) -> Vec<u64> {
        self.buffer.iter().filter(|row| row.flags.has(Flags::SHOWN)).map(|row| row.seq).collect()
    }

    /// Returns the rows whose texts are in the history, in their order.
    #[must_use]
    pub fn searchable(&self) -> Vec<u64> {
        self.buffer.iter().filter(|row| row.flags.has(Flags::HAS_TEXT)).map(|row| row.seq).collect()
    }

    /// Returns the links.
    #[must_use]
    pub fn links(&self) -> Vec<LinkView> {
        self.links.iter().zip(0..).map(|(link, index)| link_view(link, index)).collect()
    }

    /// Returns the pending calls, the oldest first: at most `count`.
    #[must_use]
    pub fn pending(&self, now: u64, count: usize) -> Vec<PendingCall> {
        let view = |(place, call): (links::CallPlace, &links::Call)| PendingCall {
            seq: place.seq,
            item: call.is_in_batch.then_some(place.item),
            link: call.link,
            direction: call.direction,
            method: self.methods.name(call.method).unwrap_or_default().to_owned(),
            id: links::json(&call.id),
            at: call.at,
            age: now.saturating_sub(call.at),
        };
        self.calls.iter().take(count).map(view).collect()
    }

    /// Returns the newest responses that no call waited for: at most `count`, the newest first.
    #[must_use]
    pub fn unmatched(&self, count: usize) -> Vec<RowView> {
        let seqs = self.reasons.keys().rev().filter_map(|seq| self.buffer.get(*seq));
        let rows = seqs.filter(|row| row.flags.has(Flags::UNMATCHED));
        rows.take(count).map(|row| self.view(row)).collect()
    }

    /// Returns the figures of each method on all links, or on one. The method with the most calls is the first.
    #[must_use]
    pub fn statistics(&self, link: Option<u32>) -> Vec<MethodView> {
        let mut merged: BTreeMap<MethodId, MethodFigures> = BTreeMap::new();
        for (on, method, figures) in self.statistics.iter() {
            if link.is_none_or(|link| link == on) {
                merged.entry(method).or_default().merge(figures);
            }
        }
        let view = |(method, figures): (MethodId, MethodFigures)| MethodView {
            method: self.methods.name(method).map(ToOwned::to_owned),
            calls: figures.calls,
            notifications: figures.notifications,
            errors: figures.errors,
            pending: figures.pending,
            ended: figures.ended,
            median: figures.durations.quantile(50),
            p95: figures.durations.quantile(95),
            longest: figures.durations.longest(),
            bytes: figures.bytes,
        };
        let mut views: Vec<MethodView> = merged.into_iter().map(view).collect();
        views.sort_by(|a, b| {
            let by_count = (b.calls, b.notifications).cmp(&(a.calls, a.notifications));
            by_count.then_with(|| a.method.cmp(&b.method))
        });
        views
    }
}

const fn calls(flags: Flags) -> CallState {
    if flags.has(Flags::PENDING) {
        CallState::Pending
    } else if flags.has(Flags::ENDED) {
        CallState::Ended
    } else if flags.has(Flags::ANSWERED) {
        CallState::Answered
    } else {
        CallState::None
    }
}

fn link_view(link: &Link, index: u32) -> LinkView {
    LinkView {
        index,
        id: link.id.clone(),
        name: link.name.clone().unwrap_or_else(|| link.id.clone()),
        transport: link.transport.clone(),
        state: link.state,
        opened_at: link.opened_at,
        closed_at: link.closed_at,
        close_code: link.close_code,
        close_reason: link.close_reason.clone(),
        reconnects: link.opens.saturating_sub(1),
        sent: link.sent,
        received: link.received,
        errors: link.errors,
        pending: link.pending,
        unmatched: link.unmatched,
        lost: link.lost,
        last_elapsed: link.last_elapsed,
        median_elapsed: link.durations.quantile(50),
        last_at: link.last_at,
    }
}
