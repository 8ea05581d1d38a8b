//! Messages that have crossed a link at the same time. These messages share one buffer and one place in the queue,
//! because a separate allocation for each message would slow the link.

use std::borrow::ToOwned;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use super::record::{Direction, Record, RecordKind};

/// The memory of a batch in addition to its messages, in bytes.
const BATCH_BYTES: usize = 128;

/// The memory of a message in addition to its text, in bytes: the position of its end.
const MESSAGE_BYTES: usize = size_of::<usize>();

/// The texts of messages with the same time, link and direction. No text is cut.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) at: u64,
    pub(super) link: Arc<str>,
    pub(super) direction: Direction,
    /// The texts, one after the other.
    texts: String,
    /// The end of each text in `texts`.
    ends: Vec<usize>,
    /// The number of texts that [`Batch::pop`] has returned.
    popped: usize,
}

impl Batch {
    /// Creates an empty batch with room for texts of `bytes` in total.
    pub(super) fn new(at: u64, link: Arc<str>, direction: Direction, bytes: usize) -> Self {
        Self { at, link, direction, texts: String::with_capacity(bytes), ends: Vec::new(), popped: 0 }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.texts.push_str(text);
        self.ends.push(self.texts.len());
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the texts that were not popped.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let ends = self.ends.get(self.popped..).unwrap_or_default();
        let starts = std::iter::once(self.start()).chain(ends.iter().copied());
        starts.zip(ends).map(|(start, end)| self.texts.get(start..*end).unwrap_or_default())
    }

    /// Removes the first text, and returns its record.
    pub(super) fn pop(&mut self) -> Option<Record> {
        let record = self.texts().next().map(|text| self.record(text));
        self.popped += usize::from(record.is_some());
        record
    }

    /// Returns the record of a text.
    pub(super) fn record(&self, text: &str) -> Record {
        let kind = RecordKind::Message {
            direction: self.direction,
            text: text.to_owned(),
            size: text.len() as u64,
            omitted: 0,
        };
        Record { at: self.at, link: Arc::clone(&self.link), kind }
    }

    /// Returns the memory of the batch, without the texts that were popped. A batch without texts needs no memory.
    pub(super) fn size(&self) -> usize {
        match self.ends.len() - self.popped {
            0 => 0,
            count => BATCH_BYTES + self.texts.len() - self.start() + MESSAGE_BYTES * count,
        }
    }

    /// Removes the last messages, so that the batch has a size of at most `max`. Returns the number and the total
    /// length of the removed messages.
    pub(super) fn truncate(&mut self, max: usize) -> (u64, u64) {
        let fits = |end: &usize, index: usize| BATCH_BYTES + *end + MESSAGE_BYTES * (index + 1) <= max;
        let kept = self.ends.iter().enumerate().take_while(|(index, end)| fits(end, *index)).count();
        let before = (self.ends.len(), self.texts.len());
        self.ends.truncate(kept);
        self.texts.truncate(self.ends.last().copied().unwrap_or(0));
        ((before.0 - kept) as u64, (before.1 - self.texts.len()) as u64)
    }

    /// Returns the start of the first text that was not popped.
    fn start(&self) -> usize {
        self.popped.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(texts: &[&str]) -> Batch {
        let mut batch = Batch::new(7, "a".into(), Direction::Sent, 0);
        texts.iter().for_each(|text| batch.push(text));
        batch
    }

    #[test]
    fn texts_are_popped_in_their_order() {
        let mut batch = batch(&["[1]", "", "\"é\""]);
        let size = batch.size();
        let first = batch.pop();
        assert_eq!(first, Some(batch.record("[1]")));
        assert_eq!(batch.size(), size - MESSAGE_BYTES - 3);
        assert_eq!(batch.texts().collect::<Vec<_>>(), ["", "\"é\""]);
        assert_eq!(batch.pop(), Some(batch.record("")));
        assert_eq!(batch.pop(), Some(batch.record("\"é\"")));
        assert_eq!((batch.pop(), batch.size()), (None, 0));
    }

    #[test]
    fn a_batch_keeps_the_first_messages_that_fit() {
        let full = batch(&["[1]", "[22]", "[3]"]).size();
        let one = batch(&["[1]"]).size();
        for (max, kept, left_out) in
            [(full, 3, (0, 0)), (full - 1, 2, (1, 3)), (one, 1, (2, 7)), (one - 1, 0, (3, 10)), (0, 0, (3, 10))]
        {
            let mut batch = batch(&["[1]", "[22]", "[3]"]);
            assert_eq!(batch.truncate(max), left_out, "{max}");
            assert_eq!(batch.texts().count(), kept);
            assert!(batch.size() <= max);
        }
    }
}
