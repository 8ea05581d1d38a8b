//! `portway tap --listen ADDRESS --to ADDRESS`: Unix sockets, TCP and WebSockets.

use std::error::Error;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use portway::{
    Admission, Client, Closed, Context, Framing, Listener, Peer, Refusal, RpcError, Transport, WebSocketOptions,
    WebSocketPolicy,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::time::timeout;

use crate::command::{TEST_TIMEOUT, Test, run};
use crate::fixtures::Server;
use crate::random::Random;
use crate::tap::{corpus, records, texts};

/// A running `portway tap --listen`.
struct Tap {
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: String,
}

impl Tap {
    fn start(listen: &str, to: &str, file: &Path) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portway"));
        command.args(["tap", "--listen", listen, "--to", to, "--to-file"]).arg(file).stderr(Stdio::piped());
        let mut child = command.stdin(Stdio::null()).spawn()?;
        let mut stderr = BufReader::new(child.stderr.take().ok_or("no standard error")?);
        let mut line = String::new();
        stderr.read_line(&mut line)?;
        let address =
            line.trim_end().strip_prefix("portway: listening on ").ok_or_else(|| format!("{line:?}"))?.to_owned();
        Ok(Self { child, stderr, address })
    }

    fn tcp(&self) -> &str {
        self.address.strip_prefix("tcp://").unwrap_or(&self.address)
    }

    /// Ends the command by SIGTERM. Returns the exit code and the rest of standard error.
    fn end(mut self) -> Result<(Option<i32>, String), Box<dyn Error>> {
        let process = Pid::from_raw(i32::try_from(self.child.id())?).ok_or("no process")?;
        kill_process(process, Signal::TERM)?;
        let mut text = String::new();
        self.stderr.read_to_string(&mut text)?;
        Ok((self.child.wait()?.code(), text))
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the records of a file, if `count` of them have the kind `close`.
fn if_closed(file: &Path, count: usize) -> Option<Vec<Value>> {
    // The last line may be incomplete.
    let read = records(file).ok()?;
    (read.iter().filter(|record| record["kind"] == "close").count() >= count).then_some(read)
}

/// Waits until the file has `count` records of the kind `close`. Returns all records.
fn closed(file: &Path, count: usize) -> Result<Vec<Value>, Box<dyn Error>> {
    let start = Instant::now();
    loop {
        if let Some(read) = if_closed(file, count) {
            return Ok(read);
        }
        assert!(start.elapsed() < TEST_TIMEOUT, "{}", fs::read_to_string(file)?);
        thread::sleep(Duration::from_millis(2));
    }
}

/// Waits as [`closed`] does, but without blocking the thread, since other tasks must run.
async fn until_closed(file: &Path, count: usize) -> Result<Vec<Value>, Box<dyn Error>> {
    let wait = async {
        loop {
            if let Some(read) = if_closed(file, count) {
                return read;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    Ok(timeout(TEST_TIMEOUT, wait).await?)
}

/// Starts a thread that sends back all bytes of `stream`, and then calls `end`.
fn echo(mut stream: impl Read + Write + Send + 'static, end: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        let mut chunk = [0; 10_000];
        while let Ok(count @ 1..) = stream.read(&mut chunk) {
            if stream.write_all(&chunk[..count]).is_err() {
                return;
            }
        }
        end();
    });
}

/// Writes the pieces, and then ends the output. Returns all bytes that arrive until the peer ends its output.
fn exchange<S: Write + Send + 'static>(
    mut reader: impl Read,
    mut writer: S,
    pieces: Vec<Vec<u8>>,
    end_output: fn(&S) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let writing = thread::spawn(move || {
        pieces.into_iter().try_for_each(|piece| writer.write_all(&piece))?;
        end_output(&writer)
    });
    let mut received = Vec::new();
    reader.read_to_end(&mut received)?;
    writing.join().map_err(|_| io::Error::other("the thread panicked"))??;
    Ok(received)
}

#[test]
fn every_byte_and_half_close_passes_over_unix_sockets_and_tcp() -> Test {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let unix = UnixListener::bind(path("server.sock"))?;
    let tcp = TcpListener::bind("127.0.0.1:0")?;
    let tcp_address = tcp.local_addr()?.to_string();
    thread::spawn(move || {
        for stream in unix.incoming().flatten() {
            let Ok(other) = stream.try_clone() else { continue };
            echo(stream, move || drop(other.shutdown(Shutdown::Write)));
        }
    });
    thread::spawn(move || {
        for stream in tcp.incoming().flatten() {
            let Ok(other) = stream.try_clone() else { continue };
            echo(stream, move || drop(other.shutdown(Shutdown::Write)));
        }
    });
    let mut random = Random::new();
    let mut input = Vec::new();
    for name in ["content_length", "newline", "wipc", "websocket"] {
        for file in corpus(name)? {
            input.extend(fs::read(file)?);
        }
    }
    let garbage = random.bytes(200_000);
    input.extend(garbage);
    let own = path("own.sock").display().to_string();
    let server = path("server.sock").display().to_string();
    for (listen, to) in [
        (own.as_str(), server.as_str()),
        ("127.0.0.1:0", &tcp_address),
        (&own, &tcp_address),
        ("tcp://127.0.0.1:0", &server),
    ] {
        let file = path("records.jsonl");
        let tap = Tap::start(listen, to, &file)?;
        let mut threads = Vec::new();
        for _ in 0..4 {
            let (pieces, address) = (random.pieces(&input), tap.tcp().to_owned());
            threads.push(thread::spawn(move || -> io::Result<Vec<u8>> {
                if address.starts_with('/') {
                    let stream = UnixStream::connect(address)?;
                    exchange(stream.try_clone()?, stream, pieces, |stream| stream.shutdown(Shutdown::Write))
                } else {
                    let stream = TcpStream::connect(address)?;
                    exchange(stream.try_clone()?, stream, pieces, |stream| stream.shutdown(Shutdown::Write))
                }
            }));
        }
        for thread in threads {
            let output = thread.join().map_err(|_| "the thread panicked")??;
            assert!(output == input, "{listen} {to} {random}: {} of {} bytes", output.len(), input.len());
        }
        let read = closed(&file, 4)?;
        let mut links: Vec<_> = read.iter().filter_map(|record| record["link"].as_str()).collect();
        links.sort_unstable();
        links.dedup();
        assert_eq!(links.len(), 4, "each connection must have its own link");
        assert_eq!(tap.end()?, (Some(0), String::new()));
        assert!(!path("own.sock").exists(), "the file of the socket must be removed");
    }
    Ok(())
}

#[tokio::test]
async fn messages_on_a_socket_are_recorded_unchanged() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("records.jsonl");
    for framing in [Framing::ContentLength, Framing::Newline] {
        let server = Server::start(framing).await?;
        let own = folder.path().join("own.sock");
        let tap = Tap::start(own.to_str().ok_or("no path")?, server.path(), &file)?;
        let (client_tap, mut client_records) = portway::tap::Tap::channel();
        let client = Client::new(Transport::unix(&own, framing).await?.with_tap(&client_tap));
        for number in 0..200 {
            let echo = client.call::<(u32, String)>("echo", &(number, "ä\n".repeat(number as usize)));
            assert_eq!(echo.timeout(TEST_TIMEOUT).await?.0, number);
        }
        client.destroy();
        client.closed().await;
        drop(client_tap);
        drop(client);
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        while let Some(record) = timeout(TEST_TIMEOUT, client_records.next()).await? {
            if let portway::tap::RecordKind::Message { direction, text, .. } = record.kind {
                if direction == portway::tap::Direction::Sent { &mut sent } else { &mut received }.push(text);
            }
        }
        let read = until_closed(&file, 1).await?;
        assert_eq!((sent.len(), received.len()), (200, 200));
        assert_eq!(texts(&read, "sent"), sent);
        assert_eq!(texts(&read, "received"), received);
        assert_eq!(tap.end()?.0, Some(0));
    }
    Ok(())
}

fn methods(peer: &Peer) {
    peer.method("echo", |value: Value, _: Context| async move { Ok::<_, RpcError>(value) });
}

#[tokio::test]
async fn a_websocket_passes_with_its_handshake_messages_and_close_code() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("records.jsonl");
    // The server checks Host, Origin and the token itself.
    let policy = WebSocketPolicy::new().check(|head| {
        let is_valid = head.has_token("secret");
        async move { if is_valid { Ok(Admission::anonymous()) } else { Err(Refusal::Unauthorized) } }
    });
    let listener = Listener::websocket_with("127.0.0.1:0", policy).await?;
    let address = listener.address().ok_or("no address")?;
    let serving = tokio::spawn(listener.serve(methods));
    let tap = Tap::start("ws://127.0.0.1:0/", &format!("ws://{address}/rpc"), &file)?;
    let own_origin = tap.address.replace("ws://", "http://").trim_end_matches('/').to_owned();
    let options = WebSocketOptions::new().header("Authorization", "Bearer secret").header("Origin", &own_origin);
    let client = Client::new(options.connect(&tap.address).await?);
    for length in [0, 100, 100_000] {
        let text = "ä".repeat(length);
        assert_eq!(client.call::<(String,)>("echo", &(&text,)).timeout(TEST_TIMEOUT).await?.0, text);
    }
    client.destroy();
    client.closed().await;
    let read = until_closed(&file, 1).await?;
    assert_eq!((texts(&read, "sent").len(), texts(&read, "received").len()), (3, 3));
    let last = read.last().ok_or("no record")?;
    assert_eq!((&last["kind"], &last["code"]), (&Value::from("close"), &Value::from(1000)));
    assert_eq!(read[0]["transport"], "websocket");

    // A refusal of the server reaches the client.
    let refused = WebSocketOptions::new().header("Authorization", "Bearer wrong").connect(&tap.address).await;
    assert!(refused.is_err_and(|error| error.to_string().contains("401")));
    let foreign =
        WebSocketOptions::new().header("Authorization", "Bearer secret").header("Origin", "http://evil.example");
    assert!(foreign.connect(&tap.address).await.is_err_and(|error| error.to_string().contains("403")));
    // The command itself refuses a foreign host, because it replaces the header Host.
    let rebound = WebSocketOptions::new().header("Authorization", "Bearer secret").header("Host", "evil.example");
    assert!(rebound.connect(&tap.address).await.is_err_and(|error| error.to_string().contains("403")));

    // When the command ends, it closes the connection of the client. It sends no close frame.
    let options = WebSocketOptions::new().header("Authorization", "Bearer secret");
    let client = Client::new(options.connect(&tap.address).await?);
    assert_eq!(client.call::<(u32,)>("echo", &(1,)).timeout(TEST_TIMEOUT).await?, (1,));
    serving.abort();
    let (code, stderr) = tap.end()?;
    assert_eq!(code, Some(0));
    assert!(stderr.contains("a request was refused: Host must be"), "{stderr}");
    assert!(!matches!(timeout(TEST_TIMEOUT, client.closed()).await?, Closed::WebSocket { .. }));
    Ok(())
}

