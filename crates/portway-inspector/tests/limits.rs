//! The limits of the inspector: each test uses the value of a limit, and the value plus one.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

use std::time::{Duration, Instant};

use portway_inspector::export::{Format, NameFilter, name};
use portway_inspector::import::import;
use portway_inspector::inspector::{Inspector, Options};
use portway_inspector::limits::*;
use portway_inspector::mask::{SecretNames, mask};
use portway_inspector::record::Direction::{Received, Sent};
use portway_inspector::record::{Direction, Record, RecordKind};
use serde_json::{Value, json};

/// Returns an inspector with the options of a page. An absent option has its default.
fn inspector(options: Value) -> Inspector {
    Inspector::new(Options::default().patched(serde_json::from_value(options).unwrap()))
}

/// Takes a message on the link `a` in. Returns the sequence number of its row.
fn take(inspector: &mut Inspector, direction: Direction, text: &str) -> u64 {
    let seq = inspector.next_seq();
    inspector.take(&Record::message(seq, "a", direction, text)).unwrap();
    seq
}

fn request(id: usize, method: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method }).to_string()
}

fn result(id: usize) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": 0 }).to_string()
}

fn batch(messages: impl Iterator<Item = String>) -> String {
    format!("[{}]", messages.collect::<Vec<_>>().join(","))
}

const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"n"}"#;

#[test]
fn the_default_number_of_rows_is_bounded() {
    let mut inspector = Inspector::default();
    (0..DEFAULT_ROWS).for_each(|_| _ = take(&mut inspector, Sent, NOTIFICATION));
    assert_eq!(inspector.totals().dropped_rows, 0);
    take(&mut inspector, Sent, NOTIFICATION);
    assert_eq!((inspector.totals().rows, inspector.totals().dropped_rows), (DEFAULT_ROWS, 1));
}

#[test]
fn the_number_of_rows_that_can_be_set_is_bounded() {
    for (limit, expected) in [(MAX_ROWS, MAX_ROWS), (MAX_ROWS + 1, MAX_ROWS)] {
        let inspector = inspector(json!({ "limit": limit }));
        assert_eq!(inspector.options().buffer.limit, expected);
    }
}

#[test]
fn the_texts_are_bounded() {
    let mut inspector = Inspector::default();
    let mut take = |bytes: u64| {
        let record = Record::message(0, "a", Sent, NOTIFICATION);
        inspector.take(&Record { text_bytes: usize::try_from(bytes).unwrap(), ..record }).unwrap();
        (inspector.totals().text_bytes, inspector.totals().dropped_texts)
    };
    assert_eq!(take(DEFAULT_TEXT_BYTES - 1), (DEFAULT_TEXT_BYTES - 1, 0));
    assert_eq!(take(1), (DEFAULT_TEXT_BYTES, 0));
    assert_eq!(take(1), (2, 1));
}

#[test]
fn the_stored_messages_of_a_batch_are_bounded() {
    let mut inspector = Inspector::default();
    let requests = take(&mut inspector, Sent, &batch((0..=MAX_BATCH_ITEMS).map(|id| request(id, "m"))));
    assert_eq!(inspector.pending(0, usize::MAX).len(), MAX_BATCH_ITEMS + 1, "all calls must be linked");
    let responses = take(&mut inspector, Received, &batch((0..=MAX_BATCH_ITEMS).map(result)));
    assert_eq!(inspector.pending(0, usize::MAX).len(), 0);
    assert_eq!(inspector.detail(requests).unwrap().partner, Some(responses));
    // The filter for ids finds the stored messages.
    for (id, expected) in [(MAX_BATCH_ITEMS - 1, vec![requests, responses]), (MAX_BATCH_ITEMS, vec![])] {
        let values = serde_json::from_value::<portway_inspector::filter::FilterValues>(json!({ "id": id.to_string() }));
        inspector.set_filter(values.unwrap().into());
        assert_eq!(inspector.shown(), expected, "{id}");
    }
}

