//! Keeps the list equal to the rows that the filter shows.

use super::{Batch, Inspector};
use crate::buffer::{Flags, Row};
use crate::filter::Counts;
use crate::links;

fn batch_has_id(batch: Option<&Batch>, wanted: &str) -> bool {
    let ids = batch.into_iter().flat_map(|batch| &batch.items).filter_map(|item| item.id.as_ref());
    ids.into_iter().any(|id| links::is_text(id, wanted))
}

impl Inspector {
    /// Adds a new row to the counts if it passes the filter, and to the list if it also belongs to the selected tab.
    pub(super) fn show(&mut self, row: &mut Row) {
        if self.paused_from.is_some_and(|from| row.seq >= from) {
            return;
        }
        let method = || self.methods.name(row.method);
        let is_counted = self.filter.passes(row, method, |wanted| batch_has_id(self.batches.get(&row.seq), wanted));
        let is_shown = is_counted && self.filter.filter().tab.shows(row);
        row.flags.set(Flags::COUNTED, is_counted);
        row.flags.set(Flags::SHOWN, is_shown);
        if is_counted {
            self.counts.add(row);
        }
        if is_shown {
            let heights = &self.options.heights;
            self.list.push(row.seq, row.bucket, heights.of(row), heights.of_header());
        }
    }

    /// Removes a row from the counts and from the list.
    pub(super) fn hide(&mut self, row: &Row) {
        if row.flags.has(Flags::COUNTED) {
            self.counts.remove(row);
        }
        if row.flags.has(Flags::SHOWN) {
            self.list.remove(row.seq, row.bucket);
        }
    }

    /// Applies the filter again to a row whose state has changed, for example because its call was answered. A row that
    /// no longer passes is removed at once. A row that now passes is added later, before [`take`](Self::take) returns.
    pub(super) fn reconsider(&mut self, seq: u64) {
        self.revision += 1;
        let Some(row) = self.buffer.get(seq) else { return };
        let method = || self.methods.name(row.method);
        let passes = self.filter.passes(row, method, |wanted| batch_has_id(self.batches.get(&seq), wanted));
        let is_waiting = self.paused_from.is_some_and(|from| seq >= from);
        match (row.flags.has(Flags::COUNTED), passes) {
            (true, false) => {
                let row = row.clone();
                self.hide(&row);
                self.buffer.update(seq, |row| {
                    row.flags.set(Flags::COUNTED, false);
                    row.flags.set(Flags::SHOWN, false);
                });
            }
            (false, true) if !is_waiting => self.has_missing_rows = true,
            _ => {}
        }
    }

    /// Adds the rows that now pass the filter and are not in the list yet. Such a row may be anywhere in the list.
    pub fn add_missing_rows(&mut self) {
        if core::mem::take(&mut self.has_missing_rows) {
            self.rebuild();
        }
    }

    /// Creates the list and the counts again.
    pub(super) fn rebuild(&mut self) {
        let Self { buffer, list, filter, counts, methods, batches, options, paused_from, .. } = self;
        list.clear();
        *counts = Counts::default();
        let header = options.heights.of_header();
        buffer.for_each_mut(|row| {
            let is_waiting = paused_from.is_some_and(|from| row.seq >= from);
            let method = || methods.name(row.method);
            let is_counted =
                !is_waiting && filter.passes(row, method, |wanted| batch_has_id(batches.get(&row.seq), wanted));
            let is_shown = is_counted && filter.filter().tab.shows(row);
            row.flags.set(Flags::COUNTED, is_counted);
            row.flags.set(Flags::SHOWN, is_shown);
            if is_counted {
                counts.add(row);
            }
            if is_shown {
                list.push(row.seq, row.bucket, options.heights.of(row), header);
            }
        });
        self.revision += 1;
    }

    /// Until [`resume`](Self::resume), new rows are not shown.
    pub fn pause(&mut self) {
        self.paused_from.get_or_insert(self.next_seq);
    }

    /// Shows the rows that arrived since [`pause`](Self::pause).
    pub fn resume(&mut self) {
        if self.paused_from.take().is_some() {
            self.rebuild();
        }
    }

    /// Sets the measured height of a row, in pixels.
    pub fn set_height(&mut self, seq: u64, height: f64) {
        let units = crate::rows::units(height);
        if self.buffer.update(seq, |row| row.measured = units).is_some() {
            self.list.set_height(seq, units);
            self.revision += 1;
        }
    }

    /// Forgets all measured heights.
    pub fn forget_heights(&mut self) {
        self.buffer.for_each_mut(|row| row.measured = 0);
        self.rebuild();
    }
}
