//! Links on every platform of the feature `native`. A child process runs this test program again. An environment
//! variable names the role of the child process.
#![cfg(any(unix, windows))]

use std::env;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process;
use std::thread::sleep;
use std::time::{Duration, Instant};

use portway::codec::wipc::FrameType;
use portway::wipc::{Guest, Host};
use portway::{CallError, Client, Closed, Context, Framing, Listener, Peer, Process, RpcError, Server, Transport};
use tokio::process::Command;

type Outcome = Result<(), Box<dyn Error>>;

/// The environment variable with the role of a child process.
const ROLE: &str = "PORTWAY_TEST_ROLE";

/// The environment variable with the path of the file to which a ticker writes.
const FILE: &str = "PORTWAY_TEST_FILE";

/// The interval between two writes of a ticker. A ticker is a process that writes a byte to its file again and again.
const TICK: Duration = Duration::from_millis(20);

/// The grace period of links to child processes.
const GRACE: Duration = Duration::from_millis(300);

/// Maximum time until a child process exits.
const LIMIT: Duration = Duration::from_secs(20);

/// Returns a command that runs this program in a role. With `--quiet`, libtest writes one line to standard output.
/// Every framing skips this line.
fn command_in_role(role: &str) -> Result<process::Command, Box<dyn Error>> {
    let mut command = process::Command::new(env::current_exe()?);
    command.args(["--exact", "child", "--quiet", "--nocapture"]).env(ROLE, role);
    Ok(command)
}

/// Runs the role of a child process. This function must be a test, because the child process runs it by its name. If
/// the environment variable is not set, the test does nothing.
#[test]
fn child() -> Outcome {
    match env::var(ROLE).as_deref() {
        Ok("server") => serve(Framing::ContentLength)?,
        Ok("parent") => {
            // The descendant inherits the pipes.
            command_in_role("ticker")?.spawn()?;
            serve(Framing::ContentLength)?;
        }
        Ok("stubborn") => {
            serve(Framing::ContentLength)?;
            sleep(LIMIT);
        }
        Ok("ticker") => {
            let path = env::var(FILE)?;
            for _ in 0..LIMIT.as_millis() / TICK.as_millis() {
                fs::OpenOptions::new().append(true).create(true).open(&path)?.write_all(b".")?;
                sleep(TICK);
            }
        }
        Ok("guest") => {
            let mut guest = Guest::new();
            while let Some(frame) = guest.receive()? {
                guest.send(frame.frame_type, &frame.payload)?;
            }
        }
        _ => return Ok(()),
    }
    process::exit(0)
}

#[tokio::main(flavor = "current_thread")]
async fn serve(framing: Framing) -> std::io::Result<()> {
    let server = Server::new(Transport::stdio(framing)?);
    server.method("add", add);
    server.method("repeat", |(text, count): (String, usize), _: Context| async move {
        Ok::<_, RpcError>(text.repeat(count))
    });
    server.method("exit", exit);
    server.run().await;
    Ok(())
}

async fn add((a, b): (i64, i64), _: Context) -> Result<i64, RpcError> {
    Ok(a + b)
}

async fn exit((code,): (i32,), _: Context) -> Result<(), RpcError> {
    process::exit(code)
}

fn client(command: process::Command) -> std::io::Result<Client> {
    let transport = Transport::child(&mut Command::from(command), Framing::ContentLength)?;
    Ok(Client::new(transport.with_grace(GRACE)))
}

/// Starts a server, which starts a ticker. Returns the client of the server once the ticker runs.
async fn client_of_parent(file: &Path) -> Result<Client, Box<dyn Error>> {
    let mut command = command_in_role("parent")?;
    command.env(FILE, file);
    let client = client(command)?;
    let start = Instant::now();
    while size(file) == 0 {
        assert!(start.elapsed() < LIMIT, "the descendant must start");
        tokio::time::sleep(TICK).await;
    }
    assert_eq!(client.call("add", &(1, 2)).await, Ok(3));
    Ok(client)
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |file| file.len())
}

async fn assert_no_ticks(file: &Path) {
    let before = size(file);
    tokio::time::sleep(TICK * 10).await;
    assert_eq!(size(file), before, "the descendant must have exited");
}

#[tokio::test]
async fn a_client_calls_a_server_over_tcp() -> Outcome {
    let listener = Listener::tcp("127.0.0.1:0", Framing::Newline).await?;
    let address = listener.address().ok_or("the listener must have an address")?;
    tokio::spawn(listener.serve(|peer: &Peer| {
        peer.method("add", add);
    }));
    let client = Client::new(Transport::tcp(address, Framing::Newline).await?);
    assert_eq!(client.call("add", &(1, 2)).await, Ok(3));
    Ok(())
}

