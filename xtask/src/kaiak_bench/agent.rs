//! `cargo xtask kaiak-agent`: the agent of the benchmark of kaiak, on the Agent Client Protocol. Each of its messages
//! contains the time at which it was sent.

use std::io::{self, BufRead, Write};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde_json::{Value, json};

/// The time between two messages. The pause is so long that no message delays the next one.
const PAUSE: Duration = Duration::from_millis(2);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The number of messages in each turn
    messages: u32,
}

/// Returns the nanoseconds since 1970. Two processes on one system can compare these times.
pub(super) fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos())
}

/// Answers requests on standard input until it ends.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let Some(id) = request.get("id") else { continue };
        let result = match request.get("method").and_then(Value::as_str) {
            Some("initialize") => json!({ "protocolVersion": 1, "agentCapabilities": {} }),
            Some("session/new") => json!({ "sessionId": "s" }),
            _ => {
                for _ in 0..arguments.messages {
                    thread::sleep(PAUSE);
                    let content = json!({ "type": "text", "text": now().to_string() });
                    let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
                    let params = json!({ "sessionId": "s", "update": update });
                    send(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))?;
                }
                json!({ "stopReason": "end_turn" })
            }
        };
        send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))?;
    }
    Ok(true)
}

/// Writes a message and a line end in one piece.
fn send(message: &Value) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(format!("{message}\n").as_bytes())?;
    output.flush()
}
