//! The permissions of a socket file, and the cost of connections that send an incomplete message or read nothing.

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
            // The other process creates listeners one by one. Between two listeners, the file does not exist.
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
    let mut incomplete_connections = Vec::new();
    for _ in 0..if in_full() { 900 } else { 300 } {
        let mut connection = Connection::to(&path)?;
        connection.stream.write_all(b"Content-Length: 10000000\r\n\r\n{")?;
        connection.stream.write_all(&[b'a'; 1_000])?;
        incomplete_connections.push(connection);
    }
    let ping_time = Connection::to(&path)?.ping()?;
    assert!(ping_time < Duration::from_secs(2), "{ping_time:?}");
    let growth_mib = server.peak_mib()? - before;
    assert!(growth_mib <= 64, "{growth_mib} MiB for {} half messages of a kilobyte", incomplete_connections.len());
    Ok(())
}

#[test]
fn the_server_stops_reading_a_peer_that_reads_nothing_and_serves_others() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    let server = Running::server(&path)?;
    let before = server.peak_mib()?;
    let mut not_reading = Connection::to(&path)?;
    not_reading.stream.set_write_timeout(Some(Duration::from_millis(500)))?;
    let request = frame(r#"{"jsonrpc":"2.0","id":1,"method":"big"}"#);
    let mut sent = 0_usize;
    // Each request has 50 bytes, and its answer has 100 KB.
    while not_reading.stream.write_all(&request).is_ok() {
        sent += 1;
        assert!(sent < 200_000, "the server must stop reading");
    }
    let start = Instant::now();
    for _ in 0..100 {
        Connection::to(&path)?.ping()?;
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let growth_mib = server.peak_mib()? - before;
    // The bound covers the limit of 16 MiB for unwritten answers, and the answers to requests in progress.
    assert!(growth_mib <= 160, "{growth_mib} MiB for {sent} requests");
    Ok(())
}
