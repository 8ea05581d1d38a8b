//! Fuzzes the history: records, options and filters in any order.

use std::collections::BTreeMap;

use portway_inspector::buffer;
use portway_inspector::classify::Kind;
use portway_inspector::filter::{Filter, Tab};
use portway_inspector::inspector::{CallState, Content, Inspector, Options};
use portway_inspector::links::BatchMatch;
use portway_inspector::record::{Direction, MAX_TIME, Record, RecordKind};

use super::operation::{Operation, operations};

/// The viewport of layouts, in pixels.
const VIEWPORT: f64 = 300.0;

/// The row of a record, as the page knows it.
struct Known {
    text_bytes: u64,
    has_text: bool,
}

/// An inspector with everything that the page knows about it.
struct Page {
    inspector: Inspector,
    options: Options,
    filter: Filter,
    matches: Vec<u64>,
    rows: BTreeMap<u64, Known>,
    link: String,
    now: u64,
    /// Whether records are taken by [`Inspector::take_one_of_many`]. In this case, the list may lack rows until
    /// [`Inspector::add_missing_rows`] is called.
    takes_many: bool,
}

/// Runs the operations of the input. After each operation, all reports of the inspector must agree with each other.
pub fn take(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let options = Options {
        buffer: buffer::Options { limit: 12, text_bytes: 400, ..buffer::Options::default() },
        ..Options::default()
    };
    let mut page = Page {
        inspector: Inspector::new(options.clone()),
        options,
        filter: Filter::default(),
        matches: Vec::new(),
        rows: BTreeMap::new(),
        link: "a".into(),
        now: 1_000_000,
        takes_many: false,
    };
    for operation in operations(text) {
        page.run(&operation);
        page.drop_rows();
        page.check();
    }
    page.set_takes_many(false);
    page.check();
}

impl Page {
    fn run(&mut self, operation: &Operation<'_>) {
        match *operation {
            Operation::Message { direction, text, is_cut } => {
                let link = self.link.clone();
                let record = Record::message(self.now, &link, direction, text);
                self.take(&Record { omitted: u64::from(is_cut), ..record });
            }
            Operation::Record { kind, argument } => {
                let link = self.link.clone();
                let number = argument.parse::<u64>();
                let is_of_connection = matches!(kind, RecordKind::Open | RecordKind::Close);
                self.take(&Record {
                    direction: (!is_of_connection).then_some(Direction::Received),
                    name: (kind == RecordKind::Open).then_some(argument),
                    text: (kind == RecordKind::Invalid).then_some(argument),
                    text_bytes: if kind == RecordKind::Invalid { argument.len() } else { 0 },
                    messages: number.clone().unwrap_or_default().min(MAX_TIME),
                    bytes: number.clone().ok(),
                    code: number.ok().and_then(|code| i64::try_from(code).ok()),
                    ..Record::new(kind, self.now, &link)
                });
            }
            Operation::Many { is_on } => self.set_takes_many(is_on),
            Operation::Link(id) => self.link = id.into(),
            Operation::Time { by, is_back } => {
                self.now = if is_back { self.now.saturating_sub(by) } else { self.now.saturating_add(by) };
            }
            Operation::Limit { name, value } => {
                let limit = usize::try_from(value).unwrap_or(usize::MAX);
                match name {
                    'l' => self.options.buffer.limit = limit,
                    'b' => self.options.buffer.text_bytes = value,
                    _ => self.options.buffer.drop_chunk_size = limit,
                }
                self.inspector.set_options(self.options.clone());
            }
            Operation::Flag { name, is_on } => {
                match name {
                    'p' => self.options.buffer.prefer_pending = is_on,
                    'q' => self.options.buffer.prefer_batches = is_on,
                    _ => self.options.batch_match = if is_on { BatchMatch::Any } else { BatchMatch::All },
                }
                self.inspector.set_options(self.options.clone());
            }
            Operation::Filter { name, value } => {
                let number = value.parse::<usize>().unwrap_or_default();
                match name {
                    'm' => self.filter.method = value.into(),
                    'i' => self.filter.id = value.into(),
                    't' => self.filter.tab = Tab::ALL[number % Tab::ALL.len()],
                    'e' => self.filter.errors_only = number > 0,
                    'v' => self.filter.invalid_only = number > 0,
                    _ => self.filter.pending_only = number > 0,
                }
                self.inspector.set_filter(self.filter.clone());
            }
            Operation::Matches(seq) => {
                self.filter.text = true;
                self.matches.push(seq);
                self.inspector.set_text_matches(&self.matches);
                self.inspector.set_filter(self.filter.clone());
            }
            Operation::Height(seq) => self.inspector.set_height(seq, seq as f64 * 7.0),
            Operation::Pause => self.inspector.pause(),
            Operation::Resume => self.inspector.resume(),
            Operation::Clear => self.inspector.clear(),
            Operation::ForgetHeights => self.inspector.forget_heights(),
        }
    }

    fn take(&mut self, record: &Record<'_>) {
        let seq = self.inspector.next_seq();
        let is_valid = record.fault().is_none();
        let result =
            if self.takes_many { self.inspector.take_one_of_many(record) } else { self.inspector.take(record) };
        assert_eq!(result.is_ok(), is_valid);
        assert_eq!(self.inspector.next_seq(), seq + 1);
        if is_valid {
            let text_bytes = record.text_bytes as u64;
            self.rows.insert(seq, Known { text_bytes, has_text: text_bytes > 0 });
        }
    }

    fn set_takes_many(&mut self, takes_many: bool) {
        self.takes_many = takes_many;
        if !takes_many {
            self.inspector.add_missing_rows();
        }
    }

