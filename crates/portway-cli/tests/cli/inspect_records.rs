//! `portway tap --inspect` and `portway inspect --listen-records`: the records that pages read.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::command::{TEST_TIMEOUT, Test};
use crate::inspecting::Inspecting;

/// The value of `MAX_INSPECTOR_PAGES`.
const MAX_PAGES: usize = 5;

fn message(number: usize) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"é{number}\"}}")
}

/// Returns a record without the members that differ between the taps of one link.
fn content(record: &Value) -> Value {
    let mut record = record.clone();
    if let Some(record) = record.as_object_mut() {
        record.remove("at");
        record.remove("link");
    }
    record
}

#[test]
fn a_page_reads_the_same_records_as_the_file_even_if_the_page_is_opened_later() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("records.jsonl");
    let arguments = ["tap", "--inspect", "--to-file", file.to_str().ok_or("no path")?, "--", "cat"];
    let mut inspecting = Inspecting::start(&arguments)?;
    let mut stdin = inspecting.stdin.take().ok_or("no input")?;
    let mut output = BufReader::new(inspecting.stdout.take().ok_or("no output")?);
    let mut early = inspecting.records()?;
    let mut pass = |text: &str| -> Test {
        let mut line = String::new();
        // A long text fills the pipes, so it is read while it is written.
        thread::scope(|threads| {
            let written = threads.spawn(|| stdin.write_all(format!("{text}\n").as_bytes()));
            output.read_line(&mut line)?;
            written.join().map_err(|_| "the thread panicked")?.map_err(Box::<dyn Error>::from)
        })?;
        assert_eq!(line.trim_end(), text);
        Ok(())
    };
    let mut shown = vec![early.next()?.ok_or("no record")?];
    assert_eq!((&shown[0]["kind"], &shown[0]["name"]), (&json!("open"), &json!("cat")));
    for number in 0..100 {
        pass(&message(number))?;
    }
    pass("[1, not JSON")?;
    // A tap without a file or a writer cuts a text after 256 KiB. This longer text must not be cut.
    pass(&format!("{{\"jsonrpc\":\"2.0\",\"method\":\"long\",\"params\":[\"{}\"]}}", "x".repeat(300_000)))?;
    // The records arrive while the program runs.
    while shown.len() < 1 + 2 * 102 {
        shown.push(early.next()?.ok_or("the stream has ended too early")?);
    }
    let mut late = inspecting.records()?;
    drop(stdin);
    shown.extend(early.rest()?);
    assert_eq!(late.rest()?, shown);
    assert_eq!(inspecting.exit_code()?, Some(0));
    let records = crate::tap::records(&file)?;
    assert_eq!(records.len(), 2 + 2 * 102);
    // Two threads record the two directions, so each tap may mix the records of both directions in its own order.
    for direction in ["sent", "received"] {
        let of = |records: &[Value]| -> Vec<Value> {
            records.iter().filter(|record| record["direction"] == direction).map(content).collect()
        };
        assert_eq!(of(&shown), of(&records));
    }
    assert_eq!(content(&shown[0]), content(&records[0]));
    assert_eq!(shown.last().map(content), records.last().map(content));
    Ok(())
}

/// Returns the number of messages of each direction: those that have a record, and those that a `gap` counts.
fn counts(records: &[Value]) -> [u64; 2] {
    ["sent", "received"].map(|direction| {
        let of = records.iter().filter(|record| record["direction"] == direction);
        of.map(|record| if record["kind"] == "gap" { record["messages"].as_u64().unwrap_or(0) } else { 1 }).sum()
    })
}

