//! Properties of the history and of the list that must hold for any input.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

use portway_inspector::buffer::{Buffer, Flags, Options, Row};
use portway_inspector::classify::Kind;
use portway_inspector::rows::{Entry, Extent, Fenwick, List};
use proptest::collection::vec;
use proptest::prelude::*;

/// A row of the model: its number, whether it is pending or a batch, and the bytes of its text.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    seq: u64,
    pending: bool,
    batch: bool,
    bytes: u32,
    has_text: bool,
}

/// Drops rows and texts from a plain list, by the rules in the documentation of the module `buffer`.
fn trim(rows: &mut Vec<Model>, options: Options) {
    let prefers = |row: &Model| (options.prefer_pending && row.pending) || (options.prefer_batches && row.batch);
    let mut index = 0;
    while rows.len() > options.limit && index < rows.len() {
        if prefers(&rows[index]) {
            index += 1;
        } else {
            rows.remove(index);
        }
    }
    while rows.len() > options.limit {
        let chunk = options.drop_chunk_size.min(rows.len() - options.limit);
        rows.drain(..chunk);
    }
    let sum = |rows: &[Model]| -> u64 { rows.iter().filter(|row| row.has_text).map(|row| u64::from(row.bytes)).sum() };
    while sum(rows) > options.text_bytes {
        rows.iter_mut().find(|row| row.has_text).unwrap().has_text = false;
    }
}

#[derive(Clone, Debug)]
enum Step {
    Push { pending: bool, batch: bool, bytes: u32 },
    Answer { index: usize },
    Configure(Options),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let push = (any::<bool>(), any::<bool>(), 0..50_u32);
    let push = push.prop_map(|(pending, batch, bytes)| Step::Push { pending, batch, bytes });
    let options = (0..20_usize, 0..300_u64, any::<bool>(), any::<bool>(), 0..5_usize);
    let options = options.prop_map(|(limit, text_bytes, prefer_pending, prefer_batches, drop_chunk_size)| Options {
        limit,
        text_bytes,
        prefer_pending,
        prefer_batches,
        drop_chunk_size,
    });
    let answer = any::<usize>().prop_map(|index| Step::Answer { index });
    vec(prop_oneof![6 => push, 3 => answer, 1 => options.prop_map(Step::Configure)], 0..200)
}

