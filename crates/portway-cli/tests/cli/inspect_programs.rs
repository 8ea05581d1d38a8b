//! `portway inspect --listen-records`: programs that send invalid lines, or exceed a limit.

use std::error::Error;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::Test;
use crate::inspecting::Inspecting;

/// The value of `MAX_PROGRAM_LINKS`.
const MAX_LINKS: usize = 4_096;

/// The value of `MAX_LONG_LINES`.
const MAX_LONG_LINES: usize = 4;

/// Starts the command with a socket in a new folder.
fn start() -> Result<(Inspecting, PathBuf, TempDir), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("records.sock");
    let inspecting = Inspecting::start(&["inspect", "--listen-records", socket.to_str().ok_or("no path")?])?;
    Ok((inspecting, socket, folder))
}

fn message(link: &str, text: &str) -> Value {
    json!({ "kind": "message", "at": 1, "link": link, "direction": "sent", "form": "text", "text": text })
}

#[test]
fn an_invalid_line_of_a_program_does_not_end_the_stream_to_the_page() -> Test {
    let (mut inspecting, socket, _folder) = start()?;
    let mut page = inspecting.records()?;
    let mut program = UnixStream::connect(&socket)?;
    let open = json!({ "kind": "open", "at": 1, "link": "a", "name": "n", "transport": "tcp" });
    let lines = [
        "{\"kind\":\"end\"}",
        "{\"kind\":\"end\",\"at\":1,\"link\":\"a\"}",
        "[\"open\",\"a\",1,null,null,null,null]",
        "{\"kind\":\"gap\",\"at\":1,\"link\":\"a\",\"direction\":\"sent\",\"messages\":18446744073709551615,\"bytes\":1}",
    ];
    for line in lines {
        program.write_all(format!("{line}\n").as_bytes())?;
    }
    program.write_all(format!("{open}\n").as_bytes())?;
    assert_eq!(page.next()?, Some(open));
    inspecting.signal(Signal::TERM)?;
    page.rest()?;
    assert_eq!(inspecting.exit_code()?, Some(0));
    Ok(())
}

#[test]
fn the_links_of_a_program_are_bounded_and_close_when_it_disconnects() -> Test {
    let (inspecting, socket, _folder) = start()?;
    let mut page = inspecting.records()?;
    let mut program = UnixStream::connect(&socket)?;
    let mut lines = String::new();
    for link in 0..MAX_LINKS + 100 {
        lines.push_str(&format!("{}\n", message(&format!("l{link}"), "")));
    }
    program.write_all(lines.as_bytes())?;
    drop(program);
    let mut links = [Vec::new(), Vec::new()];
    while links[1].len() < MAX_LINKS {
        let record = page.next()?.ok_or("the stream has ended too early")?;
        links[usize::from(record["kind"] == "close")].push(record["link"].clone());
    }
    let [messages, mut closes] = links;
    assert_eq!(messages, (0..MAX_LINKS).map(|link| json!(format!("l{link}"))).collect::<Vec<_>>());
    closes.sort_by_key(Value::to_string);
    closes.dedup();
    assert_eq!(closes.len(), MAX_LINKS);
    Ok(())
}

#[test]
fn only_a_few_programs_may_send_a_long_line_at_the_same_time() -> Test {
    let (inspecting, socket, _folder) = start()?;
    let mut page = inspecting.records()?;
    // This part of a line is longer than the buffer of a socket. So after the write, the command is reading the line.
    let part = vec![b'x'; 1 << 20];
    let mut programs = Vec::new();
    for _ in 0..MAX_LONG_LINES {
        let mut program = UnixStream::connect(&socket)?;
        program.write_all(&part)?;
        programs.push(program);
    }
    // The text has 10 MiB. Its JSON has twice as many bytes, because each quote is escaped.
    let text = "\"".repeat(10 << 20);
    let long = message("long", &text);
    let mut waiting = UnixStream::connect(&socket)?;
    let written = thread::spawn({
        let line = format!("{long}\n");
        move || waiting.write_all(line.as_bytes()).map(|()| waiting)
    });
    // The command does not read the long line yet, but still reads programs with short lines.
    let mut short = UnixStream::connect(&socket)?;
    for number in 0..10 {
        let record = message("short", &number.to_string());
        short.write_all(format!("{record}\n").as_bytes())?;
        assert_eq!(page.next()?, Some(record));
    }
    assert!(!written.is_finished());
    programs.pop();
    assert!(page.next()?.is_some_and(|record| record == long));
    let waiting = written.join().map_err(|_| "the thread panicked")??;
    drop(waiting);
    assert_eq!(page.next()?.map(|record| record["kind"].clone()), Some(json!("close")));
    Ok(())
}