#[test]
fn a_page_that_stops_reading_does_not_delay_the_link_and_a_gap_counts_its_lost_messages() -> Test {
    /// The history and the buffers of the sockets have no room for so many messages of `LENGTH` bytes.
    const MESSAGES: usize = 300;
    const LENGTH: usize = 100_000;
    let mut inspecting = Inspecting::start(&["tap", "--inspect", "--", "cat"])?;
    let (mut stopped, mut live) = (inspecting.records()?, inspecting.records()?);
    let first = stopped.next()?.ok_or("no record")?;
    assert_eq!(live.next()?.as_ref(), Some(&first));
    let mut stdin = inspecting.stdin.take().ok_or("no input")?;
    let mut output = inspecting.stdout.take().ok_or("no output")?;
    let line = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}\n", "m".repeat(LENGTH));
    let mut echo = vec![0; line.len()];
    for _ in 0..MESSAGES {
        thread::scope(|threads| {
            let written = threads.spawn(|| stdin.write_all(line.as_bytes()));
            output.read_exact(&mut echo)?;
            written.join().map_err(|_| "the thread panicked")?.map_err(Box::<dyn Error>::from)
        })?;
        assert!(echo == line.as_bytes());
        // A page that reads loses nothing. The test waits for this page, because the queue of a tap is small.
        for _ in ["sent", "received"] {
            assert_eq!(live.next()?.ok_or("the stream has ended too early")?["size"], line.len() - 1);
        }
    }
    let mut late = inspecting.records()?;
    let late_first = late.next()?.ok_or("no record")?;
    // The history no longer has the record `open`, but the server sends the record to each new page.
    assert_eq!(late_first, first);
    let mut shown = [vec![first], vec![late_first]];
    for (page, records) in [&mut stopped, &mut late].into_iter().zip(&mut shown) {
        while counts(records) != [MESSAGES as u64; 2] {
            records.push(page.next()?.ok_or("the stream has ended too early")?);
        }
    }
    drop(stdin);
    assert_eq!(live.rest()?.len(), 1, "only the record of the end must remain");
    for (page, records) in [&mut stopped, &mut late].into_iter().zip(&mut shown) {
        records.extend(page.rest()?);
    }
    for records in &shown {
        let kinds: Vec<_> = records.iter().filter_map(|record| record["kind"].as_str()).collect();
        assert!(kinds.contains(&"gap"), "{kinds:?}");
        assert_eq!(kinds.iter().filter(|kind| **kind == "open").count(), 1);
        assert_eq!(kinds.last(), Some(&"close"));
        assert_eq!(counts(records), [MESSAGES as u64; 2]);
        let bytes: usize = records.iter().filter_map(|record| record["text"].as_str()).map(str::len).sum();
        assert!(bytes > 30_000_000, "{bytes}");
    }
    assert_eq!(inspecting.exit_code()?, Some(0));
    Ok(())
}

#[test]
fn the_number_of_pages_is_bounded() -> Test {
    let mut inspecting = Inspecting::start(&["tap", "--inspect", "--", "cat"])?;
    let mut pages = Vec::new();
    for _ in 0..MAX_PAGES {
        pages.push(inspecting.records()?);
    }
    let refused = inspecting.get("records", "")?;
    let expected = "at most 5 pages can read the records; close another page first\n";
    assert_eq!((refused.status, refused.text().as_str()), (503, expected));
    // The server still serves the files of the page.
    assert_eq!(inspecting.get("", "")?.status, 200);
    pages.pop();
    let start = Instant::now();
    while inspecting.records().is_err() {
        assert!(start.elapsed() < TEST_TIMEOUT, "a closed page must make room");
        thread::sleep(Duration::from_millis(5));
    }
    drop(inspecting.stdin.take());
    for mut page in pages {
        assert_eq!(page.rest()?.len(), 2);
    }
    Ok(())
}

#[test]
fn programs_send_records_over_a_socket() -> Test {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("records.sock");
    let mut inspecting = Inspecting::start(&["inspect", "--listen-records", socket.to_str().ok_or("no path")?])?;
    let mut page = inspecting.records()?;
    let open = json!({ "kind": "open", "at": 1, "link": "a-1", "name": "my link", "transport": "stdio" });
    let message = json!({
        "kind": "message", "at": 2, "link": "a-1", "direction": "sent", "form": "text", "text": "{}", "size": 2,
    });
    let close = json!({ "kind": "close", "at": 3, "link": "a-2", "reason": "the end" });
    let mut program = UnixStream::connect(&socket)?;
    for record in [&open, &message, &json!({ "kind": "open", "at": 1, "link": "a-2", "name": "b" }), &close] {
        program.write_all(format!("{record}\n").as_bytes())?;
    }
    program.write_all(b"not a record\n{\"kind\":\"open\"}\n[1")?;
    let shown = [(); 4].map(|()| page.next().ok().flatten().unwrap_or_default());
    assert_eq!((&shown[0], &shown[1], &shown[3]), (&open, &message, &close));
    drop(program);
    let end = page.next()?.ok_or("no record")?;
    let reason = "the program has disconnected from the inspector";
    let expected = json!({ "kind": "close", "link": "a-1", "reason": reason });
    assert_eq!(
        (&end["kind"], &end["link"], &end["reason"]),
        (&expected["kind"], &expected["link"], &expected["reason"])
    );
    inspecting.signal(Signal::TERM)?;
    assert_eq!(page.rest()?, Vec::<Value>::new());
    assert_eq!(inspecting.exit_code()?, Some(0));
    Ok(())
}