/// Reads the head of a request or a response.
fn head(stream: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

#[test]
fn frames_of_any_kind_pass_unchanged_in_both_directions() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("records.jsonl");
    let server = TcpListener::bind("127.0.0.1:0")?;
    let address = server.local_addr()?.to_string();
    let tap = Tap::start("ws://127.0.0.1:0", &format!("ws://{address}/path?query"), &file)?;
    let own = tap.address.trim_start_matches("ws://").trim_end_matches('/').to_owned();
    // A ping, a text in fragments with a pong between them, a binary message, and a close frame with a reason.
    let from_client = [
        &b"\x89\x82\0\0\0\0hi"[..],
        b"\x01\x83\0\0\0\0[1,",
        b"\x8a\x80\0\0\0\0",
        b"\x80\x82\x01\x02\x03\x04\x33\x5f",
        b"\x82\x81\0\0\0\0\xff",
        b"\x88\x85\0\0\0\0\x0f\xa1bye",
    ]
    .concat();
    let from_server = [&b"\x81\x02{}"[..], b"\x82\x03[1]", b"\x88\x02\x03\xf3"].concat();
    let (expected, answer) = (from_client.clone(), from_server.clone());
    let serving = thread::spawn(move || -> io::Result<(String, Vec<u8>)> {
        let (mut stream, _) = server.accept()?;
        let head = head(&mut stream)?;
        stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nX-Extra: 1\r\n\r\n")?;
        let mut read = vec![0; expected.len()];
        stream.read_exact(&mut read)?;
        stream.write_all(&answer)?;
        Ok((head, read))
    });
    let mut client = TcpStream::connect(&own)?;
    let request = "GET / HTTP/1.1\r\nHost: HOST\r\nSec-WebSocket-Extensions: permessage-deflate\r\nCookie: a=b\r\n\r\n";
    client.write_all(request.replace("HOST", &own).as_bytes())?;
    assert_eq!(head(&mut client)?, "HTTP/1.1 101 Switching Protocols\r\nX-Extra: 1\r\n\r\n");
    for byte in &from_client {
        client.write_all(&[*byte])?;
    }
    let mut read = Vec::new();
    client.read_to_end(&mut read)?;
    assert_eq!(read, from_server);
    let (head, read) = serving.join().map_err(|_| "the thread panicked")??;
    assert_eq!(head, format!("GET /path?query HTTP/1.1\r\nHost: {address}\r\nCookie: a=b\r\n\r\n"));
    assert_eq!(read, from_client);
    drop(client);
    let records = closed(&file, 1)?;
    assert_eq!(texts(&records, "sent"), ["[1,2]"]);
    assert_eq!(texts(&records, "received"), ["{}", "[1]"]);
    assert!(records.iter().any(|record| record["base64"] == "/w=="), "{records:#?}");
    let last = records.last().ok_or("no record")?;
    assert_eq!(
        (&last["code"], &last["reason"]),
        (&Value::from(4001), &"the client closed the WebSocket with 4001: bye".into())
    );
    assert_eq!(tap.end()?.0, Some(0));
    Ok(())
}

