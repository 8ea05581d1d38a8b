//! A server that is killed by SIGKILL at random moments while clients call it. `PORTWAY_ROUNDS` is the number of
//! rounds, each with one kill. With the `PORTWAY_SEED` of an earlier run, the kills have the same moments.

use std::collections::HashMap;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use portway::{CallError, Client, Context, Listener, RpcError, Transport};
use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;

use crate::processes::Process;
use crate::raw::{Test, within};

const ADDRESS: &str = "PORTWAY_TEST_URL";
const LOG: &str = "PORTWAY_TEST_LOG";

const CLIENTS: usize = 2;
const CALLERS: usize = 4;
/// The server is killed within this time (µs) after the clients have begun to connect.
const MAX_LIFE_US: u64 = 30_000;
/// The server answers within this time (ms) after it has logged the execution.
const MAX_WORK_MS: u64 = 4;

/// A generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Starts the server at `address`. Without an address, the server gets a port that the system does not use for outgoing
/// connections. If the system used this port for a client while the server is down, the client could connect to itself.
fn start(address: Option<&str>, log: &Path, random: &mut Random) -> io::Result<(Process, String)> {
    for _ in 0..100 {
        let any = format!("127.0.0.1:{}", 20_000 + random.below(12_000));
        let wanted = address.unwrap_or(&any);
        let mut server =
            Process::start("killed::serve_process", &[(ADDRESS, wanted.as_ref()), (LOG, log.as_os_str())])?;
        match server.line("LISTENS ") {
            Ok(address) => return Ok((server, address)),
            Err(error) if address.is_some() => return Err(error),
            Err(_) => {}
        }
    }
    Err(io::Error::other("no port is free"))
}

/// Makes calls one after another until the connection ends. Returns the number and the outcome of each call.
async fn make_calls(client: Client, last_call: Arc<AtomicU64>) -> Vec<(u64, Result<u64, CallError>)> {
    let mut outcomes = Vec::new();
    loop {
        let call = last_call.fetch_add(1, Ordering::Relaxed) + 1;
        let outcome = client.call::<u64>("run", &(call, call % MAX_WORK_MS)).timeout(Duration::from_secs(50)).await;
        let is_last = outcome.is_err();
        outcomes.push((call, outcome));
        if is_last {
            return outcomes;
        }
    }
}

#[derive(Default, Debug)]
struct Counts {
    calls: u64,
    answered: u64,
    lost_after_execution: u64,
    lost_before_execution: u64,
    connected: u64,
    refused: u64,
}

impl Counts {
    /// Checks the calls of a round against the executions that the server has logged.
    fn add(&mut self, outcomes: &[(u64, Result<u64, CallError>)], executions: &str) -> Test {
        let mut runs: HashMap<u64, u64> = HashMap::new();
        for line in executions.lines() {
            *runs.entry(line.parse()?).or_default() += 1;
        }
        for (call, outcome) in outcomes {
            let runs = runs.remove(call).unwrap_or(0);
            self.calls += 1;
            match (outcome, runs) {
                (Ok(result), 1) if result == call => self.answered += 1,
                (Err(CallError::Lost(_) | CallError::PeerGone), 1) => self.lost_after_execution += 1,
                (Err(CallError::Lost(_) | CallError::PeerGone), 0) => self.lost_before_execution += 1,
                _ => return Err(format!("call {call} was executed {runs} times and ended with {outcome:?}").into()),
            }
        }
        if runs.is_empty() {
            Ok(())
        } else {
            Err(format!("the server executed calls that have not ended: {runs:?}").into())
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_call_ends_once_and_runs_at_most_once_whenever_the_server_is_killed() -> Test {
    let number = |name: &str, default: u64| env::var(name).map_or(Ok(default), |value| value.parse());
    let rounds = number("PORTWAY_ROUNDS", 30)?;
    let seed = number("PORTWAY_SEED", u64::from(std::process::id()).wrapping_mul(0x9E37_79B9_7F4A_7C15))?;
    println!("PORTWAY_SEED={seed} PORTWAY_ROUNDS={rounds}");
    let mut random = Random(seed | 1);
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("executions");
    let last_call = Arc::new(AtomicU64::new(0));
    let mut counts = Counts::default();
    let mut address = None;
    for round in 0..rounds {
        File::create(&log)?;
        let (server, server_address) = start(address.as_deref(), &log, &mut random)?;
        let url = format!("ws://{server_address}");
        address = Some(server_address);
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let (url, last_call) = (url.clone(), Arc::clone(&last_call));
            clients.spawn(async move {
                let Ok(transport) = Transport::websocket(&url).await else { return Ok(None) };
                let client = Client::new(transport);
                let mut callers: JoinSet<_> =
                    (0..CALLERS).map(|_| make_calls(client.clone(), Arc::clone(&last_call))).collect();
                let mut outcomes = Vec::new();
                while let Some(outcomes_of_caller) = callers.join_next().await {
                    outcomes.extend(outcomes_of_caller?);
                }
                assert_eq!(client.pending(), 0);
                Ok::<_, JoinError>(Some(outcomes))
            });
        }
        sleep(Duration::from_micros(random.below(MAX_LIFE_US))).await;
        // `drop` kills the process, and waits until it has ended.
        drop(server);
        let mut outcomes = Vec::new();
        while let Some(client) = within(clients.join_next()).await? {
            match client?? {
                Some(outcomes_of_client) => {
                    counts.connected += 1;
                    outcomes.extend(outcomes_of_client);
                }
                None => counts.refused += 1,
            }
        }
        counts
            .add(&outcomes, &fs::read_to_string(&log)?)
            .map_err(|error| format!("round {round}, seed {seed}: {error}"))?;
    }
    println!("{counts:?}");
    assert!(counts.answered > rounds, "{counts:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the test above runs it in a separate process"]
async fn serve_process() -> Test {
    let listener = Listener::websocket(env::var(ADDRESS)?).await?;
    let log = Arc::new(OpenOptions::new().append(true).open(env::var(LOG)?)?);
    println!("LISTENS {}", listener.address().ok_or("the listener must have an address")?);
    let serving = listener.serve(move |peer| {
        let log = Arc::clone(&log);
        peer.method("run", move |(call, work): (u64, u64), _: Context| {
            // The server writes each line with one call, so that a kill leaves no part of a line.
            let logged = (&*log).write_all(format!("{call}\n").as_bytes());
            async move {
                logged.map_err(|error| RpcError::internal(error.to_string()))?;
                if work > 0 {
                    sleep(Duration::from_millis(work)).await;
                }
                Ok::<_, RpcError>(call)
            }
        });
    });
    serving.await?;
    Ok(())
}
