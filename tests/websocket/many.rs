//! Ten thousand idle WebSockets to one process.

use std::time::{Duration, Instant};
use std::{env, fs, io};

use portway::{Client, Listener, Transport, WebSocketPolicy};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::process::Command;

use crate::raw::{RawClient, Test, register_methods, within};

const CONNECTIONS: usize = 10_000;
/// The number of open files that each process needs: its sockets and some other files.
const OPEN_FILES: u64 = CONNECTIONS as u64 + 500;
const MAX_MEMORY_KB: u64 = 400 * 1024;
/// The number of addresses to which the clients connect. For one address, the system may have too few free ports.
const ADDRESSES: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_idle_websockets_stay_open_while_another_client_is_served() -> Test {
    if !raise_open_files() {
        println!("NOT RUN: this test needs {OPEN_FILES} open files a process; see `ulimit -Hn`");
        return Ok(());
    }
    let (reader, writer) = io::pipe()?;
    let mut server = Command::new(env::current_exe()?)
        .args(["--exact", "many::serve_many", "--ignored", "--nocapture"])
        .stdout(writer)
        .kill_on_drop(true)
        .spawn()?;
    let port = tokio::task::spawn_blocking(move || {
        use io::BufRead as _;
        io::BufReader::new(reader).lines().find_map(|line| Some(line.ok()?.split_once("PORT ")?.1.to_owned()))
    });
    let port: u16 = within(port).await??.ok_or("the server has ended")?.parse()?;
    let process = server.id().ok_or("the server has ended")?;
    let before = memory_kb(process)?;
    let start = Instant::now();
    let mut clients = Vec::with_capacity(CONNECTIONS);
    for number in 0..CONNECTIONS {
        let mut client = RawClient::open(format!("127.0.0.{}:{port}", number % ADDRESSES + 1).parse()?).await?;
        client.assert_served().await?;
        clients.push(client);
    }
    let neighbour = Client::new(Transport::websocket(&format!("ws://127.0.0.1:{port}")).await?);
    let mut slowest = Duration::ZERO;
    for number in 0..100 {
        let start = Instant::now();
        assert_eq!(neighbour.call::<(u32,)>("echo", &(number,)).await?, (number,));
        slowest = slowest.max(start.elapsed());
    }
    let idle = memory_kb(process)?;
    println!(
        "{CONNECTIONS} WebSockets were opened and served in {:.1} s. The server uses {idle} KB, {:.1} KB for each. The \
         slowest call of another client took {slowest:?}.",
        start.elapsed().as_secs_f64(),
        (idle - before) as f64 / CONNECTIONS as f64,
    );
    assert!(idle <= MAX_MEMORY_KB, "{idle} KB");
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    // All connections must still be open. The test checks one in a hundred.
    for client in clients.iter_mut().step_by(100) {
        client.assert_served().await?;
    }
    server.kill().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the test above runs it in a separate process"]
async fn serve_many() -> Test {
    raise_open_files();
    let policy = WebSocketPolicy::new().max_connections_per_address(CONNECTIONS + 100);
    let listener = Listener::websocket_with("0.0.0.0:0", policy).await?;
    println!("PORT {}", listener.address().ok_or("the listener must have an address")?.port());
    listener.serve(register_methods).await?;
    Ok(())
}

/// Returns the resident memory of a process, in KB.
fn memory_kb(process: u32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let memory = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    memory.ok_or_else(|| io::Error::other("the status of the process must have VmRSS"))
}

/// Raises the limit of open files of this process to [`OPEN_FILES`]. Returns `false` if the system does not allow it.
fn raise_open_files() -> bool {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= OPEN_FILES) {
        return true;
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(OPEN_FILES.min(maximum.unwrap_or(OPEN_FILES))), maximum })
        .is_ok()
        && maximum.is_none_or(|maximum| maximum >= OPEN_FILES)
}