#[test]
fn the_messages_of_a_batch_in_a_detail_are_bounded() {
    let mut inspector = Inspector::default();
    for (count, expected) in [(MAX_DETAIL_ITEMS, MAX_DETAIL_ITEMS), (MAX_DETAIL_ITEMS + 1, MAX_DETAIL_ITEMS)] {
        let seq = take(&mut inspector, Sent, &batch((0..count).map(|_| NOTIFICATION.into())));
        let detail = inspector.detail(seq).unwrap();
        assert_eq!((detail.row.items as usize, detail.batch.len()), (count, expected));
    }
}

#[test]
fn the_listed_missing_ids_are_bounded() {
    for missing in [MAX_MISSING_IDS, MAX_MISSING_IDS + 1] {
        let mut inspector = Inspector::default();
        take(&mut inspector, Sent, &batch((0..=missing).map(|id| request(id, "m"))));
        let seq = take(&mut inspector, Received, &format!("[{}]", result(0)));
        let text = &inspector.detail(seq).unwrap().faults[0].text;
        let listed =
            (1..=missing).filter(|id| text.contains(&format!(" {id}, ")) || text.ends_with(&format!(" {id}."))).count();
        assert_eq!(listed, MAX_MISSING_IDS, "{text}");
        assert_eq!(text.ends_with(", 1 more."), missing > MAX_MISSING_IDS, "{text}");
    }
}

#[test]
fn the_listed_earlier_calls_are_bounded() {
    let mut inspector = Inspector::default();
    let calls: Vec<u64> = (0..MAX_EARLIER_CALLS + 2).map(|id| take(&mut inspector, Sent, &request(id, "m"))).collect();
    let count = |seq: u64| inspector.detail(seq).unwrap().earlier.len();
    assert_eq!(count(calls[MAX_EARLIER_CALLS]), MAX_EARLIER_CALLS);
    assert_eq!(count(calls[MAX_EARLIER_CALLS + 1]), MAX_EARLIER_CALLS);
}

#[test]
fn the_entries_of_a_layout_are_bounded() {
    let mut inspector = inspector(json!({ "limit": 2 * MAX_LAYOUT_ENTRIES }));
    // The header of the time bucket is an entry, too.
    (1..MAX_LAYOUT_ENTRIES).for_each(|_| _ = take(&mut inspector, Sent, NOTIFICATION));
    assert_eq!(inspector.layout(0.0, 1e9).rows.len(), MAX_LAYOUT_ENTRIES);
    take(&mut inspector, Sent, NOTIFICATION);
    assert_eq!(inspector.layout(0.0, 1e9).rows.len(), MAX_LAYOUT_ENTRIES);
}

#[test]
fn the_height_of_the_list_is_bounded() {
    let row = 10_000.0;
    let mut inspector =
        inspector(json!({ "limit": 10_000, "rowHeight": "fixed", "messageHeight": row, "headerHeight": row }));
    let rows = f64::from(DEFAULT_LIST_PIXELS) / row;
    (1..rows as u64).for_each(|_| _ = take(&mut inspector, Sent, NOTIFICATION));
    let layout = inspector.layout(0.0, 500.0);
    assert_eq!((layout.height, layout.scale), (f64::from(DEFAULT_LIST_PIXELS), 1.0));
    take(&mut inspector, Sent, NOTIFICATION);
    let layout = inspector.layout(0.0, 500.0);
    assert_eq!(layout.height, f64::from(DEFAULT_LIST_PIXELS));
    assert!(layout.scale > 1.0);
}

#[test]
fn the_id_of_a_link_is_bounded() {
    let mut inspector = Inspector::default();
    let mut open = |length| inspector.take(&Record::new(RecordKind::Open, 0, &"é".repeat(length)));
    assert!(open(MAX_LINK_CHARACTERS).is_ok());
    let reason = open(MAX_LINK_CHARACTERS + 1).unwrap_err();
    assert!(reason.contains(&format!("1 to {MAX_LINK_CHARACTERS} characters")), "{reason}");
}

#[test]
fn the_number_of_links_is_bounded() {
    let mut inspector = Inspector::default();
    let mut open = |number: usize| inspector.take(&Record::new(RecordKind::Open, 0, &number.to_string()));
    assert!((0..MAX_LINKS).all(|number| open(number).is_ok()));
    assert_eq!(open(MAX_LINKS).unwrap_err(), "there must be at most 10 000 links");
    assert!(open(0).is_ok());
    assert_eq!((MAX_LINKS, inspector.links().len()), (10_000, MAX_LINKS));
}

