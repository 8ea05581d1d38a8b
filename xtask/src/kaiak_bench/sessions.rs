//! The delay between a line of an agent and the frame for the client, and the memory of idle sessions.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::agent::now;

/// The number of messages of the agent whose delays are measured.
const MESSAGES: u32 = 1_000;

/// The number of idle sessions.
pub(super) const SESSIONS: usize = 1_000;

/// The limit of open descriptors of a server. It is enough for one agent in each session.
const DESCRIPTORS: usize = 8_192;

/// A running `kaiak serve --stdio`. A drop kills the process.
struct Server {
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    last_id: u64,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Starts the program with `folder` as its workspace.
    fn start(program: &Path, folder: &Path, arguments: &[&str]) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {DESCRIPTORS} && exec \"$0\" \"$@\"");
        command.args(["-c", &script]).arg(program).args(["serve", "--stdio"]).args(arguments).current_dir(folder);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = process.stdin.take().context("the server has no input")?;
        let stdout = BufReader::new(process.stdout.take().context("the server has no output")?);
        Ok(Self { process, stdin, stdout, last_id: 0 })
    }

    /// Sends a request `kaiak/generate_fix` for one incident, in the session with this number.
    fn generate_fix(&mut self, session: usize) -> Result<()> {
        self.last_id += 1;
        let incident = json!({
            "id": "1", "rule_id": "none", "message": "m", "description": "", "effort": "", "severity": "info",
        });
        let argument =
            json!({ "session_id": format!("550e8400-e29b-41d4-a716-{session:012}"), "incidents": [incident] });
        let params = json!({ "command": "kaiak/generate_fix", "arguments": [argument] });
        let request =
            json!({ "jsonrpc": "2.0", "id": self.last_id, "method": "workspace/executeCommand", "params": params });
        let request = request.to_string();
        self.stdin.write_all(format!("Content-Length: {}\r\n\r\n{request}", request.len()).as_bytes())?;
        Ok(())
    }

    /// Returns the next message, and the time of its last byte.
    fn next(&mut self) -> Result<(Value, u128)> {
        let mut header = String::new();
        self.stdout.read_line(&mut header)?;
        let length = header.trim().strip_prefix("Content-Length: ").context("the server has ended")?.parse()?;
        self.stdout.read_line(&mut header)?;
        let mut body = vec![0; length];
        self.stdout.read_exact(&mut body)?;
        let time = now();
        Ok((serde_json::from_slice(&body)?, time))
    }

    /// Returns the notifications up to the response, with their times. The request must succeed.
    fn notifications(&mut self) -> Result<Vec<(Value, u128)>> {
        let mut notifications = Vec::new();
        loop {
            let (message, time) = self.next()?;
            if message.get("id").is_none() {
                notifications.push((message, time));
            } else if message.get("result").is_some() {
                return Ok(notifications);
            } else {
                bail!("the request failed: {message}");
            }
        }
    }

    /// Returns the resident memory of the process in bytes.
    fn memory(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))
            .context("the memory of a process is read from /proc, which only Linux has")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS in /proc")?;
        let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kibibytes * 1024)
    }
}

/// Returns the arguments for the agent of this program, which sends `messages` messages in each turn.
fn agent(messages: u32) -> Result<[String; 6]> {
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let words = ["--backend", "acp", "--"].map(str::to_owned);
    let [first, second, third] = words;
    Ok([first, second, third, program, "kaiak-agent".to_owned(), messages.to_string()])
}

/// The delays of messages.
pub(super) struct Delays {
    pub(super) p50: Duration,
    pub(super) p99: Duration,
}

/// Measures the time between the write of an agent and the arrival of its frame at the client.
pub(super) fn delays(program: &Path, folder: &Path) -> Result<Delays> {
    let arguments = agent(MESSAGES)?;
    let mut server = Server::start(program, folder, &arguments.each_ref().map(String::as_str))?;
    server.generate_fix(0)?;
    let mut delays = Vec::new();
    for (message, arrived) in server.notifications()? {
        let content = message.pointer("/params/content").cloned().unwrap_or_default();
        if content.get("partial") == Some(&Value::Bool(true)) {
            let sent: u128 = content.get("text").and_then(Value::as_str).context("no text")?.parse()?;
            delays.push(Duration::from_nanos(u64::try_from(arrived.saturating_sub(sent))?));
        }
    }
    if delays.len() != MESSAGES as usize {
        bail!("{MESSAGES} messages must arrive, got {}", delays.len());
    }
    delays.sort();
    let at = |percent| delays.get(delays.len() * percent / 100).copied().context("no delays");
    Ok(Delays { p50: at(50)?, p99: at(99)? })
}

/// Returns the memory of a server with idle sessions, in bytes. The first value is for the backend `rules`, and the
/// second value is for the backend `acp`, which has one agent for each session. The memory of the agents is not
/// counted.
pub(super) fn idle_memory(program: &Path, folder: &Path, rules: &Path) -> Result<(u64, u64)> {
    let rules = rules.to_string_lossy();
    let with_rules = memory_of_sessions(program, folder, &["--rules", &rules])?;
    let arguments = agent(0)?;
    let with_agents = memory_of_sessions(program, folder, &arguments.each_ref().map(String::as_str))?;
    Ok((with_rules, with_agents))
}

fn memory_of_sessions(program: &Path, folder: &Path, arguments: &[&str]) -> Result<u64> {
    let mut server = Server::start(program, folder, arguments)?;
    for session in 0..SESSIONS {
        server.generate_fix(session)?;
        server.notifications()?;
    }
    server.memory()
}