#[test]
fn a_long_head_passes_as_it_is() -> Test {
    const HEAD_BYTES: usize = 16_384;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("records.jsonl");
    let server = TcpListener::bind("127.0.0.1:0")?;
    let tap = Tap::start("ws://127.0.0.1:0", &format!("ws://{}", server.local_addr()?), &file)?;
    let own = tap.address.trim_start_matches("ws://").trim_end_matches('/').to_owned();
    let mut client = TcpStream::connect(own)?;
    let (mut accepted, _) = server.accept()?;
    let long = format!("GET / HTTP/1.1\r\nHost: evil.example\r\nX: {}", "x".repeat(2 * HEAD_BYTES));
    client.write_all(long.as_bytes())?;
    client.shutdown(Shutdown::Write)?;
    let mut read = String::new();
    accepted.read_to_string(&mut read)?;
    assert!(read == long);
    drop((accepted, client));
    assert!(closed(&file, 1)?.iter().any(|record| record["reason"] == "the head is too long"));
    assert_eq!(tap.end()?.0, Some(0));
    Ok(())
}

#[test]
fn the_number_of_connections_is_bounded() -> Test {
    const CONNECTIONS: usize = 256;
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let server = UnixListener::bind(path("server.sock"))?;
    let (own, to) = (path("own.sock"), path("server.sock"));
    let tap = Tap::start(own.to_str().ok_or("no path")?, to.to_str().ok_or("no path")?, &path("records"))?;
    let connect = || -> io::Result<(UnixStream, UnixStream)> { Ok((UnixStream::connect(&own)?, server.accept()?.0)) };
    let mut connections = (0..CONNECTIONS).map(|_| connect()).collect::<io::Result<Vec<_>>>()?;
    let mut waiting = UnixStream::connect(&own)?;
    waiting.write_all(b"waits")?;
    server.set_nonblocking(true)?;
    thread::sleep(Duration::from_millis(300));
    assert_eq!(server.accept().err().map(|error| error.kind()), Some(io::ErrorKind::WouldBlock));
    server.set_nonblocking(false)?;
    connections.pop();
    let (mut accepted, _) = server.accept()?;
    let mut read = [0; 5];
    accepted.read_exact(&mut read)?;
    assert_eq!(&read, b"waits");
    // The end of the command closes all connections.
    assert_eq!(tap.end()?.0, Some(0));
    for (mut client, _) in connections {
        assert_eq!(client.read(&mut read)?, 0);
    }
    Ok(())
}