#[tokio::test]
async fn a_client_calls_a_process_and_then_ends_the_link() -> Outcome {
    let client = client(command_in_role("server")?)?;
    assert_eq!(client.call("add", &(1, 2)).await, Ok(3));
    let text: String = client.call("repeat", &("ab", 1_000_000)).await?;
    assert_eq!(text.len(), 2_000_000);
    client.destroy();
    assert_eq!(client.closed().await, Closed::Local);
    Ok(())
}

#[tokio::test]
async fn the_link_reports_the_exit_status() -> Outcome {
    let client = client(command_in_role("server")?)?;
    assert_eq!(client.call::<()>("exit", &(7,)).await, Err(CallError::PeerGone));
    let closed = client.closed().await;
    assert!(matches!(closed, Closed::Exited(status) if status.code() == Some(7)), "{closed:?}");
    Ok(())
}

#[tokio::test]
async fn a_process_that_does_not_exit_is_ended_after_the_grace() -> Outcome {
    let client = client(command_in_role("stubborn")?)?;
    assert_eq!(client.call("add", &(1, 2)).await, Ok(3));
    let start = Instant::now();
    client.destroy();
    client.closed().await;
    assert!((GRACE..LIMIT).contains(&start.elapsed()), "{:?}", start.elapsed());
    Ok(())
}

#[tokio::test]
async fn the_end_of_the_link_also_ends_the_descendants_of_the_process() -> Outcome {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("ticks");
    let client = client_of_parent(&file).await?;
    client.destroy();
    client.closed().await;
    assert_no_ticks(&file).await;
    Ok(())
}

#[tokio::test]
async fn the_exit_of_a_process_also_ends_its_descendants() -> Outcome {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("ticks");
    let client = client_of_parent(&file).await?;
    assert_eq!(client.call::<()>("exit", &(0,)).await, Err(CallError::PeerGone));
    client.closed().await;
    assert_no_ticks(&file).await;
    Ok(())
}

/// On Windows, the drop of the runtime waits for pending reads of pipes. Such a read ends when the last process that
/// has the pipe open for writing exits. So the drop must also end the descendants.
#[test]
fn the_end_of_the_runtime_ends_all_processes() -> Outcome {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("ticks");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let client = runtime.block_on(client_of_parent(&file))?;
    let start = Instant::now();
    drop(runtime);
    assert!(start.elapsed() < LIMIT / 2, "{:?}", start.elapsed());
    drop(client);
    // A killed process needs some time to exit.
    sleep(TICK * 5);
    let before = size(&file);
    sleep(TICK * 10);
    assert_eq!(size(&file), before, "the descendant must have exited");
    Ok(())
}

#[tokio::test]
async fn a_supervised_process_is_restarted() -> Outcome {
    let server = Process::from_command(command_in_role("server")?.into(), Framing::ContentLength)
        .on_exit(|_, starts| (starts < 2).then_some(TICK))
        .start(|_| {})?;
    let first = server.ready().await?;
    assert_eq!(first.call::<()>("exit", &(1,)).await, Err(CallError::PeerGone));
    assert_eq!(server.ready().await?.call("add", &(1, 2)).await, Ok(3));
    assert_eq!(server.shutdown().await, Closed::Local);
    Ok(())
}

#[tokio::test]
async fn a_guest_returns_frames_and_exits() -> Outcome {
    let mut host = Host::spawn(&mut command_in_role("guest")?.into())?;
    host.send(FrameType::Data, b"hello").await?;
    assert_eq!(host.receive().await?.map(|frame| frame.payload), Some(b"hello".to_vec()));
    assert_eq!(host.close(b"").await?.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn if_a_program_cannot_be_started_the_error_names_the_program_or_the_folder() -> Outcome {
    let start = |mut command: Command| Transport::child(&mut command, Framing::Newline).map(drop);
    let missing = start(Command::new("no-such-program")).map_err(|error| error.to_string());
    assert!(missing.as_ref().is_err_and(|text| text.starts_with("no-such-program: ")), "{missing:?}");
    let mut command = command_in_role("server")?;
    command.current_dir("no-such-folder");
    let missing_folder = start(command.into()).map_err(|error| error.to_string());
    assert!(
        missing_folder.as_ref().is_err_and(|text| text.contains("the working directory no-such-folder")),
        "{missing_folder:?}"
    );
    Ok(())
}
