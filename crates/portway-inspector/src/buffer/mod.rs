//! The history: rows in the order of their arrival, bounded by their number and by the bytes of their texts.
//!
//! If there are too many rows, the oldest row is dropped. Preferred rows are dropped last. The options decide whether
//! rows with a pending call are preferred, and whether rows with a batch are. If the texts are too large, the oldest
//! text is dropped, and its row stays.

mod row;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

pub use row::{Flags, Row};

use crate::classify::Kind;
use crate::limits::{DEFAULT_ROWS, DEFAULT_TEXT_BYTES, MAX_ROWS};

/// The options of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Maximum number of rows.
    pub limit: usize,
    /// Maximum size of all texts, in bytes.
    pub text_bytes: u64,
    /// Whether rows with a pending call are preferred, so that they are dropped last.
    pub prefer_pending: bool,
    /// Whether rows with a batch are preferred, so that they are dropped last.
    pub prefer_batches: bool,
    /// The number of rows that are dropped at a time if all rows are preferred: at least 1.
    pub drop_chunk_size: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limit: DEFAULT_ROWS,
            text_bytes: DEFAULT_TEXT_BYTES,
            prefer_pending: true,
            prefer_batches: false,
            drop_chunk_size: 1,
        }
    }
}

impl Options {
    const fn prefers(&self, row: &Row) -> bool {
        (self.prefer_pending && row.is_pending()) || (self.prefer_batches && matches!(row.kind, Kind::Batch))
    }
}

/// The rows of the history.
///
/// Most rows are dropped from the front of `rows`. If the row at the front is preferred, it is moved to `preferred`, so
/// that the next row is at the front and can be dropped.
#[derive(Debug, Default)]
pub struct Buffer {
    options: Options,
    /// Preferred rows that were moved here from the front of `rows`. Each of them is older than all rows in `rows`.
    preferred: BTreeMap<u64, Row>,
    /// The rows in `preferred` that are not preferred anymore, for example because their calls were answered.
    not_preferred_anymore: BTreeSet<u64>,
    rows: VecDeque<Row>,
    /// The size of all texts in the history.
    text_bytes: u64,
    /// The texts of rows before this sequence number were dropped.
    first_text: u64,
}

