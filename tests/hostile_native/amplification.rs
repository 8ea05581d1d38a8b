//! The cost of one message for a server: the bytes that the server sends, and the time for which a second connection
//! waits. tests/hostile/bounds.json has a row for each message, with the bounds of this cost.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::connection::{Connection, frame};
use crate::process::{Running, Test};

#[derive(Deserialize)]
struct Bounds {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    #[serde(rename = "where")]
    place: String,
    what: String,
    sends: Option<f64>,
    blocks: f64,
}

/// The number of bytes that a server may always send, even after a short message.
const ALWAYS_ALLOWED_BYTES: usize = 1_024;
/// The factor by which a measured time may exceed the bound in its row. The bounds are for an optimised build.
const SLOWNESS: f64 = if cfg!(debug_assertions) { 10.0 } else { 1.0 };
/// Maximum number of tries. Only the shortest time counts, since other processes of the machine delay some tries.
const TRIES: usize = 5;

/// Returns the bytes of the message for the row of this id.
fn message(id: &str) -> Vec<u8> {
    let one = |id: usize| json!({"jsonrpc": "2.0", "id": id, "method": "no such method"});
    let text = |length: usize| "x".repeat(length);
    match id {
        "unknown" => frame(&one(1).to_string()),
        "longName" => frame(&json!({"jsonrpc": "2.0", "id": 1, "method": text(900_000)}).to_string()),
        "longId" => frame(&json!({"jsonrpc": "2.0", "id": text(900_000), "method": "secret"}).to_string()),
        "batch" => frame(&json!((0..1_000).map(one).collect::<Vec<_>>()).to_string()),
        "longBatch" => frame(&json!((0..10_000).map(one).collect::<Vec<_>>()).to_string()),
        "noise" => text(900_000).into_bytes(),
        "deep" => frame(&"[".repeat(900_000)),
        "broken" => (0..1_000).flat_map(|_| frame(&format!("{{{}", text(80)))).collect(),
        "swallowed" => {
            let inner = String::from_utf8_lossy(&frame("(Content-Length: 2\r\n\r\n")).into_owned();
            frame(&format!("(\n{}", inner.repeat(2_000_000 / inner.len())))
        }
        "lines" => b"x\n".repeat(1_000),
        "digits" => b"1\n".repeat(1_000),
        "elements" => frame(&json!(vec![1; 1_000]).to_string()),
        "answers" => {
            let answer = |id: usize| json!({"jsonrpc": "2.0", "id": id + 1_000_000, "result": id});
            frame(&json!((0..10_000).map(answer).collect::<Vec<_>>()).to_string())
        }
        other => panic!("the row {other} needs a message in this function"),
    }
}

#[test]
fn the_cost_of_one_message_for_a_server_is_within_its_row() -> Test {
    let bounds: Bounds = serde_json::from_str(include_str!("../hostile/bounds.json"))?;
    let mut rows = 0;
    for row in bounds.rows.iter().filter(|row| row.place == "native") {
        rows += 1;
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.sock");
        let (role, connect): (_, fn(&Path) -> _) = match row.id.as_str() {
            "lines" | "digits" => ("serve lines", Connection::to_lines_server),
            _ => ("serve", Connection::to),
        };
        let _server = Running::server_in(&path, role)?;
        let mut other = connect(&path)?;
        let bytes = message(&row.id);
        let max_ms = row.blocks * SLOWNESS;
        let mut shortest = Duration::MAX;
        let mut sent_bytes = 0;
        for _ in 0..TRIES {
            let mut connection = connect(&path)?;
            // A second thread sends the message. Meanwhile, this thread measures how long the second connection waits.
            let mut sender = connection.stream.try_clone()?;
            let message_bytes = bytes.clone();
            let sending = std::thread::spawn(move || sender.write_all(&message_bytes));
            let mut longest = other.ping()?;
            while !sending.is_finished() {
                longest = longest.max(other.ping()?);
            }
            sending.join().map_err(|_| "the sender has panicked")??;
            for _ in 0..20 {
                longest = longest.max(other.ping()?);
            }
            if row.id == "noise" {
                // The blank line separates the noise from the header of the next frame.
                connection.stream.write_all(b"\r\n\r\n")?;
            }
            connection.messages_so_far()?;
            sent_bytes = connection.bytes;
            shortest = shortest.min(longest);
            if shortest.as_secs_f64() * 1_000.0 <= max_ms {
                break;
            }
        }
        let ratio = sent_bytes.saturating_sub(ALWAYS_ALLOWED_BYTES) as f64 / bytes.len() as f64;
        println!("native: {}: {} bytes in, {sent_bytes} out, {shortest:?}", row.what, bytes.len());
        if let Some(max_ratio) = row.sends {
            assert!(ratio <= max_ratio, "{}: the server sends {ratio:.1} bytes for each received byte", row.what);
        }
        assert!(shortest.as_secs_f64() * 1_000.0 <= max_ms, "{}: another connection waits {shortest:?}", row.what);
    }
    assert!(rows > 0);
    Ok(())
}