proptest! {
    #[test]
    fn the_history_drops_the_same_rows_and_texts_as_the_model(steps in steps()) {
        let start = Options { limit: 10, text_bytes: 200, ..Options::default() };
        let mut buffer = Buffer::new(start);
        let mut options = start;
        let mut model: Vec<Model> = Vec::new();
        for (seq, step) in (0..).zip(steps) {
            match step {
                Step::Push { pending, batch, bytes } => {
                    let kind = if batch { Kind::Batch } else { Kind::Request };
                    let mut row = Row::new(seq, 0, 0, kind);
                    row.flags.set(Flags::PENDING, pending);
                    row.flags.set(Flags::HAS_TEXT, bytes > 0);
                    row.text_bytes = bytes;
                    buffer.push(row);
                    model.push(Model { seq, pending, batch, bytes, has_text: bytes > 0 });
                }
                Step::Answer { index } => {
                    let count = model.len().max(1);
                    if let Some(row) = model.get_mut(index % count) {
                        row.pending = false;
                        buffer.update(row.seq, |row| row.flags.set(Flags::PENDING, false)).unwrap();
                    }
                }
                Step::Configure(new) => {
                    options = new;
                    options.drop_chunk_size = options.drop_chunk_size.max(1);
                    buffer.set_options(new);
                }
            }
            let before = model.clone();
            let (mut rows, mut texts) = (Vec::new(), Vec::new());
            buffer.trim(|row| rows.push(row.seq), |seq| texts.push(seq));
            trim(&mut model, options);
            let found: Vec<Model> = buffer
                .iter()
                .map(|row| Model {
                    seq: row.seq,
                    pending: row.is_pending(),
                    batch: row.kind == Kind::Batch,
                    bytes: row.text_bytes,
                    has_text: row.flags.has(Flags::HAS_TEXT),
                })
                .collect();
            prop_assert_eq!(&found, &model);
            prop_assert!(found.len() <= options.limit && buffer.text_bytes() <= options.text_bytes);
            // Each row and each text that is gone was reported once.
            rows.sort_unstable();
            texts.sort_unstable();
            let after = |seq: u64| model.iter().find(|row| row.seq == seq);
            let gone: Vec<u64> = before.iter().map(|row| row.seq).filter(|seq| after(*seq).is_none()).collect();
            let lost_text = |row: &&Model| row.has_text && after(row.seq).is_some_and(|row| !row.has_text);
            let without_text: Vec<u64> = before.iter().filter(lost_text).map(|row| row.seq).collect();
            prop_assert_eq!(texts, without_text);
            prop_assert_eq!(rows, gone);
            for row in &model {
                prop_assert_eq!(buffer.get(row.seq).map(|found| found.seq), Some(row.seq));
            }
        }
    }

    #[test]
    fn sums_of_the_tree_are_sums_of_the_list(
        extents in vec((0..2_u32, 0..1_000_u64), 0..200),
        changes in vec((any::<usize>(), 0..1_000_u64), 0..50),
    ) {
        let extents = extents.into_iter().map(|(rows, height)| Extent { rows, height });
        let mut list: Vec<Extent> = extents.collect();
        let mut tree = Fenwick::default();
        for extent in &list {
            tree.push(*extent);
        }
        for (index, height) in changes {
            let count = list.len().max(1);
            if let Some(extent) = list.get_mut(index % count) {
                let new = Extent { rows: 1, height };
                tree.replace(index % count, *extent, new);
                *extent = new;
            }
        }
        let sum = |count: usize| list.iter().take(count).fold(Extent::default(), |sum, extent| Extent {
            rows: sum.rows + extent.rows,
            height: sum.height + extent.height,
        });
        for count in 0..=list.len() {
            prop_assert_eq!(tree.before(count), sum(count));
            let at = sum(count).height;
            let expected = (0..list.len()).find(|index| sum(index + 1).height > at).unwrap_or(list.len());
            prop_assert_eq!(tree.find(|sum| sum.height <= at), expected);
        }
        prop_assert_eq!(tree.total(), sum(list.len()));
    }

    #[test]
    fn rows_and_places_of_the_list_agree(
        rows in vec((1..5_u64, 0..2_u8, 1..500_u32), 0..150),
        removed in vec(any::<usize>(), 0..120),
        measured in vec((any::<usize>(), 1..500_u32), 0..20),
    ) {
        const HEADER: u32 = 28;
        let mut list = List::default();
        let (mut seq, mut bucket) = (0, 0);
        let mut model: Vec<(u64, u8, u32)> = Vec::new();
        for (gap, next_bucket, height) in rows {
            seq += gap;
            bucket = (bucket + next_bucket).min(6);
            list.push(seq, bucket, height, HEADER);
            model.push((seq, bucket, height));
        }
        for index in removed {
            if !model.is_empty() {
                let (seq, bucket, _) = model.remove(index % model.len());
                list.remove(seq, bucket);
                list.remove(seq, bucket);
            }
        }
        for (index, height) in measured {
            let count = model.len().max(1);
            if let Some(row) = model.get_mut(index % count) {
                row.2 = height;
                list.set_height(row.0, height);
            }
        }
        let mut entries: Vec<(Entry, u32)> = Vec::new();
        let mut last = None;
        for (seq, bucket, height) in &model {
            if last != Some(*bucket) {
                entries.push((Entry::Header(*bucket), HEADER));
                last = Some(*bucket);
            }
            entries.push((Entry::Row(*seq), *height));
        }
        prop_assert_eq!(list.len() as usize, entries.len());
        let mut top = 0;
        for (index, (entry, height)) in (0..).zip(&entries) {
            let placed = list.entry(index).unwrap();
            prop_assert_eq!((placed.entry, placed.index, placed.top, placed.height), (*entry, index, top, *height));
            prop_assert_eq!(list.at(top), Some(placed));
            prop_assert_eq!(list.at(top + u64::from(*height) - 1), Some(placed));
            if let Entry::Row(seq) = entry {
                prop_assert_eq!(list.row(*seq), Some(placed));
                prop_assert_eq!(list.row_from(*seq), Some(placed));
            }
            top += u64::from(*height);
        }
        prop_assert_eq!(list.height(), top);
        prop_assert_eq!(list.entry(list.len()), None);
        prop_assert_eq!(list.row_from(seq + 1).map(|placed| placed.entry), entries.last().map(|(entry, _)| *entry));
        prop_assert_eq!(list.row_from(0).map(|placed| placed.index), (!entries.is_empty()).then_some(1));
    }
}
