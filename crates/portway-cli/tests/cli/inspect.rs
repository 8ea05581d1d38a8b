//! `portway inspect`: the requests that the server answers or refuses, and the files.

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::command::{TEST_TIMEOUT, Test};
use crate::inspecting::Inspecting;

/// The value of `MAX_INSPECTOR_CONNECTIONS`.
const MAX_CONNECTIONS: usize = 64;

/// The value of `MAX_OPENED_FILE_BYTES`.
const MAX_FILE_BYTES: u64 = 134_217_728;

#[test]
fn only_paths_with_the_token_of_the_printed_address_are_served() -> Test {
    let (first, second) = (Inspecting::start(&["inspect"])?, Inspecting::start(&["inspect"])?);
    for inspecting in [&first, &second] {
        assert_eq!(inspecting.token.len(), 32, "a token must have 128 bits in hexadecimal");
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
            // A path that is not ASCII is invalid in HTTP, and `*` is valid only with OPTIONS.
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
        (format!("Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}"), 200),
        (String::new(), 403),
        ("X: y".to_owned(), 403),
        (format!("Host: evil.example:{port}"), 403),
        (format!("Host: 127.0.0.1.evil.example:{port}"), 403),
        (format!("Host: localhost.evil.example:{port}"), 403),
        // `localhost` may be [::1], where another program could listen.
        (format!("Host: localhost:{port}"), 403),
        (format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}"), 403),
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
    // The target of a request may contain a host, as for proxies. This host must be valid, too.
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
    // `connect` finds the address of the interface to another network, and sends no packet.
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
fn each_file_of_the_page_has_its_type_and_the_policy_and_no_other_file_is_found() -> Test {
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
    // Other methods are refused. An address without the last slash is redirected.
    let response = inspecting.send(&inspecting.request("POST", "", "Content-Length: 0\r\n"))?;
    assert_eq!((response.status, response.header("allow")), (405, "GET, HEAD"));
    let without_slash = format!("GET /{} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", inspecting.token, inspecting.port);
    let response = inspecting.send(&without_slash)?;
    assert_eq!((response.status, response.header("location")), (308, &*format!("/{}/", inspecting.token)));
    Ok(())
}

#[test]
fn a_page_is_served_at_once_beside_300_silent_connections() -> Test {
    let inspecting = Inspecting::start(&["inspect"])?;
    let mut records = inspecting.records()?;
    // The shortest of three times counts, because other programs may delay a request.
    let mut shortest = Duration::MAX;
    for _ in 0..3 {
        let mut silent = Vec::new();
        for number in 0..300 {
            let mut stream = inspecting.connect()?;
            if number % 2 == 0 {
                stream.write_all(b"GET / HTTP/1.1\r\nHost: ")?;
            }
            silent.push(stream);
        }
        let start = Instant::now();
        assert_eq!(inspecting.get("", "")?.status, 200);
        shortest = shortest.min(start.elapsed());
    }
    assert!(shortest < Duration::from_secs(1), "{shortest:?}");
    // A connection with a complete request stays open until its response is complete.
    inspecting.signal(Signal::TERM)?;
    assert_eq!(records.rest()?, Vec::<Value>::new());
    Ok(())
}

#[test]
fn connections_without_a_request_are_ended_so_that_a_page_is_served() -> Test {
    let inspecting = Inspecting::start(&["inspect"])?;
    let mut silent = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        silent.push(inspecting.connect()?);
    }
    // A head that arrives byte by byte has the same time limit.
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
    // A file of the maximum length is shown.
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
    // The command that uses the port still runs.
    inspecting.signal(Signal::TERM)?;
    assert_eq!(inspecting.exit_code()?, Some(0));
    Ok(())
}

fn make_fifo(path: &Path) -> Test {
    assert!(Command::new("mkfifo").arg(path).status()?.success());
    Ok(())
}

#[test]
fn a_signal_ends_a_command_that_waits_for_a_pipe() -> Test {
    let folder = tempfile::tempdir()?;
    let (pages, blocked) = (folder.path().join("page"), folder.path().join("blocked"));
    for page in [&pages, &blocked] {
        fs::create_dir(page)?;
        fs::write(page.join("index.html"), "")?;
    }
    let (file, asset) = (folder.path().join("fifo"), blocked.join("a.js"));
    make_fifo(&file)?;
    make_fifo(&asset)?;
    let file_name = file.to_str().ok_or("no path")?;
    for (arguments, page, fifo) in [
        (&["inspect", "--open", file_name][..], &pages, &file),
        (&["inspect"], &blocked, &asset),
        (&["tap", "--inspect", "--", "cat"], &blocked, &asset),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portway"));
        let mut child = command.args(arguments).env("PORTWAY_INSPECTOR_PAGE", page).stdin(Stdio::piped()).spawn()?;
        // This `open` succeeds once the command has opened the pipe for reading.
        let start = Instant::now();
        let flags = i32::try_from(OFlags::NONBLOCK.bits())?;
        let writer = loop {
            match OpenOptions::new().write(true).custom_flags(flags).open(fifo) {
                Ok(writer) => break writer,
                Err(error) => assert!(start.elapsed() < TEST_TIMEOUT, "{arguments:?}: {error}"),
            }
            thread::sleep(Duration::from_millis(5));
        };
        kill_process(Pid::from_child(&child), Signal::TERM)?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if start.elapsed() > TEST_TIMEOUT {
                child.kill()?;
                return Err(format!("{arguments:?}: the signal had no effect").into());
            }
            thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(status.signal(), Some(Signal::TERM.as_raw()), "{arguments:?}");
        drop(writer);
    }
    Ok(())
}

#[test]
fn a_folder_without_a_document_is_not_read() -> Test {
    let folder = tempfile::tempdir()?;
    // A read of the pipe would block.
    make_fifo(&folder.path().join("a"))?;
    let page = folder.path().to_string_lossy().into_owned();
    let expected = format!("portway: PORTWAY_INSPECTOR_PAGE: {page} must contain index.html\n");
    assert_eq!(run(&["inspect"], &page)?, (Some(2), expected));
    Ok(())
}
