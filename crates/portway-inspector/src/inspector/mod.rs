//! The inspector: takes records in, and answers the questions of the page about them.

mod layout;
mod linking;
mod options;
mod report;
mod view;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use portway_proto::message::Id;

pub use layout::{Anchor, Content, Layout, ListRow};
pub use options::{Options, OptionsPatch, OptionsView};
pub use report::{Detail, Fault, ItemView, LinkView, MethodView, PendingCall, RowView, Severity, Totals};

use crate::buffer::{Buffer, Flags, Row};
use crate::classify::{self, Classified, Kind};
use crate::filter::{Counts, Filter, PreparedFilter};
use crate::links::{self, Calls, Links, MethodId, Methods, Statistics};
use crate::record::{Record, RecordKind};
use crate::rows::{self, List};
use crate::text;

/// The state of the calls in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallState {
    /// The row contains no call.
    #[default]
    None,
    /// A call has no response yet.
    Pending,
    /// All calls have a response.
    Answered,
    /// The link closed before all calls had a response.
    Ended,
}

/// A message of a batch.
#[derive(Clone, Debug)]
struct Item {
    kind: Kind,
    method: MethodId,
    id: Option<Id>,
    code: Option<i64>,
    calls: CallState,
    is_unmatched: bool,
    partner: Option<u64>,
    elapsed: Option<u64>,
}

/// The messages of a batch, and the number of its pending calls.
#[derive(Debug, Default)]
struct Batch {
    /// Empty if the text has left the history.
    items: Vec<Item>,
    pending: u32,
    has_ended: bool,
}

/// Why a row has a flag such as `UNMATCHED`. `faults` converts the reason to a sentence for the page.
#[derive(Clone, Debug)]
enum Reason {
    /// Another call with the same id was pending.
    RepeatedId { other: u64 },
    /// The link closed before the response. `close` is the row of the `close` record, or of the next `open` record.
    Ended { close: u64 },
    /// The response has the id null.
    NullId,
    /// The response has no id.
    NoId,
    /// The call with this id already has a response.
    SecondResponse { first: u64 },
    /// A pending call has an id with the same text, but of another type.
    OtherType { call: u64, id: Id },
    /// No call had this id, and exactly one call was pending.
    OnlyPending { call: u64, id: Id },
    /// The request may be missing, because the recording is incomplete.
    IncompleteRecording { lost: u64 },
    /// No call had this id.
    Unknown,
    /// An array of responses answers only a part of its batch. `more` is the number of missing ids beyond those in
    /// `missing`.
    IncompleteBatch { batch: u64, missing: Vec<Id>, more: usize },
}

/// Rows and texts that left the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// The sequence numbers of the rows.
    pub rows: Vec<u64>,
    /// The sequence numbers of the rows whose texts were dropped.
    pub texts: Vec<u64>,
}

/// The inspector.
#[derive(Debug, Default)]
pub struct Inspector {
    options: Options,
    buffer: Buffer,
    list: List,
    filter: PreparedFilter,
    counts: Counts,
    links: Links,
    calls: Calls,
    methods: Methods,
    statistics: Statistics,
    batches: BTreeMap<u64, Batch>,
    reasons: BTreeMap<u64, Reason>,
    dropped: Dropped,
    next_seq: u64,
    /// The time of the first record.
    first_at: Option<u64>,
    /// The latest time of all records.
    latest_at: u64,
    /// The first row that is not shown because of a pause.
    paused_from: Option<u64>,
    /// Whether a row that now passes the filter is not in the list yet.
    has_missing_rows: bool,
    figures: Figures,
    revision: u64,
}

/// Counters since the last `clear`.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    taken: u64,
    dropped_rows: u64,
    dropped_texts: u64,
    lost: u64,
    unmatched: u64,
}