impl Buffer {
    /// Creates an empty history.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let mut buffer = Self::default();
        buffer.set_options(options);
        buffer
    }

    /// Returns the options.
    #[must_use]
    pub const fn options(&self) -> Options {
        self.options
    }

    /// Sets the options. Call [`trim`](Self::trim) afterwards. A value out of range becomes the nearest valid value.
    pub fn set_options(&mut self, options: Options) {
        self.options =
            Options { limit: options.limit.min(MAX_ROWS), drop_chunk_size: options.drop_chunk_size.max(1), ..options };
        let options = self.options;
        let released = self.preferred.values().filter(|row| !options.prefers(row));
        self.not_preferred_anymore = released.map(|row| row.seq).collect();
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.preferred.len() + self.rows.len()
    }

    /// Returns whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the size of all texts, in bytes.
    #[must_use]
    pub const fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    /// Adds a row, whose sequence number must be larger than that of every other row. Call [`trim`](Self::trim)
    /// afterwards.
    pub fn push(&mut self, row: Row) {
        if row.flags.has(Flags::HAS_TEXT) {
            self.text_bytes += u64::from(row.text_bytes);
        }
        self.rows.push_back(row);
    }

    /// Drops rows and texts beyond the limits. Calls `on_row` with each dropped row, and `on_text` with the sequence
    /// number of each row whose text was dropped.
    pub fn trim(&mut self, mut on_row: impl FnMut(Row), mut on_text: impl FnMut(u64)) {
        while self.len() > self.options.limit {
            let Some(row) = self.next_not_preferred() else { break };
            self.forget_text(&row);
            on_row(row);
        }
        while self.len() > self.options.limit {
            let chunk = self.options.drop_chunk_size.min(self.len() - self.options.limit);
            for _ in 0..chunk {
                let Some(row) = self.pop_first() else { break };
                self.forget_text(&row);
                on_row(row);
            }
        }
        while self.text_bytes > self.options.text_bytes {
            let Some(row) = self.next_with_text() else { break };
            row.flags.set(Flags::HAS_TEXT, false);
            let (seq, bytes) = (row.seq, row.text_bytes);
            self.text_bytes -= u64::from(bytes);
            self.first_text = seq + 1;
            on_text(seq);
        }
    }

    /// Removes and returns the oldest row that is not preferred.
    fn next_not_preferred(&mut self) -> Option<Row> {
        if let Some(seq) = self.not_preferred_anymore.pop_first() {
            return self.preferred.remove(&seq);
        }
        loop {
            let row = self.rows.pop_front()?;
            if !self.options.prefers(&row) {
                return Some(row);
            }
            self.preferred.insert(row.seq, row);
        }
    }

    fn pop_first(&mut self) -> Option<Row> {
        let row = self.preferred.pop_first().map(|(_, row)| row).or_else(|| self.rows.pop_front())?;
        self.not_preferred_anymore.remove(&row.seq);
        Some(row)
    }

    fn forget_text(&mut self, row: &Row) {
        if row.flags.has(Flags::HAS_TEXT) {
            self.text_bytes -= u64::from(row.text_bytes);
        }
    }

    /// Returns the oldest row whose text was not dropped.
    fn next_with_text(&mut self) -> Option<&mut Row> {
        let first = self.first_text;
        if let Some((_, row)) = self.preferred.range_mut(first..).find(|(_, row)| row.flags.has(Flags::HAS_TEXT)) {
            return Some(row);
        }
        let from = self.rows.partition_point(|row| row.seq < first);
        self.rows.range_mut(from..).find(|row| row.flags.has(Flags::HAS_TEXT))
    }

    /// Returns a row.
    #[must_use]
    pub fn get(&self, seq: u64) -> Option<&Row> {
        match self.index(seq) {
            Some(index) => self.rows.get(index),
            None => self.preferred.get(&seq),
        }
    }

    /// Changes a row, and returns the result of `change`. Returns `None` if the row is not in the history.
    pub fn update<T>(&mut self, seq: u64, change: impl FnOnce(&mut Row) -> T) -> Option<T> {
        if let Some(index) = self.index(seq) {
            return self.rows.get_mut(index).map(change);
        }
        let row = self.preferred.get_mut(&seq)?;
        let result = change(row);
        if self.options.prefers(row) {
            self.not_preferred_anymore.remove(&seq);
        } else {
            self.not_preferred_anymore.insert(seq);
        }
        Some(result)
    }

    /// Returns the index of a row in `rows`.
    fn index(&self, seq: u64) -> Option<usize> {
        let first = self.rows.front()?.seq;
        // Usually, no row is missing between the first row and this row.
        let index = usize::try_from(seq.checked_sub(first)?).ok()?;
        if self.rows.get(index).is_some_and(|row| row.seq == seq) {
            return Some(index);
        }
        self.rows.binary_search_by_key(&seq, |row| row.seq).ok()
    }

    /// Iterates over all rows, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Row> {
        self.preferred.values().chain(&self.rows)
    }

    /// Iterates over the rows before a sequence number, the newest first.
    pub fn before(&self, seq: u64) -> impl Iterator<Item = &Row> {
        let end = self.rows.partition_point(|row| row.seq < seq);
        self.rows.range(..end).rev().chain(self.preferred.range(..seq).rev().map(|(_, row)| row))
    }

    /// Changes all rows, the oldest first. The change must not affect whether a row is preferred.
    pub fn for_each_mut(&mut self, change: impl FnMut(&mut Row)) {
        self.preferred.values_mut().chain(&mut self.rows).for_each(change);
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        *self = Self { options: self.options, ..Self::default() };
    }
}
