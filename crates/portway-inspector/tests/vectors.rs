//! Runs the vectors of `tests/data/inspector.json`. `tests/data/README.md` describes them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed test is a panic")]

use portway_inspector::filter::{Filter, FilterValues};
use portway_inspector::inspector::{Content, Inspector, Options, OptionsPatch};
use portway_inspector::record::{Direction, Record, RecordKind};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The viewport of the vectors, which is high enough for all rows.
const VIEWPORT: f64 = 100_000.0;

#[test]
fn the_inspector_does_as_its_vectors_specify() {
    let vectors: Vec<Map<String, Value>> =
        serde_json::from_str(include_str!("../../../tests/data/inspector.json")).unwrap();
    assert!(vectors.len() > 30);
    let failures: Vec<String> = vectors.iter().filter_map(|vector| run(vector).err()).collect();
    assert!(failures.is_empty(), "{} of {} failed\n{}", failures.len(), vectors.len(), failures.join("\n"));
}

/// Plays the steps of a vector.
fn run(vector: &Map<String, Value>) -> Result<(), String> {
    let mut player = Player {
        inspector: Inspector::new(patched(&Options::default(), vector.get("options"))),
        rejected: None,
        rows: Vec::new(),
        texts: Vec::new(),
    };
    for (index, step) in vector["steps"].as_array().unwrap().iter().enumerate() {
        let result = player.step(step.as_object().unwrap());
        result.map_err(|failure| format!("{}, step {index}: {failure}", vector["name"]))?;
    }
    Ok(())
}

fn patched(options: &Options, patch: Option<&Value>) -> Options {
    let patch = patch.cloned().unwrap_or_else(|| json!({}));
    options.patched(serde_json::from_value::<OptionsPatch>(patch).unwrap())
}

struct Player {
    inspector: Inspector,
    /// The reason why the last record was rejected.
    rejected: Option<&'static str>,
    /// The dropped rows that no step `dropped` has taken yet.
    rows: Vec<u64>,
    /// The dropped texts that no step `texts` has taken yet.
    texts: Vec<u64>,
}

impl Player {
    fn step(&mut self, step: &Map<String, Value>) -> Result<(), String> {
        if let Some((record, text)) = record_of(step) {
            let mut record = Record { text: text.as_deref(), ..record };
            record.text_bytes = text.as_deref().map_or(0, str::len);
            record.size = text.as_deref().map(|text| text.len() as u64);
            self.rejected = self.inspector.take(&record).err();
            self.note_dropped();
            return Ok(());
        }
        let (name, expected) = step.iter().find(|(name, _)| !["of", "now"].contains(&name.as_str())).unwrap();
        let of = step.get("of").and_then(Value::as_u64);
        let inspector = &mut self.inspector;
        let found = match name.as_str() {
            "configure" => {
                let options = patched(inspector.options(), Some(expected));
                inspector.set_options(options);
                self.note_dropped();
                return Ok(());
            }
            "filter" => {
                let values: FilterValues = serde_json::from_value(expected.clone()).unwrap();
                inspector.set_filter(Filter::from(values));
                return Ok(());
            }
            "matches" => {
                inspector.set_text_matches(&numbers(expected));
                return Ok(());
            }
            "measured" => {
                match expected.as_object() {
                    Some(heights) => heights
                        .iter()
                        .for_each(|(seq, height)| inspector.set_height(seq.parse().unwrap(), height.as_f64().unwrap())),
                    None => inspector.forget_heights(),
                }
                return Ok(());
            }
            "clear" => {
                inspector.clear();
                return Ok(());
            }
            "pause" if expected == &json!(true) => {
                inspector.pause();
                return Ok(());
            }
            "pause" => {
                inspector.resume();
                return Ok(());
            }
            "options" => json(&inspector.options().view()),
            "rows" => {
                let next = inspector.next_seq();
                json(&(0..next).filter(|seq| inspector.row(*seq).is_some()).collect::<Vec<_>>())
            }
            "dropped" => json(&std::mem::take(&mut self.rows)),
            "texts" => json(&std::mem::take(&mut self.texts)),
            "rejected" => json(&self.rejected),
            "row" => json(&inspector.row(expected["seq"].as_u64().unwrap())),
            "detail" => json(&inspector.detail(expected["seq"].as_u64().unwrap())),
            "faults" => {
                let faults = inspector.detail(of.unwrap()).unwrap().faults;
                json(&faults.into_iter().map(|fault| fault.text).collect::<Vec<_>>())
            }
            "pending" => {
                let now = step.get("now").and_then(Value::as_u64).unwrap_or_default();
                json(&inspector.pending(now, 100))
            }
            "unmatched" => json(&inspector.unmatched(100).into_iter().map(|row| row.seq).collect::<Vec<_>>()),
            "links" => json(&inspector.links()),
            "statistics" => json(&inspector.statistics(of.map(|link| link as u32))),
            "totals" => json(&inspector.totals()),
            "counts" => json(&inspector.counts()),
            "shown" => json(&inspector.shown()),
            "list_height" => {
                let last = inspector.layout(0.0, VIEWPORT).rows.pop().unwrap();
                json(&(last.top + last.height))
            }
            "heights" | "list" => {
                let entries = inspector.layout(0.0, VIEWPORT).rows.into_iter();
                let values = entries.filter_map(|entry| match (entry.content, name.as_str()) {
                    (Content::Header { bucket }, "list") => Some(json!(bucket)),
                    (Content::Header { .. }, _) => None,
                    (Content::Message(row), "list") => Some(json!(row.seq)),
                    (Content::Message(_), _) => Some(json!(entry.height)),
                });
                Value::Array(values.collect())
            }
            unknown => panic!("unknown step {unknown}"),
        };
        if contains(&found, expected) { Ok(()) } else { Err(format!("{name} must be {expected}, got {found}")) }
    }