impl Inspector {
    /// Creates an inspector.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let mut inspector = Self::default();
        inspector.set_options(options);
        inspector
    }

    /// Returns the sequence number of the next record.
    #[must_use]
    pub const fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Takes a record in. The record gets the next sequence number, and if it is valid, also a row.
    ///
    /// # Errors
    ///
    /// Returns the reason why the record has no row.
    pub fn take(&mut self, record: &Record<'_>) -> Result<text::Length, &'static str> {
        let result = self.take_one_of_many(record);
        self.add_missing_rows();
        result
    }

    /// Takes one of many records in, like [`take`](Self::take). After the last of them, call
    /// [`add_missing_rows`](Self::add_missing_rows). Until then, the list may lack earlier rows that pass the filter
    /// only because of these records. Adding such rows takes time in proportion to the size of the history, so it is
    /// done once for all records.
    ///
    /// # Errors
    ///
    /// Returns the reason why the record has no row.
    pub fn take_one_of_many(&mut self, record: &Record<'_>) -> Result<text::Length, &'static str> {
        let seq = self.next_seq;
        self.next_seq += 1;
        if let Some(fault) = record.fault() {
            return Err(fault);
        }
        let link = self.links.index(record.link).ok_or("there must be at most 10 000 links")?;
        self.figures.taken += 1;
        self.latest_at = self.latest_at.max(record.at);
        let first_at = *self.first_at.get_or_insert(record.at);
        if matches!(record.kind, RecordKind::Open | RecordKind::Close) {
            self.end_calls(link, seq);
        }
        self.links.update(link, |link| link.note(record, seq));

        let mut row = Row::new(seq, record.at, link, Kind::Invalid);
        row.bucket = rows::bucket_index(self.latest_at.saturating_sub(first_at));
        row.direction = record.direction;
        row.text_bytes = u32::try_from(record.text_bytes).unwrap_or(u32::MAX);
        row.flags.set(Flags::HAS_TEXT, row.text_bytes > 0);
        row.flags.set(Flags::CUT, record.omitted > 0);
        row.flags.set(Flags::MATCHES_TEXT, record.matches_text);
        row.set_size(record.size);
        let length = self.classify(record, &mut row);
        self.note_row(&row);
        self.push(row);
        Ok(length)
    }

    /// Sets the kind of a row, and links its messages.
    fn classify(&mut self, record: &Record<'_>, row: &mut Row) -> text::Length {
        match record.kind {
            RecordKind::Open => row.kind = Kind::Open,
            RecordKind::Close => {
                row.kind = Kind::Close;
                row.set_code(record.code);
            }
            RecordKind::Gap => {
                row.kind = Kind::Gap;
                row.items = u32::try_from(record.messages).unwrap_or(u32::MAX);
                row.set_size(record.bytes);
                self.figures.lost = self.figures.lost.saturating_add(record.messages);
            }
            RecordKind::Invalid => {
                let length = record.text.map(text::length).unwrap_or_default();
                row.length = u32::try_from(length.units).unwrap_or(u32::MAX);
                return length;
            }
            RecordKind::Message => {
                let classified = classify::classify(record.text.unwrap_or_default(), record.omitted > 0);
                let length = classified.length;
                row.kind = classified.kind;
                row.findings = classified.findings;
                row.length = u32::try_from(length.units).unwrap_or(u32::MAX);
                self.link_messages(row, classified);
                return length;
            }
        }
        text::Length::default()
    }

    fn link_messages(&mut self, row: &mut Row, classified: Classified) {
        if classified.kind == Kind::Batch {
            row.items = u32::try_from(classified.messages.len()).unwrap_or(u32::MAX);
            let all_are = |kind| classified.messages.iter().all(|message| message.kind == kind);
            row.flags.set(Flags::ONLY_NOTIFICATIONS, all_are(Kind::Notification));
            let has_error = classified.messages.iter().any(|message| message.kind == Kind::Error);
            row.flags.set(Flags::BATCH_ERROR, has_error);
            self.link_batch(row, classified.messages);
        } else if let Some(message) = classified.messages.into_iter().next() {
            row.set_code(message.code);
            row.id = message.id.clone().map(links::bounded);
            self.link_single(row, message);
        }
    }

    /// Counts a new row for its link.
    fn note_row(&mut self, row: &Row) {
        let is_error = row.kind == Kind::Error || row.flags.has(Flags::BATCH_ERROR) || row.has_errors();
        let is_message = !matches!(row.kind, Kind::Open | Kind::Close | Kind::Gap);
        let bytes = row.size().unwrap_or_else(|| u64::from(row.text_bytes));
        self.links.update(row.link, |link| {
            link.errors += u64::from(is_error);
            if let Some(direction) = row.direction.filter(|_| is_message) {
                let traffic = link.traffic_mut(direction);
                traffic.messages += 1;
                traffic.bytes = traffic.bytes.saturating_add(bytes);
            }
        });
    }

    fn push(&mut self, mut row: Row) {
        self.show(&mut row);
        self.buffer.push(row);
        self.trim();
        self.revision += 1;
    }

    /// Drops the rows and texts beyond the limits.
    fn trim(&mut self) {
        let mut rows = Vec::new();
        let mut texts = Vec::new();
        self.buffer.trim(|row| rows.push(row), |seq| texts.push(seq));
        self.figures.dropped_rows += rows.len() as u64;
        self.figures.dropped_texts += texts.len() as u64;
        for row in rows {
            self.forget(&row);
            self.dropped.rows.push(row.seq);
        }
        for seq in texts {
            if let Some(batch) = self.batches.get_mut(&seq) {
                for item in core::mem::take(&mut batch.items) {
                    self.methods.release(item.method);
                }
                // A filter for an id does not find the ids of the messages anymore.
                self.reconsider(seq);
            }
            self.dropped.texts.push(seq);
        }
    }

    /// Removes everything about a row that has left the history.
    fn forget(&mut self, row: &Row) {
        self.hide(row);
        self.methods.release(row.method);
        self.reasons.remove(&row.seq);
        for item in self.batches.remove(&row.seq).map(|batch| batch.items).unwrap_or_default() {
            self.methods.release(item.method);
        }
        if row.is_pending() {
            for call in self.calls.forget_row(row.seq) {
                self.release_call(&call);
            }
        }
    }

    /// Returns the rows and texts that have left the history since the last call of this method. Both lists ascend.
    pub fn take_dropped(&mut self) -> Dropped {
        let mut dropped = core::mem::take(&mut self.dropped);
        dropped.rows.sort_unstable();
        dropped.texts.retain(|seq| dropped.rows.binary_search(seq).is_err());
        dropped.texts.sort_unstable();
        dropped
    }

    /// Removes all rows, pending calls and figures. The links stay. Sequence numbers continue.
    pub fn clear(&mut self) {
        let rows: Vec<u64> = self.buffer.iter().map(|row| row.seq).collect();
        self.dropped.rows.extend(rows);
        self.buffer.clear();
        self.list.clear();
        self.counts = Counts::default();
        self.calls.clear();
        self.batches.clear();
        self.reasons.clear();
        self.statistics.clear(&mut self.methods);
        self.methods = Methods::default();
        self.links.clear_figures();
        self.figures = Figures::default();
        self.first_at = None;
        self.latest_at = 0;
        self.paused_from = self.paused_from.map(|_| self.next_seq);
        self.revision += 1;
    }

    /// Returns the options.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Sets the options. A reduced limit drops rows and texts at once. A value out of range becomes the nearest valid
    /// value.
    pub fn set_options(&mut self, options: Options) {
        let heights = self.options.heights;
        self.options = options.within_range();
        self.buffer.set_options(self.options.buffer);
        self.options.buffer = self.buffer.options();
        self.trim();
        if heights != self.options.heights {
            self.rebuild();
        }
    }

    /// Sets the filter.
    pub fn set_filter(&mut self, filter: Filter) {
        self.filter = PreparedFilter::new(filter);
        self.rebuild();
    }

    /// Returns the filter.
    #[must_use]
    pub const fn filter(&self) -> &Filter {
        self.filter.filter()
    }

    /// Replaces the text matches of all rows.
    pub fn set_text_matches(&mut self, seqs: &[u64]) {
        let mut seqs = seqs.to_vec();
        seqs.sort_unstable();
        // The buffer visits two groups of rows. Within a group, the numbers ascend, so each search begins at the last
        // position.
        let (mut at, mut last) = (0, 0);
        self.buffer.for_each_mut(|row| {
            if row.seq < last {
                at = 0;
            }
            last = row.seq;
            while seqs.get(at).is_some_and(|seq| *seq < last) {
                at += 1;
            }
            row.flags.set(Flags::MATCHES_TEXT, seqs.get(at) == Some(&last));
        });
        self.rebuild();
    }
}