    /// Removes the rows and texts that the inspector has dropped. Each is reported once.
    fn drop_rows(&mut self) {
        let dropped = self.inspector.take_dropped();
        for seq in &dropped.texts {
            let row = self.rows.get_mut(seq).expect("a dropped text must belong to a row");
            assert!(std::mem::take(&mut row.has_text), "a text is dropped twice");
        }
        for seq in &dropped.rows {
            assert!(self.rows.remove(seq).is_some(), "a row is dropped twice");
        }
    }

    fn check(&mut self) {
        let inspector = &self.inspector;
        let totals = inspector.totals();
        let options = inspector.options().buffer;
        let with_text: Vec<u64> = self.rows.iter().filter(|(_, row)| row.has_text).map(|(seq, _)| *seq).collect();
        assert_eq!(inspector.searchable(), with_text);
        let bytes = with_text.iter().map(|seq| self.rows[seq].text_bytes).sum::<u64>();
        assert_eq!((totals.rows, totals.text_bytes), (self.rows.len(), bytes));
        assert!(totals.rows <= options.limit && totals.text_bytes <= options.text_bytes);
        for seq in 0..inspector.next_seq() + 2 {
            let row = inspector.row(seq);
            assert_eq!(row.is_some(), self.rows.contains_key(&seq));
            let Some(detail) = inspector.detail(seq) else { continue };
            assert!(row.is_some_and(|row| row.kind == detail.row.kind));
            assert!(detail.earlier.iter().all(|earlier| *earlier < seq));
            for fault in &detail.faults {
                assert!(!fault.text.is_empty());
            }
        }
        self.check_calls();
        self.check_list();
        if !self.takes_many {
            self.check_rebuild();
        }
    }

    /// Checks the pending calls, and the figures that count them.
    fn check_calls(&self) {
        let inspector = &self.inspector;
        let pending = inspector.pending(self.now, usize::MAX);
        assert_eq!(pending.len(), inspector.totals().pending);
        let of_links: u64 = inspector.links().iter().map(|link| link.pending).sum();
        let of_methods: u64 = inspector.statistics(None).iter().map(|method| method.pending).sum();
        assert_eq!((of_links, of_methods), (pending.len() as u64, pending.len() as u64));
        for call in &pending {
            if let Some(row) = inspector.row(call.seq) {
                assert_eq!((row.calls, row.link), (CallState::Pending, call.link));
            }
        }
        for seq in self.rows.keys() {
            let row = inspector.row(*seq).expect("the row must be in the history");
            let is_pending = pending.iter().any(|call| call.seq == *seq);
            assert_eq!(row.calls == CallState::Pending, is_pending, "row {seq}");
            self.check_partner(*seq);
        }
        let links = inspector.links().len() as u32;
        for link in 0..links {
            let _ = inspector.statistics(Some(link));
        }
        let _ = inspector.unmatched(usize::MAX);
    }

    /// Checks that a request and its response refer to each other. A single response to a message of a batch refers to
    /// the batch, and only that message refers to the response.
    fn check_partner(&self, seq: u64) {
        let Some(partner) = self.inspector.detail(seq).and_then(|detail| detail.partner) else { return };
        let detail = self.inspector.detail(partner).expect("a partner must be in the history");
        let is_partner_of_item = || detail.batch.iter().any(|item| item.partner == Some(seq)) || !detail.row.has_text;
        let is_partner = detail.partner == Some(seq) || (detail.row.kind == Kind::Batch && is_partner_of_item());
        assert!(is_partner, "row {seq} is not the partner of its partner");
    }

    /// Checks the list, its layouts, and the steps from row to row.
    fn check_list(&self) {
        let inspector = &self.inspector;
        let shown = inspector.shown();
        assert_eq!(inspector.totals().shown as usize, shown.len());
        let listed: Vec<u64> = inspector.list_rows(0, u32::MAX).iter().map(|row| row.seq).collect();
        assert_eq!(listed, shown, "the list differs from the rows that the filter shows");
        assert_eq!((inspector.first(), inspector.last()), (shown.first().copied(), shown.last().copied()));
        for pair in shown.windows(2) {
            assert_eq!(inspector.step(pair[0], 1), Some(pair[1]));
            assert_eq!(inspector.step(pair[1], -1), Some(pair[0]));
        }
        for top in [0.0, 100.0, inspector.end(VIEWPORT), f64::INFINITY, f64::NAN, -1.0] {
            let layout = inspector.layout(top, VIEWPORT);
            let mut bottom = None;
            for row in &layout.rows {
                assert!(bottom.is_none_or(|bottom: f64| (bottom - row.top).abs() < 0.1), "the rows have gaps");
                bottom = Some(row.top + row.height);
                if let Content::Message(row) = &row.content {
                    assert!(shown.contains(&row.seq));
                }
            }
            assert_eq!(layout.anchor.is_some(), !shown.is_empty());
            if let Some(anchor) = layout.anchor {
                let again = inspector.layout(inspector.scroll_top(anchor, VIEWPORT), VIEWPORT);
                assert!(layout.is_at_end || again.anchor.is_some_and(|found| found.seq == anchor.seq));
            }
        }
        for seq in &shown {
            assert!(inspector.reveal(*seq, VIEWPORT, 0.5).is_some());
        }
    }

    /// Creates the list again. The new list must equal the list that was changed row by row.
    fn check_rebuild(&mut self) {
        let (shown, counts) = (self.inspector.shown(), self.inspector.counts());
        self.inspector.set_filter(self.filter.clone());
        assert_eq!((self.inspector.shown(), self.inspector.counts()), (shown, counts), "the list is out of date");
    }
}
