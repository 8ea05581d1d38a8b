//! The guests. Each guest is a process that runs this test program in a role. Before its frames, libtest prints text,
//! as a real guest may do.

use std::env;
use std::error::Error;
use std::io::{self, Read, Write};
use std::process::{self, exit};
use std::time::Duration;

use portway::RpcError;
use portway::codec::wipc::FrameType;
use portway::wipc::{Channel, Guest, GuestServer};
use portway::{Context, Framing, Peer, Transport};
use serde_json::Value;
use tokio::process::Command;

/// Maximum time of one wait in a test. It is long enough for a slow machine.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) type Test = Result<(), Box<dyn Error>>;

/// Returns the command of a guest in this role.
pub(crate) fn guest(role: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "guests::runs_the_guest_of_the_environment", "--nocapture"]);
    command.env("ROLE_OF_GUEST", role);
    command
}

/// In a process that [`guest`] has started, runs the role and exits. In other processes, does nothing.
#[test]
fn runs_the_guest_of_the_environment() {
    let Ok(role) = env::var("ROLE_OF_GUEST") else { return };
    let outcome = match role.as_str() {
        "echo" => echo(),
        "serve" => serve(),
        "ready echo" => after_a_line(echo),
        "ready serve" => after_a_line(serve),
        "ready async echo" => after_a_line(|| block_on(async_echo())),
        "ready peer" => after_a_line(|| block_on(quiet_peer())),
        "async echo" => block_on(async_echo()),
        "peer" => block_on(peer()),
        "stubborn" => stubborn(),
        "torn" => exit_within_frame(),
        "sends close" => send_close(),
        "chatty" => with_printing_thread(echo),
        "chatty async" => with_printing_thread(|| block_on(async_echo())),
        "chatty peer" => with_printing_thread(|| block_on(peer())),
        other => panic!("the role {other} does not exist"),
    };
    if let Err(problem) = outcome {
        eprintln!("the guest has failed: {problem}");
        exit(9);
    }
    exit(0);
}

fn block_on(work: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(work);
    runtime.shutdown_background();
    outcome
}

/// Prints a line that separates the output of libtest from the frames, and then runs `work`.
fn after_a_line(work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    println!("ready");
    work()
}

/// Answers calls with a [`Peer`]. In contrast to [`peer`], it prints nothing.
async fn quiet_peer() -> io::Result<()> {
    let peer = Peer::new(Transport::stdio(Framing::Wipc)?);
    peer.method("echo", |value: Value, _: Context| async move { Ok::<_, RpcError>(value) });
    peer.run().await;
    Ok(())
}

/// Sends each frame back to the host, including `CLOSE`.
fn echo() -> io::Result<()> {
    let mut guest = Guest::new();
    while let Some(frame) = guest.receive()? {
        guest.send(frame.frame_type, &frame.payload)?;
    }
    Ok(())
}

/// Serves calls without a runtime.
fn serve() -> io::Result<()> {
    let mut total = 0;
    GuestServer::new()
        .method("add", |(a, b): (i64, i64), _| a.checked_add(b).ok_or_else(|| RpcError::invalid_params("too large")))
        .method("echo", |value: Value, _| Ok::<_, RpcError>(value))
        .method("panic", |(): (), _| -> Result<(), RpcError> { panic!("the host has called the method panic") })
        .method("count", move |(by,): (i64,), host| {
            total += by;
            println!("the total is {total}");
            host.notify("total", &[total]).map_err(|problem| RpcError::internal(problem.to_string()))?;
            Ok::<_, RpcError>(total)
        })
        .on_notify("exit", |(code,): (i32,), _| process::exit(code))
        .on_frame(|frame, host| {
            if frame.frame_type == FrameType::Data {
                host.send(FrameType::Data, frame.payload).unwrap();
            }
        })
        .serve(&mut Guest::new())
}

async fn async_echo() -> io::Result<()> {
    let (sender, mut receiver) = Channel::stdio()?.split();
    while let Some(frame) = receiver.receive().await? {
        sender.send(frame.frame_type, &frame.payload).await?;
    }
    sender.end().await;
    Ok(())
}

/// Serves three methods: `ask` calls the host, `repeat` returns a long result, and `slow` waits. Prints the types of
/// all frames that are not messages to standard error.
async fn peer() -> io::Result<()> {
    let peer = Peer::new(Transport::stdio(Framing::Wipc)?.on_frame(|frame| eprintln!("{}", frame.frame_type)));
    let client = peer.client().clone();
    client.send_frame(FrameType::Open, b"ready").map_err(io::Error::other)?;
    peer.method("ask", move |(question,): (String,), _: Context| {
        let client = client.clone();
        async move { client.call::<Value>("answer", &[question]).await.map_err(RpcError::from) }
    });
    peer.method("repeat", |(count,): (usize,), _: Context| async move { Ok::<_, RpcError>("\n".repeat(count)) });
    peer.method("slow", |(milliseconds,): (u64,), _: Context| async move {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        Ok::<_, RpcError>("done")
    });
    peer.run().await;
    Ok(())
}

/// Reads its input to the end, and does not exit.
fn stubborn() -> io::Result<()> {
    Guest::new().send(FrameType::Open, b"")?;
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    std::thread::sleep(Duration::from_secs(600));
    Ok(())
}

/// Exits after a part of a frame.
fn exit_within_frame() -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(b"text\nWIPC\x02\x0a\0\0\0half")?;
    out.flush()?;
    exit(3);
}

/// Waits for a frame. Then sends `CLOSE`, a response in a CALL frame, and text, and exits.
fn send_close() -> io::Result<()> {
    let mut guest = Guest::new();
    guest.receive()?;
    let mut out = io::stdout();
    out.write_all(b"WIPC\x01\x03\0\0\0bye")?;
    out.write_all(b"WIPC\x02\x23\0\0\0{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":5}")?;
    out.write_all(b"and good night\n")?;
    out.flush()?;
    exit(4);
}

/// Prints lines from a second thread while `work` runs.
fn with_printing_thread(work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    std::thread::spawn(|| {
        for number in 0.. {
            println!("line {number}");
        }
    });
    work()
}
