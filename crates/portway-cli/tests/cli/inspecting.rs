//! A command that serves the page of the inspector, and its responses.

use std::collections::VecDeque;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{TEST_TIMEOUT, Test};

/// A running command with a page. The page is a small folder, so that the tests need no built page.
pub(crate) struct Inspecting {
    child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) port: u16,
    pub(crate) token: String,
    _page: TempDir,
}

impl Inspecting {
    pub(crate) fn start(arguments: &[&str]) -> Result<Self, Box<dyn Error>> {
        let page = tempfile::tempdir()?;
        fs::create_dir(page.path().join("assets"))?;
        fs::write(page.path().join("index.html"), "<html><head><title>a page</title></head></html>")?;
        fs::write(page.path().join("assets/a.js"), "export {}")?;
        fs::write(page.path().join("assets/core.wasm"), b"\0asm")?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_portway"));
        command.args(arguments).env("PORTWAY_INSPECTOR_PAGE", page.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut stderr = BufReader::new(child.stderr.take().ok_or("no standard error")?);
        let mut text = String::new();
        let address = loop {
            let mut line = String::new();
            if stderr.read_line(&mut line)? == 0 {
                return Err(format!("the command has printed no address: {text}").into());
            }
            if let Some(address) = line.strip_prefix("portway: the inspector is at http://127.0.0.1:") {
                break address.trim_end().to_owned();
            }
            text.push_str(&line);
        };
        // If nothing reads standard error, the command could block.
        thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        let (port, path) = address.split_once('/').ok_or("no path")?;
        let token = path.strip_suffix('/').ok_or("the address must end with /")?.to_owned();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        Ok(Self { child, stdin, stdout, port: port.parse()?, token, _page: page })
    }

    /// Sends a request, and reads the whole response.
    pub(crate) fn send(&self, request: &str) -> Result<Response, Box<dyn Error>> {
        let mut stream = self.connect()?;
        stream.write_all(request.as_bytes())?;
        Response::read(&mut BufReader::new(stream))
    }

    /// Requests a path below the token, with further header lines.
    pub(crate) fn get(&self, path: &str, headers: &str) -> Result<Response, Box<dyn Error>> {
        self.send(&self.request("GET", path, headers))
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &str) -> String {
        format!("{method} /{}/{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{headers}\r\n", self.token, self.port)
    }

    pub(crate) fn connect(&self) -> Result<TcpStream, Box<dyn Error>> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(TEST_TIMEOUT))?;
        Ok(stream)
    }

    /// Opens the response with the records.
    pub(crate) fn records(&self) -> Result<Stream, Box<dyn Error>> {
        let mut stream = self.connect()?;
        stream.write_all(self.request("GET", "records", "").as_bytes())?;
        let mut stream = BufReader::new(stream);
        let response = Response::read_head(&mut stream)?;
        if response.status != 200 {
            return Err(format!("the status is {}", response.status).into());
        }
        Ok(Stream { stream, lines: VecDeque::new(), text: Vec::new(), has_end: false })
    }

    pub(crate) fn signal(&self, signal: Signal) -> Test {
        let process = Pid::from_raw(i32::try_from(self.child.id())?).ok_or("no process")?;
        Ok(kill_process(process, signal)?)
    }

    pub(crate) fn exit_code(&mut self) -> Result<Option<i32>, Box<dyn Error>> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.code());
            }
            if start.elapsed() > TEST_TIMEOUT {
                return Err("the command has not exited".into());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Inspecting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn read_head(stream: &mut impl BufRead) -> Result<Self, Box<dyn Error>> {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).ok_or_else(|| format!("no status in {line:?}"))?.parse()?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Ok(Self { status, headers, body: Vec::new() })
    }

    pub(crate) fn read(stream: &mut impl BufRead) -> Result<Self, Box<dyn Error>> {
        let mut response = Self::read_head(stream)?;
        stream.read_to_end(&mut response.body)?;
        Ok(response)
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(each, _)| each == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A response that contains records. Its body is chunked (RFC 9112 §7.1).
pub(crate) struct Stream {
    stream: BufReader<TcpStream>,
    /// The records that were received and not returned.
    lines: VecDeque<Value>,
    /// The received part of the next line.
    text: Vec<u8>,
    /// Whether the last line reports the end.
    has_end: bool,
}

impl Stream {
    /// Waits for the next record. Returns `None` at the end of the response, after the line that reports the end.
    pub(crate) fn next(&mut self) -> Result<Option<Value>, Box<dyn Error>> {
        loop {
            if let Some(record) = self.lines.pop_front() {
                self.has_end = record == json!({ "kind": "end" });
                if !self.has_end {
                    return Ok(Some(record));
                }
            }
            let mut size = String::new();
            self.stream.read_line(&mut size)?;
            let size = usize::from_str_radix(size.trim_end(), 16).map_err(|_| "the response has no last chunk")?;
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk)?;
            chunk.truncate(size);
            if chunk.is_empty() {
                assert!(self.text.is_empty() && self.has_end, "the last line must be complete");
                return Ok(None);
            }
            for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
                self.text.extend_from_slice(piece);
                // The first line is empty.
                if self.text == b"\n" {
                    self.text.clear();
                } else if piece.ends_with(b"\n") {
                    self.lines.push_back(serde_json::from_slice(&std::mem::take(&mut self.text))?);
                }
            }
        }
    }

    /// Reads until the end of the response.
    pub(crate) fn rest(&mut self) -> Result<Vec<Value>, Box<dyn Error>> {
        let mut records = Vec::new();
        while let Some(record) = self.next()? {
            records.push(record);
        }
        Ok(records)
    }
}