    fn note_dropped(&mut self) {
        let dropped = self.inspector.take_dropped();
        self.rows.extend(dropped.rows);
        self.texts.extend(dropped.texts);
    }
}

/// Returns the record of a step, and its text.
fn record_of(step: &Map<String, Value>) -> Option<(Record<'_>, Option<String>)> {
    let number = |name: &str| step.get(name).and_then(Value::as_u64);
    let string = |name: &str| step.get(name).and_then(Value::as_str);
    let (member, kind, direction) = [
        ("open", RecordKind::Open, None),
        ("close", RecordKind::Close, None),
        ("gap", RecordKind::Gap, Some(Direction::Sent)),
        ("sent", RecordKind::Message, Some(Direction::Sent)),
        ("sent_text", RecordKind::Message, Some(Direction::Sent)),
        ("received", RecordKind::Message, Some(Direction::Received)),
        ("received_text", RecordKind::Message, Some(Direction::Received)),
        ("received_padded", RecordKind::Message, Some(Direction::Received)),
        ("received_batch", RecordKind::Message, Some(Direction::Received)),
    ]
    .into_iter()
    .find(|(member, _, _)| step.contains_key(*member))?;
    let value = &step[member];
    let text = match member {
        "sent" | "received" => Some(value.to_string()),
        "sent_text" | "received_text" => value.as_str().map(ToOwned::to_owned),
        "received_padded" => Some(padded(value.as_u64().unwrap() as usize, string("with").unwrap_or("x"))),
        "received_batch" => {
            let responses = (0..value.as_u64().unwrap()).map(|id| json!({ "jsonrpc": "2.0", "id": id, "result": 0 }));
            Some(Value::Array(responses.collect()).to_string())
        }
        _ => None,
    };
    let is_invalid = string("kind") == Some("invalid");
    let record = Record {
        direction,
        name: string("record_name"),
        transport: string("transport"),
        reason: string("reason"),
        code: value.as_i64().filter(|_| member == "close"),
        messages: value.as_u64().filter(|_| member == "gap").unwrap_or_default(),
        bytes: number("bytes"),
        omitted: number("omitted").unwrap_or_default(),
        matches_text: step.get("matches_text") == Some(&json!(true)),
        ..Record::new(
            if is_invalid { RecordKind::Invalid } else { kind },
            number("at").unwrap_or_default(),
            string("link").unwrap_or("link"),
        )
    };
    Some((record, text))
}

/// Returns a notification of `units` UTF-16 code units. Its param consists of copies of `with`, and of `x` at the end.
fn padded(units: usize, with: &str) -> String {
    let text = |padding: &str| json!({ "jsonrpc": "2.0", "method": "m", "params": [padding] }).to_string();
    let room = units - text("").len();
    let width = with.encode_utf16().count();
    text(&format!("{}{}", with.repeat(room / width), "x".repeat(room % width)))
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().filter_map(Value::as_u64).collect()
}

/// Returns whether a value is as expected. An expected object may have fewer members.
fn contains(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            expected.iter().all(|(name, value)| found.get(name).is_some_and(|found| contains(found, value)))
        }
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, value)| contains(found, value))
        }
        (Value::Number(found), Value::Number(expected)) => found.as_f64() == expected.as_f64(),
        _ => found == expected,
    }
}