#[tokio::test]
async fn a_missing_server_and_impossible_addresses_are_reported() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("records.jsonl");
    let path = folder.path().join("own.sock");
    let path = path.to_str().ok_or("no path")?;
    let tap = Tap::start(path, "./does-not-exist.sock", &file)?;
    assert_eq!(UnixStream::connect(path)?.read(&mut [0])?, 0);
    let read = until_closed(&file, 1).await?;
    assert!(read[1]["reason"].as_str().is_some_and(|reason| reason.starts_with("cannot connect to ")), "{read:#?}");
    let (code, stderr) = tap.end()?;
    assert_eq!(code, Some(0));
    assert!(stderr.contains("cannot connect to ./does-not-exist.sock"), "{stderr}");
    for (arguments, code, problem) in [
        (&["--listen", "ws://127.0.0.1:0/", "--to", "./a.sock"][..], 2, "must both be ws://"),
        (&["--listen", "127.0.0.1:0"], 2, "--to"),
        (&["--to", "127.0.0.1:1"], 2, "--listen"),
        (&["--listen", "wss://127.0.0.1:0/", "--to", "127.0.0.1:1"], 2, "it must be a path"),
        (&["--listen", "/does/not/exist", "--to", "127.0.0.1:1"], 3, "cannot listen on /does/not/exist"),
        (&[], 2, "PROGRAM"),
    ] {
        let outcome = run(["tap"].iter().chain(arguments)).await?;
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(problem), "{}", outcome.stderr);
    }
    Ok(())
}
