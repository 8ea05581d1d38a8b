//! The part of the list in the viewport.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Inspector, RowView};
use crate::limits::MAX_LAYOUT_ENTRIES;
use crate::rows::{Entry, Placed, Scroll, bucket_name, pixels};

/// The number of entries before the viewport, and after it, that a layout has in addition to the visible entries.
const OVERSCAN: u32 = 5;

/// A place in the list that does not move if rows are added or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Anchor {
    /// The row at the top of the viewport.
    pub seq: u64,
    /// The distance from the top of this row to the top of the viewport, in pixels.
    pub delta: f64,
}

/// An entry of the list, with its place.
#[derive(Clone, Debug, Serialize)]
pub struct ListRow {
    /// The index in the list.
    pub index: u32,
    /// The distance from the top of the element that contains the rows, in pixels.
    pub top: f64,
    /// The height, in pixels.
    pub height: f64,
    /// The header, or the row.
    #[serde(flatten)]
    pub content: Content,
}

/// The content of an entry.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Content {
    /// The header of a time bucket.
    Header {
        /// The name of the bucket.
        bucket: &'static str,
    },
    /// A row.
    Message(RowView),
}

/// The part of the list in the viewport.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Layout {
    /// The height of the element that contains the rows, in pixels.
    pub height: f64,
    /// The number of entries in the list.
    pub count: u32,
    /// The number of pixels of the list that one pixel of scrolling passes.
    pub scale: f64,
    /// The entries in the viewport, and some before and after it.
    pub rows: Vec<ListRow>,
    /// The place at the top of the viewport. `None` if the list is empty.
    pub anchor: Option<Anchor>,
    /// Whether the viewport shows the end of the list.
    pub is_at_end: bool,
}

impl Inspector {
    fn scroll(&self, viewport: f64) -> Scroll {
        Scroll::new(pixels(self.list.height()), viewport, self.options.max_height)
    }

    /// Returns the part of the list that a viewport of the height `viewport` shows at `scroll_top`, both in pixels.
    #[must_use]
    pub fn layout(&self, scroll_top: f64, viewport: f64) -> Layout {
        let scroll = self.scroll(viewport);
        let list_top = scroll.list_top(scroll_top);
        // A position beyond the end has the same layout as the last position.
        let scroll_top = if scroll_top.is_nan() { 0.0 } else { scroll_top.clamp(0.0, scroll.end()) };
        let first = self.entry_at(list_top);
        let mut rows = Vec::new();
        if let Some(first) = first {
            let mut after = 0;
            for index in first.index.saturating_sub(OVERSCAN).. {
                let Some(placed) = self.list.entry(index).filter(|_| after < OVERSCAN) else { break };
                let top = pixels(placed.top);
                after += u32::from(top >= list_top + scroll.viewport);
                if rows.len() >= MAX_LAYOUT_ENTRIES {
                    break;
                }
                rows.extend(self.list_row(placed, scroll_top + (top - list_top)));
            }
        }
        Layout {
            height: scroll.height,
            count: self.list.len(),
            scale: scroll.scale(),
            rows,
            anchor: first.and_then(|first| self.anchor(first, list_top)),
            is_at_end: list_top + scroll.viewport >= scroll.total - 1.0,
        }
    }

    fn entry_at(&self, list_top: f64) -> Option<Placed> {
        self.list.at((list_top.max(0.0) * crate::rows::UNITS_PER_PIXEL) as u64)
    }

    fn list_row(&self, placed: Placed, top: f64) -> Option<ListRow> {
        let content = match placed.entry {
            Entry::Header(bucket) => Content::Header { bucket: bucket_name(bucket) },
            Entry::Row(seq) => Content::Message(self.row(seq)?),
        };
        Some(ListRow { index: placed.index, top, height: pixels(u64::from(placed.height)), content })
    }

    /// Returns the anchor for the entry at the top of the viewport. A header is not an anchor, since it moves if the
    /// first rows of its bucket are dropped.
    fn anchor(&self, first: Placed, list_top: f64) -> Option<Anchor> {
        let (placed, seq) = match first.entry {
            Entry::Row(seq) => (first, seq),
            Entry::Header(_) => match self.list.entry(first.index + 1)? {
                placed @ Placed { entry: Entry::Row(seq), .. } => (placed, seq),
                _ => return None,
            },
        };
        Some(Anchor { seq, delta: list_top - pixels(placed.top) })
    }

    /// Returns the scroll position that shows the same rows as at the time of the anchor.
    #[must_use]
    pub fn scroll_top(&self, anchor: Anchor, viewport: f64) -> f64 {
        let Some(placed) = self.list.row_from(anchor.seq) else { return 0.0 };
        let is_same = placed.entry == Entry::Row(anchor.seq);
        let delta = if is_same && anchor.delta.is_finite() { anchor.delta } else { 0.0 };
        self.scroll(viewport).scroll_top(pixels(placed.top) + delta)
    }

    /// Returns the scroll position that shows the end of the list.
    #[must_use]
    pub fn end(&self, viewport: f64) -> f64 {
        self.scroll(viewport).end()
    }

    /// Returns the scroll position that shows a row at `align` of the viewport, from 0 (top) to 1 (bottom). Returns
    /// `None` if the row is not in the list.
    #[must_use]
    pub fn reveal(&self, seq: u64, viewport: f64, align: f64) -> Option<f64> {
        let placed = self.list.row(seq)?;
        let align = if align.is_nan() { 0.5 } else { align.clamp(0.0, 1.0) };
        let room = (viewport - pixels(u64::from(placed.height))).max(0.0);
        Some(self.scroll(viewport).scroll_top(pixels(placed.top) - room * align))
    }

    /// Returns up to `count` rows of the list from an index on, without headers.
    #[must_use]
    pub fn list_rows(&self, index: u32, count: u32) -> Vec<RowView> {
        let entries = (index..self.list.len()).filter_map(|index| self.list.entry(index));
        let seqs = entries.filter_map(|placed| match placed.entry {
            Entry::Row(seq) => Some(seq),
            Entry::Header(_) => None,
        });
        seqs.take(count as usize).filter_map(|seq| self.row(seq)).collect()
    }

    /// Returns the row that is `by` rows after the row `seq` in the list. If the list has no such row, returns the last
    /// row, or the first row if `by` is negative. Returns `None` if the list is empty.
    #[must_use]
    pub fn step(&self, seq: u64, by: i32) -> Option<u64> {
        let start = self.list.row_from(seq)?;
        let mut found = start.entry;
        let mut index = start.index;
        let mut left = by.unsigned_abs();
        while left > 0 {
            let next = if by < 0 { index.checked_sub(1) } else { index.checked_add(1) };
            let Some(placed) = next.and_then(|next| self.list.entry(next)) else { break };
            index = placed.index;
            if let Entry::Row(_) = placed.entry {
                found = placed.entry;
                left -= 1;
            }
        }
        match found {
            Entry::Row(seq) => Some(seq),
            Entry::Header(_) => None,
        }
    }

    /// Returns the first row of the list.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.step(0, 0)
    }

    /// Returns the last row of the list.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        self.step(u64::MAX >> 2, 0)
    }
}
