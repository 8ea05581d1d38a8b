//! The permissions of a socket file, and the cost of connections that send half a message or read nothing.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::time::{Duration, Instant};

use crate::connection::{Connection, frame};
use crate::process::{Running, Test, in_full, role};

#[test]
fn a_new_socket_file_is_accessible_only_to_its_owner() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    let mut seen = 0_u32;
    // On a busy machine, this thread may not run while the other process binds the socket. So the test starts the other
    // process again until it has read the mode more than 100 times.
    for _ in 0..50 {
        let mut binding = Running::start(&mut role("bind", &path))?;
        while binding.0.try_wait()?.is_none() {
            // Between two listeners, the file does not exist.
            let Ok(metadata) = fs::metadata(&path) else { continue };
            seen += 1;
            let mode = metadata.permissions().mode() & 0o777;
            assert!(metadata.file_type().is_socket());
            assert_eq!(mode & 0o077, 0, "only the owner may have permissions: {mode:o}, seen {seen} times");
        }
        assert!(binding.0.wait()?.success());
        if seen > 100 {
            return Ok(());
        }
    }
    Err(format!("the socket file must be seen more than 100 times, got {seen}").into())
}

#[test]
fn incomplete_messages_cost_only_their_sent_bytes_and_delay_no_other_peer() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    let server = Running::server(&path)?;
    let before = server.peak_mib()?;
    let mut kept = Vec::new();
    for _ in 0..if in_full() { 900 } else { 300 } {
        let mut connection = Connection::to(&path)?;
        connection.stream.write_all(b"Content-Length: 10000000\r\n\r\n{")?;
        connection.stream.write_all(&[b'a'; 1_000])?;
        kept.push(connection);
    }
    let waited = Connection::to(&path)?.ping()?;
    assert!(waited < Duration::from_secs(2), "{waited:?}");
    let grown = server.peak_mib()? - before;
    assert!(grown <= 64, "{grown} MiB for {} half messages of a kilobyte", kept.len());
    Ok(())
}

#[test]
fn the_server_stops_reading_a_peer_that_reads_nothing_and_serves_others() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    let server = Running::server(&path)?;
    let before = server.peak_mib()?;
    let mut silent = Connection::to(&path)?;
    silent.stream.set_write_timeout(Some(Duration::from_millis(500)))?;
    let request = frame(r#"{"jsonrpc":"2.0","id":1,"method":"big"}"#);
    let mut sent = 0_usize;
    // The answer to each request has 100 KB.
    while silent.stream.write_all(&request).is_ok() {
        sent += 1;
        assert!(sent < 200_000, "the server must stop reading");
    }
    let start = Instant::now();
    for _ in 0..100 {
        Connection::to(&path)?.ping()?;
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let grown = server.peak_mib()? - before;
    // The bound covers the limit of 16 MiB for unwritten answers, and the answers to requests in progress.
    assert!(grown <= 160, "{grown} MiB for {sent} requests");
    Ok(())
}
