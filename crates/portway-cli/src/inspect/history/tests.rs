//! Tests of the history and its readers.

use super::reader::Reader;
use super::*;
use crate::limits::MAX_LINK_CHARACTERS;

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
    /// For each direction, the number of messages and the number of their bytes.
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
                    assert!(self.open.insert(link.clone()), "{link} must be opened only once");
                }
                Some("message") => {
                    assert!(self.open.contains(&link), "{link} must be open");
                    counts[0] += 1;
                    counts[1] += number("size");
                }
                Some("gap") => {
                    assert!(number("messages") > 0);
                    counts[0] += number("messages");
                    counts[1] += number("bytes");
                }
                Some("close") => assert!(self.open.remove(&link), "{link} must be closed only once"),
                kind => assert_eq!(kind, Some("a record")),
            }
        }
    }
}

#[test]
fn each_page_reads_or_counts_each_message_once() {
    for seed in 1..=20 {
        let mut random = Random(seed);
        let history = History::new(40_000 + random.below(40_000));
        let mut writer = history.program_writer();
        let mut pages: Vec<(Reader, Page)> = Vec::new();
        let (mut open, mut closed, mut opened) = (Vec::new(), Vec::new(), 0);
        let mut total = [[0; 2]; 2];
        for step in 0..2_000 {
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
            assert_eq!(writer.refused, 0, "seed {seed}, step {step}");
            assert!(step % 16 > 0 || used_bytes(&history) <= history.max_bytes);
            if random.below(300) == 0 {
                pages.push((history.reader(), Page::default()));
            }
            for (reader, page) in &mut pages {
                if random.below(200) == 0 {
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
        assert!(writer.open.is_none_or(|open| open.is_empty()) && writer.refused == 0);
    }
}

/// Returns the memory of the records and of the links. Checks that `link_bytes` is the memory of the links.
fn used_bytes(history: &History) -> usize {
    let state = history.lock();
    let opens = |link: &Link| link.opens.iter().map(|open| OPEN_BYTES + open.line.len()).sum::<usize>();
    let links: usize = state.links.iter().map(|(id, link)| LINK_BYTES + id.len() + opens(link)).sum();
    assert_eq!(links, state.link_bytes);
    state.bytes + state.link_bytes
}

fn write_all(writer: &mut Lines, text: &str) {
    assert!(writer.write_all(text.as_bytes()).is_ok());
}

#[test]
fn a_line_that_is_not_a_record_is_ignored_and_counted() {
    let history = History::new(10_000);
    let mut writer = history.writer();
    let gap = |name: &str, number: u64| {
        let mut record = json!({ "kind": "gap", "at": 1, "link": "a", "direction": "sent", "messages": 1, "bytes": 1 });
        record[name] = number.into();
        record.to_string()
    };
    let open = |id: &str| json!({ "kind": "open", "at": 1, "link": id, "name": "n" }).to_string();
    let not_records = [
        "",
        "[]",
        "{}",
        "{\"kind\":\"open\"}",
        "{\"kind\":1,\"at\":1,\"link\":\"a\"}",
        "\u{0}",
        "{\"kind\":\"end\"}",
        "{\"kind\":\"end\",\"at\":1,\"link\":\"a\"}",
        "{\"kind\":\"opened\",\"at\":1,\"link\":\"a\"}",
        "{\"kind\":\"open\",\"link\":\"a\"}",
        "{\"kind\":\"open\",\"at\":-1,\"link\":\"a\"}",
        "[\"open\",\"a\",1,null,null,null,null]",
        " [\"open\",\"a\",1,null,null,null,null]",
        &gap("messages", (1 << 53) + 1),
        &gap("bytes", u64::MAX),
        &gap("size", u64::MAX),
        &gap("at", u64::MAX),
        &open(""),
        &open(&"é".repeat(MAX_LINK_CHARACTERS + 1)),
    ];
    for line in not_records {
        write_all(&mut writer, &format!("{line}\n"));
    }
    assert!(writer.write_all(b"{\"kind\":\"open\",\"at\":1,\"link\":\"a\",\"name\":\"\xff\"}\n").is_ok());
    assert_eq!(writer.refused(), not_records.len() as u64 + 1);
    assert!(history.reader().read().is_empty());
    for line in [gap("messages", 1 << 53), open(&"é".repeat(MAX_LINK_CHARACTERS)), format!(" \t{}\r", open("a"))] {
        write_all(&mut writer, &format!("{line}\n"));
    }
    assert_eq!(history.lock().records.len(), 3);
}

#[test]
fn the_counts_of_dropped_messages_do_not_overflow() {
    let history = History::new(2_000);
    let mut writer = history.writer();
    let most = 1_u64 << 53;
    for _ in 0..3_000 {
        let gap = json!({ "kind": "gap", "at": 1, "link": "a", "direction": "sent", "messages": most, "bytes": most });
        write_all(&mut writer, &format!("{gap}\n"));
    }
    let lines = String::from_utf8_lossy(&history.reader().read()).into_owned();
    assert!(lines.contains(&format!("\"bytes\":{},", u64::MAX)), "{lines}");
}

#[test]
fn the_open_links_of_a_program_are_bounded_and_end_with_the_program() {
    let history = History::new(16 << 20);
    let mut writer = history.program_writer();
    let message =
        |link: usize| format!("{{\"kind\":\"message\",\"at\":1,\"link\":\"l{link}\",\"direction\":\"sent\"}}\n");
    for link in 0..MAX_PROGRAM_LINKS + 10 {
        // A link without a record `open` counts as well.
        write_all(&mut writer, &message(link));
    }
    assert_eq!((writer.refused(), history.lock().links.len()), (10, MAX_PROGRAM_LINKS));
    write_all(&mut writer, "{\"kind\":\"close\",\"at\":1,\"link\":\"l0\"}\n");
    write_all(&mut writer, &message(MAX_PROGRAM_LINKS));
    write_all(&mut writer, &message(MAX_PROGRAM_LINKS + 1));
    assert_eq!(writer.refused(), 11);
    writer.close_links("the end");
    // The closed links remain until their records are dropped. Then only the link `m` is left.
    let mut other = history.program_writer();
    while history.lock().links.len() > 1 {
        write_all(
            &mut other,
            &format!("{{\"kind\":\"message\",\"at\":1,\"link\":\"m\",\"text\":\"{}\"}}\n", "x".repeat(10_000)),
        );
    }
    assert_eq!(used_bytes(&history), history.lock().bytes + LINK_BYTES + 1);
}

#[test]
fn the_memory_of_links_is_bounded() {
    let history = History::new(100_000);
    let name = "n".repeat(1_000);
    let mut refused = 0;
    for program in 0..10 {
        let mut writer = history.program_writer();
        for link in 0..100 {
            let open = json!({ "kind": "open", "at": 1, "link": format!("{program}-{link}"), "name": name });
            write_all(&mut writer, &format!("{open}\n"));
            assert!(used_bytes(&history) <= history.max_bytes);
        }
        refused += writer.refused();
    }
    assert!((950..1_000).contains(&refused), "{refused}");
    // A link without a record `open` is forgotten with its last record.
    let mut writer = history.writer();
    for link in 0..10_000 {
        write_all(
            &mut writer,
            &format!("{{\"kind\":\"message\",\"at\":1,\"link\":\"l{link}\",\"text\":\"{name}\"}}\n"),
        );
        assert!(used_bytes(&history) <= history.max_bytes);
    }
}

/// Returns the kind of each record of a link, and the name of an `open`.
fn kinds(lines: &[u8], link: &str) -> Vec<String> {
    let records = lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    let of_link = records.filter(|record: &serde_json::Value| record["link"] == link);
    of_link.map(|record| format!("{}{}", record["kind"], record["name"]).replace("null", "")).collect()
}

#[test]
fn a_link_that_reconnects_stays_open_when_its_earlier_close_is_dropped() {
    let history = History::new(4_000);
    let mut writer = history.writer();
    let mut write = |record: serde_json::Value| assert!(writer.write_all(format!("{record}\n").as_bytes()).is_ok());
    let message =
        |link: &str| json!({ "kind": "message", "at": 1, "link": link, "direction": "sent", "text": "x".repeat(100) });
    let mut reader_from_start = history.reader();
    write(json!({ "kind": "open", "at": 1, "link": "L", "name": "1" }));
    write(json!({ "kind": "close", "at": 1, "link": "L", "reason": "network" }));
    let mut reader_after_close = history.reader();
    assert_eq!(kinds(&reader_after_close.read(), "L"), ["\"open\"\"1\"", "\"close\""]);
    write(json!({ "kind": "open", "at": 1, "link": "L", "name": "2" }));
    assert_eq!(kinds(&reader_from_start.read(), "L"), ["\"open\"\"1\"", "\"close\"", "\"open\"\"2\""]);
    write(json!({ "kind": "open", "at": 1, "link": "M", "name": "m" }));
    for _ in 0..100 {
        write(message("M"));
    }
    write(message("L"));
    assert_eq!(kinds(&reader_from_start.read(), "L"), ["\"message\""]);
    assert_eq!(kinds(&reader_after_close.read(), "L"), ["\"open\"\"2\"", "\"message\""]);
    assert_eq!(kinds(&history.reader().read(), "L"), ["\"open\"\"2\"", "\"message\""]);
    write(json!({ "kind": "close", "at": 1, "link": "L", "reason": "end" }));
    for _ in 0..100 {
        write(message("M"));
    }
    assert_eq!(kinds(&reader_from_start.read(), "L"), ["\"close\""]);
    assert!(kinds(&history.reader().read(), "L").iter().all(|kind| kind == "\"gap\""));
}