#[test]
fn the_texts_of_a_link_are_cut() {
    for length in [MAX_LINK_TEXT_CHARACTERS, MAX_LINK_TEXT_CHARACTERS + 1] {
        let mut inspector = Inspector::default();
        let text = "é".repeat(length);
        let (name, transport, reason) = (Some(&*text), Some(&*text), Some(&*text));
        inspector.take(&Record { name, transport, ..Record::new(RecordKind::Open, 0, "a") }).unwrap();
        inspector.take(&Record { reason, ..Record::new(RecordKind::Close, 0, "a") }).unwrap();
        let link = inspector.links().remove(0);
        for text in [link.name, link.transport.unwrap(), link.close_reason.unwrap()] {
            assert_eq!(text.chars().count(), MAX_LINK_TEXT_CHARACTERS);
        }
    }
}

#[test]
fn the_methods_with_figures_are_bounded() {
    let mut inspector = Inspector::default();
    let mut count = |number: usize| {
        take(&mut inspector, Sent, &request(number, &format!("method {number}")));
        let (named, combined): (Vec<_>, Vec<_>) =
            inspector.statistics(None).into_iter().partition(|it| it.method.is_some());
        (named.len(), combined.iter().map(|it| it.calls).sum::<u64>())
    };
    (1..MAX_METHODS).for_each(|number| _ = count(number));
    assert_eq!(count(MAX_METHODS), (MAX_METHODS, 0));
    assert_eq!(count(MAX_METHODS + 1), (MAX_METHODS, 1));
    assert_eq!(count(MAX_METHODS + 2), (MAX_METHODS, 2));
}

#[test]
fn a_stored_method_is_cut() {
    for length in [MAX_METHOD_CHARACTERS, MAX_METHOD_CHARACTERS + 1] {
        let mut inspector = Inspector::default();
        let seq = take(&mut inspector, Sent, &request(1, &"é".repeat(length)));
        let method = inspector.row(seq).unwrap().method.unwrap();
        assert_eq!(method.chars().count(), MAX_METHOD_CHARACTERS);
    }
}

#[test]
fn a_long_id_is_stored_as_its_beginning_and_a_hash() {
    for (length, is_whole) in [(MAX_ID_BYTES, true), (MAX_ID_BYTES + 1, false)] {
        let mut inspector = Inspector::default();
        let id = "x".repeat(length);
        let seq = take(&mut inspector, Sent, &json!({ "jsonrpc": "2.0", "id": id, "method": "m" }).to_string());
        let found = inspector.row(seq).unwrap().id.unwrap();
        assert_eq!(found == format!("\"{id}\""), is_whole, "{found}");
    }
}

#[test]
fn the_pending_calls_without_a_row_are_bounded() {
    let mut inspector = inspector(json!({ "limit": 1, "preferPending": false }));
    // The last call has a row.
    (0..=MAX_CALLS_WITHOUT_ROW).for_each(|id| _ = take(&mut inspector, Sent, &request(id, "m")));
    assert_eq!(inspector.totals().pending, MAX_CALLS_WITHOUT_ROW + 1);
    take(&mut inspector, Sent, &request(MAX_CALLS_WITHOUT_ROW + 1, "m"));
    assert_eq!(inspector.totals().pending, MAX_CALLS_WITHOUT_ROW + 1);
    // This response displaces the row of the last call, so the oldest call without a row is forgotten.
    take(&mut inspector, Received, &result(0));
    assert_eq!((inspector.totals().pending, inspector.totals().unmatched), (MAX_CALLS_WITHOUT_ROW, 1));
    take(&mut inspector, Received, &result(2));
    assert_eq!((inspector.totals().pending, inspector.totals().unmatched), (MAX_CALLS_WITHOUT_ROW - 1, 1));
}

