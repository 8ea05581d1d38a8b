//! The list of a large history: it can be scrolled to any row, and rows do not move if other rows are added or dropped.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

use portway_inspector::inspector::{Content, Inspector, Options, OptionsPatch};
use portway_inspector::record::{Direction, Record};
use serde_json::json;

const VIEWPORT: f64 = 700.0;

fn inspector(options: serde_json::Value) -> Inspector {
    let patch: OptionsPatch = serde_json::from_value(options).unwrap();
    Inspector::new(Options::default().patched(patch))
}

fn take(inspector: &mut Inspector, count: u64) {
    for _ in 0..count {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"m{}"}}"#, inspector.next_seq() % 10);
        inspector.take(&Record::message(inspector.next_seq(), "link", Direction::Received, &text)).unwrap();
    }
}

/// Returns the rows and their distances from the top of the viewport.
fn visible(inspector: &Inspector, scroll_top: f64) -> Vec<(u64, f64)> {
    let entries = inspector.layout(scroll_top, VIEWPORT).rows.into_iter();
    let rows = entries.filter_map(|entry| match entry.content {
        Content::Message(row) => Some((row.seq, entry.top - scroll_top, entry.height)),
        Content::Header { .. } => None,
    });
    rows.filter(|(_, top, height)| *top < VIEWPORT && top + height > 0.0).map(|(seq, top, _)| (seq, top)).collect()
}

#[test]
fn the_first_middle_and_last_of_a_million_rows_are_reached_although_browsers_limit_the_height() {
    const COUNT: u64 = 1_000_000;
    let mut inspector = inspector(json!({ "limit": COUNT }));
    take(&mut inspector, COUNT);
    let layout = inspector.layout(0.0, VIEWPORT);
    assert_eq!((layout.height, layout.count), (15_000_000.0, 1_000_001));
    assert!((6.4..6.5).contains(&layout.scale), "{}", layout.scale);
    for seq in [0, 1, 499_999, 500_000, 999_998, 999_999] {
        for align in [0.0, 0.5, 1.0] {
            let scroll_top = inspector.reveal(seq, VIEWPORT, align).unwrap();
            // Browsers round the position to device pixels.
            let visible = visible(&inspector, scroll_top.round());
            let (_, top) = visible.iter().find(|(found, _)| *found == seq).unwrap();
            assert!((-10.0..VIEWPORT).contains(top), "{seq} {align} {top}");
        }
    }
    let end = inspector.end(VIEWPORT);
    let last = inspector.layout(end, VIEWPORT);
    assert!(last.is_at_end && visible(&inspector, end).last().unwrap().0 == COUNT - 1);
    let bottom = last.rows.last().map(|row| row.top + row.height).unwrap();
    assert!((bottom - last.height).abs() < 0.1, "{bottom}");
}

#[test]
fn scrolling_by_one_pixel_skips_no_row() {
    let mut inspector = inspector(json!({ "limit": 100_000, "maxHeight": 1_000_000 }));
    take(&mut inspector, 100_000);
    let scale = inspector.layout(0.0, VIEWPORT).scale;
    assert!((8.0..10.0).contains(&scale));
    let mut last = 0;
    for step in 0..2_000_u32 {
        let visible = visible(&inspector, 400_000.0 + f64::from(step));
        let (first, end) = (visible.first().unwrap().0, visible.last().unwrap().0);
        assert!(last == 0 || first <= last, "no row between {last} and {first} was visible");
        assert_eq!(visible.len() as u64, end - first + 1);
        last = end;
    }
}

#[test]
fn rows_in_the_viewport_stay_where_they_are() {
    for options in [json!({ "limit": 2_000 }), json!({ "limit": 20_000, "maxHeight": 100_000 })] {
        let mut inspector = inspector(options);
        take(&mut inspector, 3_000);
        let mut scroll_top = inspector.reveal(2_500, VIEWPORT, 0.3).unwrap();
        for round in 0..20 {
            let before = visible(&inspector, scroll_top);
            let anchor = inspector.layout(scroll_top, VIEWPORT).anchor.unwrap();
            take(&mut inspector, 70);
            if round % 3 == 0 {
                inspector.set_height(before.first().unwrap().0 - 1, 200.0 + f64::from(round));
            }
            scroll_top = inspector.scroll_top(anchor, VIEWPORT);
            for ((seq, top), (found, place)) in before.into_iter().zip(visible(&inspector, scroll_top)) {
                assert_eq!(seq, found);
                assert!((top - place).abs() < 0.1, "{seq}: {top} {place}");
            }
        }
        // All visible rows are dropped. The viewport then begins with the first row of the list.
        let anchor = inspector.layout(scroll_top, VIEWPORT).anchor.unwrap();
        take(&mut inspector, 20_000);
        let first = visible(&inspector, inspector.scroll_top(anchor, VIEWPORT)).first().unwrap().0;
        assert_eq!(Some(first), inspector.first());
    }
}

#[test]
fn the_keyboard_steps_from_message_to_message() {
    let mut inspector = inspector(json!({ "limit": 100 }));
    assert_eq!((inspector.first(), inspector.last(), inspector.step(5, 1)), (None, None, None));
    take(&mut inspector, 150);
    assert_eq!((inspector.first(), inspector.last()), (Some(50), Some(149)));
    assert_eq!(
        [(50, 1), (149, 1), (50, -1), (60, -5), (60, 1_000), (3, 0)].map(|(seq, by)| inspector.step(seq, by)),
        [Some(51), Some(149), Some(50), Some(55), Some(149), Some(50)]
    );
    assert_eq!(inspector.list_rows(0, 3).iter().map(|row| row.seq).collect::<Vec<_>>(), [50, 51, 52]);
}

#[test]
fn positions_that_are_not_finite_or_out_of_range_do_no_harm() {
    let mut inspector = inspector(json!({}));
    for position in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -5.0, 1e300] {
        assert!(inspector.layout(position, position).rows.is_empty());
    }
    take(&mut inspector, 10);
    for position in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -5.0, 1e300] {
        assert!(!inspector.layout(position, VIEWPORT).rows.is_empty());
        assert!(inspector.layout(0.0, position).rows.len() <= 2_000);
        inspector.set_height(3, position);
    }
    assert!(inspector.layout(0.0, VIEWPORT).height.is_finite());
}
