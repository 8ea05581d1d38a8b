//! One process serves ten thousand clients and three hundred bad clients at the same time.
#![cfg(all(unix, feature = "native"))]

mod process;

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portway::{Client, Context, Framing, Listener, RpcError, Transport};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use self::process::{ServerProcess, raise_open_files};

/// The number of clients that are connected at the same time, without the bad clients.
const CONNECTIONS: usize = 10_000;
/// The number of bad clients of each kind.
const BAD_CLIENTS: usize = 100;
/// Maximum number of calls that are pending at the same time.
const MAX_PENDING_CALLS: usize = 256;
/// The number of open files that each process needs: its sockets and some other files.
const OPEN_FILES: u64 = (CONNECTIONS + 3 * BAD_CLIENTS + 200) as u64;
/// The server must never have more resident memory than this.
const MAX_MEMORY_KB: u64 = 400 * 1024;
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_connections_are_answered_beside_bad_clients() -> Result<(), Box<dyn Error>> {
    if !raise_open_files(OPEN_FILES) {
        println!("NOT RUN: this test needs {OPEN_FILES} open files a process; see `ulimit -Hn`");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("server.sock");
    let server = ServerProcess::start(&path).await?;
    let before = server.memory_kb()?;

    let start = Instant::now();
    let mut clients = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        clients.push(Client::new(Transport::unix(&path, Framing::ContentLength).await?));
    }
    call_all(&clients, |number| number).await?;
    let idle = server.memory_kb()?;
    println!(
        "{CONNECTIONS} connections, each answered once, after {:.1} s: {} KB, {:.1} KB each",
        start.elapsed().as_secs_f64(),
        idle.resident,
        (idle.resident - before.resident) as f64 / CONNECTIONS as f64
    );

    let bad_clients = bad_clients(&path).await?;
    // This order differs from the order in which the clients connected.
    let latencies = call_all(&clients, |number| number * 7919 % CONNECTIONS).await?;
    let percentile = |percent: usize| latencies.get(latencies.len() * percent / 100).copied().unwrap_or_default();
    let all = server.memory_kb()?;
    println!(
        "beside {} bad clients: median {:?}, 99 % {:?}; peak {} KB",
        3 * BAD_CLIENTS,
        percentile(50),
        percentile(99),
        all.peak
    );
    assert!(percentile(99) < Duration::from_secs(2), "{:?}", percentile(99));
    assert!(all.peak <= MAX_MEMORY_KB, "{} KB", all.peak);
    drop(bad_clients);
    Ok(())
}

/// Makes one call with each client. `order` returns the index of the client for the number of a call. Returns the
/// durations in ascending order.
async fn call_all(clients: &[Client], order: impl Fn(usize) -> usize) -> Result<Vec<Duration>, Box<dyn Error>> {
    let permits = Arc::new(Semaphore::new(MAX_PENDING_CALLS));
    let mut tasks = Vec::with_capacity(clients.len());
    for call in 0..clients.len() {
        let number = order(call);
        let client = clients.get(number).ok_or("no such client")?.clone();
        let permit = Arc::clone(&permits).acquire_owned().await?;
        tasks.push(tokio::spawn(async move {
            let start = Instant::now();
            let echo = client.call::<usize>("echo", &(number,)).timeout(TEST_TIMEOUT).await;
            drop(permit);
            (echo == Ok(number)).then(|| start.elapsed()).ok_or_else(|| format!("{number}: {echo:?}"))
        }));
    }
    let mut latencies = Vec::with_capacity(tasks.len());
    for task in tasks {
        latencies.push(task.await??);
    }
    latencies.sort_unstable();
    Ok(latencies)
}

/// Connects bad clients of three kinds. A client of the first kind requests more than a socket can buffer, and reads
/// nothing. A client of the second kind sends a part of a message. A client of the third kind sends a part of a message
/// and closes the connection.
async fn bad_clients(path: &std::path::Path) -> Result<Vec<UnixStream>, Box<dyn Error>> {
    let mut connections = Vec::new();
    for number in 0..BAD_CLIENTS {
        let mut not_reading = UnixStream::connect(path).await?;
        let body = format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"large"}}"#);
        let request = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        timeout(TEST_TIMEOUT, not_reading.write_all(request.repeat(10).as_bytes())).await??;
        connections.push(not_reading);
        let mut incomplete = UnixStream::connect(path).await?;
        incomplete.write_all(b"Content-Length: 1000000\r\n\r\n{\"jsonrpc\":").await?;
        connections.push(incomplete);
        let mut disconnected = UnixStream::connect(path).await?;
        disconnected.write_all(b"Content-Length: 1000\r\n\r\n{").await?;
    }
    Ok(connections)
}

/// Runs the server in a separate process, see [`ServerProcess`].
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the other test runs it in a separate process"]
async fn serve() -> Result<(), Box<dyn Error>> {
    raise_open_files(OPEN_FILES);
    let path = ServerProcess::socket_path()?;
    let listener = Listener::unix(path, Framing::ContentLength).await?;
    let large = Arc::new(serde_json::value::to_raw_value(&"x".repeat(40_000))?);
    let serving = listener.serve(move |peer| {
        peer.method("echo", |(number,): (usize,), _: Context| async move { Ok::<_, RpcError>(number) });
        let large = Arc::clone(&large);
        peer.server().method_sync("large", move |(): (), _: Context| Ok::<_, RpcError>((*large).clone()));
    });
    serving.await?;
    Ok(())
}
