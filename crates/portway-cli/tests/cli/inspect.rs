//! `portway inspect` and `portway tap --inspect`: who may read the page, the files and the records.

use std::collections::VecDeque;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{TEST_TIMEOUT, Test};

/// The value of `MAX_INSPECTOR_CONNECTIONS`.
const MAX_CONNECTIONS: usize = 64;

/// The value of `MAX_INSPECTOR_PAGES`.
const MAX_PAGES: usize = 5;

/// The value of `MAX_OPENED_FILE_BYTES`.
const MAX_FILE_BYTES: u64 = 134_217_728;

/// A running command with a page. The page is a small folder, so that the tests need no built page.
struct Inspecting {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    port: u16,
    token: String,
    _page: TempDir,
}

impl Inspecting {
    fn start(arguments: &[&str]) -> Result<Self, Box<dyn Error>> {
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
    fn send(&self, request: &str) -> Result<Response, Box<dyn Error>> {
        let mut stream = self.connect()?;
        stream.write_all(request.as_bytes())?;
        Response::read(&mut BufReader::new(stream))
    }

    /// Requests a path below the token, with further header lines.
    fn get(&self, path: &str, headers: &str) -> Result<Response, Box<dyn Error>> {
        self.send(&self.request("GET", path, headers))
    }

    fn request(&self, method: &str, path: &str, headers: &str) -> String {
        format!("{method} /{}/{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{headers}\r\n", self.token, self.port)
    }

    fn connect(&self) -> Result<TcpStream, Box<dyn Error>> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(TEST_TIMEOUT))?;
        Ok(stream)
    }

    /// Opens the response with the records.
    fn records(&self) -> Result<Stream, Box<dyn Error>> {
        let mut stream = self.connect()?;
        stream.write_all(self.request("GET", "records", "").as_bytes())?;
        let mut stream = BufReader::new(stream);
        let response = Response::read_head(&mut stream)?;
        if response.status != 200 {
            return Err(format!("the status is {}", response.status).into());
        }
        Ok(Stream { stream, lines: VecDeque::new(), text: Vec::new() })
    }

    fn signal(&self, signal: Signal) -> Test {
        let process = Pid::from_raw(i32::try_from(self.child.id())?).ok_or("no process")?;
        Ok(kill_process(process, signal)?)
    }

    fn exit_code(&mut self) -> Result<Option<i32>, Box<dyn Error>> {
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
struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Response {
    fn read_head(stream: &mut impl BufRead) -> Result<Self, Box<dyn Error>> {
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

    fn read(stream: &mut impl BufRead) -> Result<Self, Box<dyn Error>> {
        let mut response = Self::read_head(stream)?;
        stream.read_to_end(&mut response.body)?;
        Ok(response)
    }

    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(each, _)| each == name).map_or("", |(_, value)| value)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A response with records, whose body is chunked (RFC 9112 §7.1).
struct Stream {
    stream: BufReader<TcpStream>,
    /// The records that were received and not returned.
    lines: VecDeque<Value>,
    /// The received part of the next line.
    text: Vec<u8>,
}

impl Stream {
    /// Waits for the next record. Returns `None` at the end of the response.
    fn next(&mut self) -> Result<Option<Value>, Box<dyn Error>> {
        loop {
            if let Some(record) = self.lines.pop_front() {
                return Ok(Some(record));
            }
            let mut size = String::new();
            self.stream.read_line(&mut size)?;
            let size = usize::from_str_radix(size.trim_end(), 16).map_err(|_| "the response has no last chunk")?;
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk)?;
            chunk.truncate(size);
            if chunk.is_empty() {
                assert!(self.text.is_empty(), "the last line must be complete");
                return Ok(None);
            }
            for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
                self.text.extend_from_slice(piece);
                if piece.ends_with(b"\n") {
                    self.lines.push_back(serde_json::from_slice(&std::mem::take(&mut self.text))?);
                }
            }
        }
    }

    /// Reads until the end of the response.
    fn rest(&mut self) -> Result<Vec<Value>, Box<dyn Error>> {
        let mut records = Vec::new();
        while let Some(record) = self.next()? {
            records.push(record);
        }
        Ok(records)
    }
}

