//! Tests of the history and its readers.

use super::reader::Reader;
use super::*;

/// A generator of random numbers: xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize) % end.max(1)
    }
}

/// The records that a page has read, as counts.
#[derive(Default)]
struct Page {
    open: HashSet<String>,
    /// Messages, and the bytes of messages, of each direction.
    counts: [[u64; 2]; 2],
}

impl Page {
    fn read(&mut self, lines: &[u8]) {
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            assert!(line.ends_with(b"\n"));
            let record: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
            let link = record["link"].as_str().unwrap_or_default().to_owned();
            let number = |name: &str| record[name].as_u64().unwrap_or_default();
            let counts = &mut self.counts[usize::from(record["direction"] == "received")];
            match record["kind"].as_str() {
                Some("open") => {
                    assert!(self.open.insert(link.clone()), "{link} is opened once");
                }
                Some("message") => {
                    assert!(self.open.contains(&link), "{link} is open");
                    counts[0] += 1;
                    counts[1] += number("size");
                }
                Some("gap") => {
                    assert!(number("messages") > 0);
                    counts[0] += number("messages");
                    counts[1] += number("bytes");
                }
                Some("close") => assert!(self.open.remove(&link), "{link} is closed once"),
                kind => assert_eq!(kind, Some("a record")),
            }
        }
    }
}

#[test]
fn each_page_reads_or_counts_each_message_once() {
    for seed in 1..=40 {
        let mut random = Random(seed);
        let history = History::new(500 + random.below(4_000));
        let mut writer = history.writer();
        let mut pages: Vec<(Reader, Page)> = Vec::new();
        let (mut open, mut closed, mut opened) = (Vec::new(), Vec::new(), 0);
        let mut total = [[0; 2]; 2];
        for step in 0..600 {
            let record = match random.below(12) {
                0 => {
                    // A link that reconnects uses its id again.
                    let link = if random.below(2) == 0 && !closed.is_empty() {
                        closed.swap_remove(random.below(closed.len()))
                    } else {
                        opened += 1;
                        opened
                    };
                    open.push(link);
                    json!({ "kind": "open", "at": step, "link": format!("é{link}"), "name": "n" })
                }
                1 if !open.is_empty() => {
                    let link = open.swap_remove(random.below(open.len()));
                    closed.push(link);
                    json!({ "kind": "close", "at": step, "link": format!("é{link}"), "reason": "end" })
                }
                _ if !open.is_empty() => {
                    let (link, side) = (open[random.below(open.len())], random.below(2));
                    let (kind, count) = if random.below(9) == 0 { ("gap", 3) } else { ("message", 1) };
                    let bytes = random.below(400) as u64;
                    total[side][0] += count;
                    total[side][1] += bytes;
                    json!({
                        "kind": kind,
                        "at": step,
                        "link": format!("é{link}"),
                        "direction": if side == 0 { "sent" } else { "received" },
                        "text": "x".repeat(bytes as usize),
                        "size": bytes,
                        "messages": count,
                        "bytes": bytes,
                    })
                }
                _ => continue,
            };
            let line = format!("{record}\n");
            let (first, rest) = line.as_bytes().split_at(random.below(line.len()));
            assert!(writer.write_all(first).and_then(|()| writer.write_all(rest)).is_ok());
            assert!(history.lock().bytes <= history.max_bytes);
            if random.below(100) == 0 {
                pages.push((history.reader(), Page::default()));
            }
            for (reader, page) in &mut pages {
                if random.below(60) == 0 {
                    page.read(&reader.read());
                }
            }
        }
        pages.push((history.reader(), Page::default()));
        writer.close_links("the end");
        for (reader, page) in &mut pages {
            page.read(&reader.read());
            assert_eq!(page.counts, total, "seed {seed}");
            assert!(page.open.is_empty(), "seed {seed}: {:?}", page.open);
        }
        assert!(writer.open.is_empty() && writer.rejected == 0);
    }
}

#[test]
fn a_line_that_is_not_a_record_is_ignored_and_counted() {
    let history = History::new(1_000);
    let mut writer = history.writer();
    for line in ["\n", "[]\n", "{}\n", "{\"kind\":\"open\"}\n", "{\"kind\":1,\"link\":\"a\"}\n", "\u{0}\n"] {
        assert!(writer.write_all(line.as_bytes()).is_ok());
    }
    assert_eq!(writer.rejected(), 6);
    assert!(history.reader().read().is_empty());
}

/// Returns the kind of each record of a link, and the name of an `open`.
fn kinds(lines: &[u8], link: &str) -> Vec<String> {
    let records = lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    let of_link = records.filter(|record: &serde_json::Value| record["link"] == link);
    of_link.map(|record| format!("{}{}", record["kind"], record["name"]).replace("null", "")).collect()
}

#[test]
fn a_link_that_reconnects_stays_open_when_its_earlier_close_is_dropped() {
    let history = History::new(2_000);
    let mut writer = history.writer();
    let mut write = |record: serde_json::Value| assert!(writer.write_all(format!("{record}\n").as_bytes()).is_ok());
    let message =
        |link: &str| json!({ "kind": "message", "at": 1, "link": link, "direction": "sent", "text": "x".repeat(100) });
    let mut early = history.reader();
    write(json!({ "kind": "open", "at": 1, "link": "L", "name": "1" }));
    write(json!({ "kind": "close", "at": 1, "link": "L", "reason": "network" }));
    let mut between = history.reader();
    assert_eq!(kinds(&between.read(), "L"), ["\"open\"\"1\"", "\"close\""]);
    write(json!({ "kind": "open", "at": 1, "link": "L", "name": "2" }));
    assert_eq!(kinds(&early.read(), "L"), ["\"open\"\"1\"", "\"close\"", "\"open\"\"2\""]);
    write(json!({ "kind": "open", "at": 1, "link": "M", "name": "m" }));
    for _ in 0..100 {
        write(message("M"));
    }
    write(message("L"));
    assert_eq!(kinds(&early.read(), "L"), ["\"message\""]);
    assert_eq!(kinds(&between.read(), "L"), ["\"open\"\"2\"", "\"message\""]);
    assert_eq!(kinds(&history.reader().read(), "L"), ["\"open\"\"2\"", "\"message\""]);
    write(json!({ "kind": "close", "at": 1, "link": "L", "reason": "end" }));
    for _ in 0..100 {
        write(message("M"));
    }
    assert_eq!(kinds(&early.read(), "L"), ["\"close\""]);
    assert!(kinds(&history.reader().read(), "L").iter().all(|kind| kind == "\"gap\""));
}
