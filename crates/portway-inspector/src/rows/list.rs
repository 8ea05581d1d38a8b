//! The list: the headers and rows that the filter shows, with their places.

use alloc::vec::Vec;

use super::bucket::BUCKET_COUNT;
use super::fenwick::{Extent, Fenwick};

/// An entry of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The header of the time bucket with this index.
    Header(u8),
    /// The row with this sequence number.
    Row(u64),
}

/// An entry with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The entry.
    pub entry: Entry,
    /// The number of entries before it.
    pub index: u32,
    /// The height of all entries before it, in 64ths of a pixel.
    pub top: u64,
    /// The height, in 64ths of a pixel.
    pub height: u32,
}

/// The entries in their order. Entries are added at the end, and removed anywhere. A removed entry leaves an empty
/// place; the list is compacted when most places are empty.
#[derive(Debug, Default)]
pub struct List {
    places: Vec<Place>,
    sums: Fenwick,
    buckets: [Bucket; BUCKET_COUNT],
}

/// A place in the list.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Twice the sequence number of a row, plus 1. For a header, twice the sequence number of its first row. So keys
    /// ascend, because a header is directly before its first row.
    key: u64,
    /// The height of the entry, or 0 if it was removed.
    height: u32,
}

/// The rows of a bucket in the list.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    rows: u32,
    /// The key of the header.
    header: Option<u64>,
}

const fn key_of(seq: u64) -> u64 {
    seq * 2 + 1
}

const fn extent(height: u32) -> Extent {
    Extent { rows: if height > 0 { 1 } else { 0 }, height: height as u64 }
}

/// Lists with fewer empty places are not compacted.
const MIN_EMPTY_PLACES: usize = 1_024;

impl List {
    /// Returns the number of entries.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.sums.total().rows
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the height of all entries, in 64ths of a pixel.
    #[must_use]
    pub const fn height(&self) -> u64 {
        self.sums.total().height
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds a row at the end. If the row is the first of its bucket, adds the header of the bucket before the row.
    /// Buckets and sequence numbers must ascend.
    pub fn push(&mut self, seq: u64, bucket: u8, height: u32, header_height: u32) {
        let Some(rows) = self.buckets.get_mut(usize::from(bucket)) else { return };
        rows.rows += 1;
        if rows.header.is_none() {
            let key = seq * 2;
            rows.header = Some(key);
            self.place(key, header_height);
        }
        self.place(key_of(seq), height);
    }

    fn place(&mut self, key: u64, height: u32) {
        self.places.push(Place { key, height });
        self.sums.push(extent(height));
    }

    /// Removes a row. If the bucket then has no row in the list, removes the header of the bucket, too.
    pub fn remove(&mut self, seq: u64, bucket: u8) {
        if !self.remove_entry(key_of(seq)) {
            return;
        }
        if let Some(rows) = self.buckets.get_mut(usize::from(bucket)) {
            rows.rows = rows.rows.saturating_sub(1);
            if rows.rows == 0
                && let Some(header) = rows.header.take()
            {
                self.remove_entry(header);
            }
        }
        let live = self.len() as usize;
        if self.places.len() > 2 * live + MIN_EMPTY_PLACES {
            self.compact();
        }
    }

    /// Removes the entry with a key. Returns whether there was one.
    fn remove_entry(&mut self, key: u64) -> bool {
        let Some(index) = self.index(key) else { return false };
        self.set_height_at(index, 0);
        true
    }

    /// Sets the height of a row, in 64ths of a pixel.
    pub fn set_height(&mut self, seq: u64, height: u32) {
        if let Some(index) = self.index(key_of(seq)) {
            self.set_height_at(index, height.max(1));
        }
    }

    fn set_height_at(&mut self, index: usize, height: u32) {
        if let Some(place) = self.places.get_mut(index) {
            let old = core::mem::replace(&mut place.height, height);
            self.sums.replace(index, extent(old), extent(height));
        }
    }

    /// Returns the index of the place with a key, if its entry was not removed.
    fn index(&self, key: u64) -> Option<usize> {
        let index = self.places.binary_search_by_key(&key, |place| place.key).ok()?;
        self.places.get(index).filter(|place| place.height > 0).map(|_| index)
    }

    fn compact(&mut self) {
        self.places.retain(|place| place.height > 0);
        self.sums = Fenwick::default();
        for place in &self.places {
            self.sums.push(extent(place.height));
        }
    }

    /// Returns the entry with an index.
    #[must_use]
    pub fn entry(&self, index: u32) -> Option<Placed> {
        self.placed(self.sums.find(|sum| sum.rows <= index))
    }

    /// Returns the entry at a distance from the top of the list, in 64ths of a pixel. Beyond the end, returns the last
    /// entry.
    #[must_use]
    pub fn at(&self, top: u64) -> Option<Placed> {
        self.placed(self.sums.find(|sum| sum.height <= top)).or_else(|| self.entry(self.len().checked_sub(1)?))
    }

    /// Returns the place of a row.
    #[must_use]
    pub fn row(&self, seq: u64) -> Option<Placed> {
        self.placed(self.index(key_of(seq))?)
    }

    /// Returns the first row with at least this sequence number, or the last row.
    #[must_use]
    pub fn row_from(&self, seq: u64) -> Option<Placed> {
        let index = self.places.partition_point(|place| place.key < key_of(seq));
        let before = self.sums.before(index).rows;
        let is_row = |placed: &Placed| matches!(placed.entry, Entry::Row(_));
        // A header has a row after it, so the second entry is a row if the first is a header.
        let after = (before..self.len()).take(2).filter_map(|index| self.entry(index)).find(is_row);
        after.or_else(|| (0..self.len()).rev().take(2).filter_map(|index| self.entry(index)).find(is_row))
    }

    /// Returns the entry in a place that is not empty.
    fn placed(&self, index: usize) -> Option<Placed> {
        let place = self.places.get(index).filter(|place| place.height > 0)?;
        let before = self.sums.before(index);
        let entry = if place.key & 1 == 1 {
            Entry::Row(place.key >> 1)
        } else {
            let is_header = |bucket: &Bucket| bucket.header == Some(place.key);
            Entry::Header(self.buckets.iter().position(is_header)? as u8)
        };
        Some(Placed { entry, index: before.rows, top: before.height, height: place.height })
    }
}