#[test]
fn the_answered_calls_are_bounded() {
    for (answered, is_known) in [(MAX_ANSWERED_CALLS, true), (MAX_ANSWERED_CALLS + 1, false)] {
        let mut inspector = Inspector::default();
        inspector.take(&Record::new(RecordKind::Open, 0, "a")).unwrap();
        for id in 0..answered {
            take(&mut inspector, Sent, &request(id, "m"));
            take(&mut inspector, Received, &result(id));
        }
        let seq = take(&mut inspector, Received, &result(0));
        let text = &inspector.detail(seq).unwrap().faults[0].text;
        assert_eq!(text.contains("already has a response"), is_known, "{text}");
    }
}

#[test]
fn the_reported_lines_of_a_file_are_bounded() {
    for count in [MAX_IMPORT_PROBLEMS, MAX_IMPORT_PROBLEMS + 1] {
        let file = format!("{}\n{}", r#"{"kind":"open","at":1,"link":"a"}"#, "x\n".repeat(count));
        let imported = import(&file);
        assert_eq!((imported.lines.lines().count(), imported.problems.len()), (1, MAX_IMPORT_PROBLEMS));
    }
}

#[test]
fn the_names_of_secrets_are_bounded() {
    let names = SecretNames::new((0..=MAX_SECRET_NAMES).map(|number| format!("name{number}")));
    let text = |number: usize| json!({ format!("name{number}"): 1 }).to_string();
    let is_masked = |number| mask(&text(number), &names) != text(number);
    assert!(is_masked(MAX_SECRET_NAMES - 1));
    assert!(!is_masked(MAX_SECRET_NAMES));
}

#[test]
fn the_value_in_the_name_of_an_export_is_cut() {
    for length in [MAX_EXPORT_NAME_CHARACTERS, MAX_EXPORT_NAME_CHARACTERS + 1] {
        let value = "q".repeat(length);
        let name = name(0, NameFilter { text: Some(&value), ..NameFilter::default() }, Format::Json);
        assert_eq!(name.matches('q').count(), MAX_EXPORT_NAME_CHARACTERS);
    }
}

/// Returns the time of 1 000 responses to no call and 1 000 closes on one link, with pending calls on another link.
fn time_of_faults(pending: usize) -> Duration {
    let mut inspector = inspector(json!({ "limit": 100_000 }));
    (0..pending).for_each(|id| _ = take(&mut inspector, Sent, &request(id, "m")));
    inspector.take(&Record::new(RecordKind::Open, 0, "b")).unwrap();
    let start = Instant::now();
    for id in 0..1_000 {
        inspector.take(&Record::message(0, "b", Received, &result(id))).unwrap();
        inspector.take(&Record::new(RecordKind::Open, 0, "b")).unwrap();
    }
    start.elapsed()
}

#[test]
fn pending_calls_of_one_link_do_not_slow_the_records_of_another_link() {
    let (few, many) = (time_of_faults(10), time_of_faults(50_000));
    assert!(many < 10 * few + Duration::from_millis(50), "{few:?} with 10 calls, {many:?} with 50 000 calls");
}

/// Returns the time of 500 pairs of a request and a close, which ends the request. The history has 20 000 rows.
fn time_of_ended_calls(errors_only: bool) -> Duration {
    let mut inspector = inspector(json!({ "limit": 20_000 }));
    (0..20_000).for_each(|_| _ = take(&mut inspector, Sent, NOTIFICATION));
    let values =
        serde_json::from_value::<portway_inspector::filter::FilterValues>(json!({ "errorsOnly": errors_only }));
    inspector.set_filter(values.unwrap().into());
    let start = Instant::now();
    for id in 0..500 {
        inspector.take_one_of_many(&Record::message(0, "a", Sent, &request(id, "m"))).unwrap();
        inspector.take_one_of_many(&Record::new(RecordKind::Close, 0, "a")).unwrap();
    }
    inspector.add_missing_rows();
    assert_eq!(inspector.shown().len(), if errors_only { 500 } else { 20_000 });
    start.elapsed()
}

#[test]
fn rows_that_pass_the_filter_later_do_not_slow_records_that_are_taken_together() {
    let (all, errors) = (time_of_ended_calls(false), time_of_ended_calls(true));
    assert!(errors < 10 * all + Duration::from_millis(100), "{all:?} without the filter, {errors:?} with it");
}