#[test]
fn only_the_token_of_the_printed_address_is_served() -> Test {
    let (first, second) = (Inspecting::start(&["inspect"])?, Inspecting::start(&["inspect"])?);
    for inspecting in [&first, &second] {
        assert_eq!(inspecting.token.len(), 32, "128 bits in hexadecimal");
        assert!(inspecting.token.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(inspecting.get("", "")?.status, 200);
    }
    assert_ne!(first.token, second.token);
    let (token, host) = (&first.token, format!("Host: 127.0.0.1:{}", first.port));
    let (shorter, upper) = (token.get(1..).unwrap_or_default(), token.to_ascii_uppercase());
    for path in [
        "/".to_owned(),
        "/index.html".to_owned(),
        "/records".to_owned(),
        "/favicon.ico".to_owned(),
        "*".to_owned(),
        format!("/{}/", second.token),
        format!("/{}/", "0".repeat(32)),
        format!("/{shorter}/"),
        format!("/{token}0/"),
        format!("//{token}/"),
        format!("/%2e/{token}/"),
        format!("/../{token}/"),
        format!("/?/{token}/"),
        format!("/{upper}G/"),
        format!("/é{token}/"),
    ] {
        for method in ["GET", "HEAD", "POST", "OPTIONS"] {
            let response = first.send(&format!("{method} {path} HTTP/1.1\r\n{host}\r\n\r\n"))?;
            // A path that is not ASCII is not HTTP, and `*` is only for OPTIONS.
            assert!([403, 400].contains(&response.status), "{method} {path}: {}", response.status);
            assert!(!response.text().contains("a page") && !response.text().contains(token.as_str()), "{path}");
            if path.is_ascii() && path != "*" {
                assert_eq!(response.status, 403, "{method} {path}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_foreign_host_or_origin_is_refused() -> Test {
    let inspecting = Inspecting::start(&["inspect"])?;
    let (port, token) = (inspecting.port, &inspecting.token);
    for (headers, status) in [
        (format!("Host: 127.0.0.1:{port}"), 200),
        (format!("Host: localhost:{port}"), 200),
        (format!("Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}"), 200),
        (format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}"), 200),
        (String::new(), 403),
        ("X: y".to_owned(), 403),
        (format!("Host: evil.example:{port}"), 403),
        (format!("Host: 127.0.0.1.evil.example:{port}"), 403),
        (format!("Host: localhost.evil.example:{port}"), 403),
        (format!("Host: [::1]:{port}"), 403),
        (format!("Host: 127.0.0.2:{port}"), 403),
        ("Host: 127.0.0.1".to_owned(), 403),
        ("Host: 127.0.0.1:80".to_owned(), 403),
        (format!("Host: 127.0.0.1:{port}\r\nHost: evil.example"), 403),
        (format!("Host: 127.0.0.1:{port}\r\nOrigin: http://evil.example"), 403),
        (format!("Host: 127.0.0.1:{port}\r\nOrigin: http://localhost:{port}"), 403),
        (format!("Host: 127.0.0.1:{port}\r\nOrigin: https://127.0.0.1:{port}"), 403),
        (format!("Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1"), 403),
        (format!("Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:1"), 403),
        (format!("Host: 127.0.0.1:{port}\r\nOrigin: null"), 403),
        (format!("Host: 127.0.0.1:{port}\r\nOrigin:"), 403),
        (format!("Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nOrigin: http://evil.example"), 403),
    ] {
        for path in ["", "session.json", "assets/a.js"] {
            let response = inspecting.send(&format!("GET /{token}/{path} HTTP/1.1\r\n{headers}\r\n\r\n"))?;
            assert_eq!(response.status, status, "{path} {headers}: {}", response.text());
            assert_eq!(response.header("access-control-allow-origin"), "");
        }
    }
    // The authority of a request to a proxy replaces `Host`.
    let request =
        |authority: &str| format!("GET http://{authority}/{token}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    assert_eq!(inspecting.send(&request(&format!("evil.example:{port}")))?.status, 403);
    assert_eq!(inspecting.send(&request(&format!("127.0.0.1:{port}")))?.status, 200);
    Ok(())
}

#[test]
fn no_other_address_of_the_machine_is_reachable() -> Test {
    let inspecting = Inspecting::start(&["inspect"])?;
    let mut others: Vec<IpAddr> = vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::new(127, 0, 0, 2).into()];
    // The address of the interface to another network. No packet is sent.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    if socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).is_ok() {
        others.push(socket.local_addr()?.ip());
    }
    for address in others {
        let connected = TcpStream::connect_timeout(&SocketAddr::new(address, inspecting.port), TEST_TIMEOUT);
        assert!(connected.is_err(), "{address}");
    }
    assert_eq!(inspecting.get("", "")?.status, 200);
    Ok(())
}

#[test]
fn the_page_has_its_types_and_its_policy_and_no_other_file_is_found() -> Test {
    let inspecting = Inspecting::start(&["inspect"])?;
    let document = inspecting.get("", "")?;
    assert_eq!(
        document.text(),
        "<html><head><title>a page</title><meta name=\"portway-command\" content=\"session.json\" /></head></html>"
    );
    for (path, content_type, body) in [
        ("index.html", "text/html; charset=utf-8", document.text()),
        ("?a=b", "text/html; charset=utf-8", document.text()),
        ("assets/a.js", "text/javascript; charset=utf-8", "export {}".to_owned()),
        ("assets/core.wasm", "application/wasm", "\0asm".to_owned()),
        (
            "session.json",
            "application/json; charset=utf-8",
            json!({ "command": "portway inspect", "files": [] }).to_string(),
        ),
    ] {
        let response = inspecting.get(path, "")?;
        assert_eq!((response.status, response.text()), (200, body.clone()), "{path}");
        let policy = include_str!("../../src/inspect/policy.txt").trim().replace('\n', "; ");
        for (name, value) in [
            ("content-type", content_type),
            ("content-length", &body.len().to_string()),
            ("content-security-policy", &policy),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(response.header(name), value, "{path}");
        }
        let head = inspecting.send(&inspecting.request("HEAD", path, ""))?;
        assert_eq!((head.status, head.text().as_str()), (200, ""), "{path}");
        assert_eq!(head.header("content-length"), body.len().to_string(), "{path}");
    }
    for path in [
        "nothing",
        "assets",
        "assets/",
        "/index.html",
        "../index.html",
        "assets/../index.html",
        "..%2findex.html",
        "%2e%2e/%2e%2e/etc/passwd",
        "../../../../etc/passwd",
        "/etc/passwd",
        "files/0",
        "files/-1",
        "files/99999999999999999999999",
        "records/",
    ] {
        assert_eq!(inspecting.get(path, "")?.status, 404, "{path}");
    }
    let response = inspecting.send(&inspecting.request("POST", "", "Content-Length: 0\r\n"))?;
    assert_eq!((response.status, response.header("allow")), (405, "GET, HEAD"));
    let without_slash = format!("GET /{} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", inspecting.token, inspecting.port);
    let response = inspecting.send(&without_slash)?;
    assert_eq!((response.status, response.header("location")), (308, &*format!("/{}/", inspecting.token)));
    Ok(())
}

#[test]
fn connections_without_a_request_end_and_others_are_served_after_them() -> Test {
    let inspecting = Inspecting::start(&["inspect"])?;
    let mut silent = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        silent.push(inspecting.connect()?);
    }
    // One byte after another does not prolong the time of a head.
    let mut slow = silent.pop().ok_or("no connection")?;
    let dripping = thread::spawn(move || {
        let start = Instant::now();
        let head = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(10_000));
        for byte in head.bytes() {
            if slow.write_all(&[byte]).is_err() {
                return Ok(start.elapsed());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err("the slow head was read to its end")
    });
    assert_eq!(inspecting.get("", "")?.status, 200);
    for mut stream in silent {
        let mut rest = Vec::new();
        let read = stream.read_to_end(&mut rest);
        assert!(read.is_ok() || read.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
    }
    dripping.join().map_err(|_| "the thread panicked")??;
    Ok(())
}

#[test]
fn a_long_head_is_refused() -> Test {
    let inspecting = Inspecting::start(&["inspect"])?;
    let header = |length: usize| format!("X: {}\r\n", "x".repeat(length));
    assert_eq!(inspecting.get("", &header(16_000))?.status, 200);
    assert_eq!(inspecting.get("", &header(16_384))?.status, 431);
    Ok(())
}

#[test]
fn opened_files_are_passed_to_the_page_as_they_are() -> Test {
    let folder = tempfile::tempdir()?;
    let (records, log) = (folder.path().join("a \"b\".jsonl"), folder.path().join("lsp.log"));
    fs::write(&records, "{\"kind\":\"open\"}\r\nnot a record\n")?;
    fs::write(&log, "é")?;
    let text = |path: &Path| path.to_str().map(str::to_owned).ok_or("no path");
    let inspecting = Inspecting::start(&["inspect", "--open", &text(&records)?, "--open", &text(&log)?])?;
    let session: Value = serde_json::from_slice(&inspecting.get("session.json", "")?.body)?;
    assert_eq!(session["files"], json!(["a \"b\".jsonl", "lsp.log"]));
    assert_eq!(inspecting.get("files/0", "")?.text(), "{\"kind\":\"open\"}\r\nnot a record\n");
    assert_eq!(inspecting.get("files/1", "")?.text(), "é");
    assert_eq!(inspecting.get("files/2", "")?.status, 404);
    Ok(())
}

/// Runs a command that must exit. Returns its exit code and standard error.
fn run(arguments: &[&str], page: &str) -> Result<(Option<i32>, String), Box<dyn Error>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portway"));
    let output = command.args(arguments).env("PORTWAY_INSPECTOR_PAGE", page).stdin(Stdio::null()).output()?;
    Ok((output.status.code(), String::from_utf8(output.stderr)?))
}

#[test]
fn a_file_that_cannot_be_shown_is_an_error() -> Test {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    fs::write(path("index.html"), "")?;
    fs::write(path("binary"), b"{}\n\xff")?;
    File::create(path("long"))?.set_len(MAX_FILE_BYTES + 1)?;
    let page = path("");
    for (name, problem) in [
        ("missing", format!("cannot read {}: No such file or directory (os error 2)", path("missing"))),
        ("", format!("--open must name a file, got the directory {}", path(""))),
        ("binary", format!("{} must be UTF-8 text, got other bytes at 3", path("binary"))),
        ("long", format!("{} must have at most {MAX_FILE_BYTES} bytes, got {}", path("long"), MAX_FILE_BYTES + 1)),
    ] {
        let (code, stderr) = run(&["inspect", "--open", &path(name)], &page)?;
        assert_eq!((code, stderr.lines().next()), (Some(2), Some(&*format!("portway: {problem}"))));
    }
    File::create(path("long"))?.set_len(MAX_FILE_BYTES)?;
    let inspecting = Inspecting::start(&["inspect", "--open", &path("long")])?;
    assert_eq!(inspecting.get("files/0", "")?.body.len() as u64, MAX_FILE_BYTES);
    Ok(())
}

#[test]
fn a_missing_page_and_a_used_port_are_errors() -> Test {
    let folder = tempfile::tempdir()?;
    let page = folder.path().to_string_lossy().into_owned();
    let missing = folder.path().join("missing").to_string_lossy().into_owned();
    for (page, problem) in [
        (&page, format!("{page} must contain index.html")),
        (&missing, format!("cannot read {missing}: No such file or directory (os error 2)")),
    ] {
        for arguments in [&["inspect"][..], &["tap", "--inspect", "--", "cat"]] {
            let expected = format!("portway: PORTWAY_INSPECTOR_PAGE: {problem}\n");
            assert_eq!(run(arguments, page)?, (Some(2), expected));
        }
    }
    let mut inspecting = Inspecting::start(&["inspect"])?;
    fs::write(folder.path().join("index.html"), "")?;
    let port = inspecting.port.to_string();
    let expected = format!("portway: cannot listen on 127.0.0.1:{port}: Address already in use (os error 98)\n");
    assert_eq!(run(&["inspect", "--port", &port], &page)?, (Some(3), expected));
    inspecting.signal(Signal::TERM)?;
    assert_eq!(inspecting.exit_code()?, Some(0));
    Ok(())
}

fn message(number: usize) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"é{number}\"}}")
}

/// Returns the members of a record that do not depend on the tap.
fn content(record: &Value) -> Value {
    let mut record = record.clone();
    if let Some(record) = record.as_object_mut() {
        record.remove("at");
        record.remove("link");
    }
    record
}

#[test]
fn a_page_reads_the_records_of_the_file_even_if_it_is_opened_later() -> Test {
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
    // A text that is longer than the limit of other readers is not cut.
    pass(&format!("{{\"jsonrpc\":\"2.0\",\"method\":\"long\",\"params\":[\"{}\"]}}", "x".repeat(1_000_000)))?;
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
    // The two directions are recorded by two threads, and each tap may record them in another order.
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

/// Adds the numbers of the messages that the records contain, or that they report as left out, by direction.
fn counts(records: &[Value]) -> [u64; 2] {
    ["sent", "received"].map(|direction| {
        let of = records.iter().filter(|record| record["direction"] == direction);
        of.map(|record| if record["kind"] == "gap" { record["messages"].as_u64().unwrap_or(0) } else { 1 }).sum()
    })
}

#[test]
fn a_stopped_page_costs_the_link_nothing_and_its_loss_is_counted() -> Test {
    /// More than the history and the buffers of both sockets have room for.
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
    // The record `open` is no longer in the history, and is sent to a new page all the same.
    assert_eq!(late_first, first);
    let mut shown = [vec![first], vec![late_first]];
    for (page, records) in [&mut stopped, &mut late].into_iter().zip(&mut shown) {
        while counts(records) != [MESSAGES as u64; 2] {
            records.push(page.next()?.ok_or("the stream has ended too early")?);
        }
    }
    drop(stdin);
    assert_eq!(live.rest()?.len(), 1, "only the end of the link");
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
    // The files of the page are served all the same.
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
