//! Listeners: their addresses, their errors, and the errors of single connections.

use std::env;
use std::error::Error;
use std::fs;
use std::io;
use std::os::unix::net::UnixStream as BlockingStream;
use std::process::Stdio;
use std::time::Duration;

use portway::{Client, Context, Framing, Listener, Peer, RpcError, Transport};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::time::{Instant, timeout};

use crate::busy_socket::full_listener;
use crate::wire::TEST_TIMEOUT;

type Test = Result<(), Box<dyn Error>>;

fn serve_add(peer: &Peer) {
    peer.method("add", |(a, b): (i64, i64), _: Context| async move { Ok::<_, RpcError>(a + b) });
}

/// Returns a command that runs one ignored test of this program.
fn this_program(test: &str) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["--exact", &format!("listeners::{test}"), "--ignored", "--nocapture"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    Ok(command)
}

#[tokio::test]
async fn the_error_of_a_listener_or_a_connection_begins_with_the_path_or_the_address() -> Test {
    let folder = tempfile::tempdir()?;
    let missing = folder.path().join("missing").join("a.sock");
    let file = folder.path().join("file");
    fs::write(&file, "")?;
    let inside = file.join("a.sock");
    let long = folder.path().join("x".repeat(200));
    let busy = TcpListener::bind("127.0.0.1:0").await?;
    let in_use = busy.local_addr()?;
    let free = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    let newline = Framing::Newline;
    for (problem, expected) in [
        (
            Listener::unix(&missing, newline).await.err(),
            format!("{}: the folder {}: No such file", missing.display(), folder.path().join("missing").display()),
        ),
        (
            Listener::unix(&inside, newline).await.err(),
            format!("{}: the folder {}: Not a directory", inside.display(), file.display()),
        ),
        (Listener::unix(&long, newline).await.err(), format!("{}: ", long.display())),
        (Transport::unix(&missing, newline).await.err(), format!("{}: No such file", missing.display())),
        (Transport::unix(&file, newline).await.err(), format!("{}: ", file.display())),
        (Transport::unix(&long, newline).await.err(), format!("{}: ", long.display())),
        (Listener::tcp(in_use, newline).await.err(), format!("{in_use}: Address")),
        (Listener::tcp(in_use.to_string(), newline).await.err(), format!("{in_use}: Address")),
        (Listener::tcp("no.such.host.invalid:1", newline).await.err(), "no.such.host.invalid:1: ".to_owned()),
        (Listener::tcp("127.0.0.1", newline).await.err(), "127.0.0.1: invalid socket address".to_owned()),
        (Transport::tcp(free, newline).await.err(), format!("{free}: Connection refused")),
        (
            Transport::tcp(("127.0.0.1", free.port()), newline).await.err(),
            format!("(\"127.0.0.1\", {}): Connection refused", free.port()),
        ),
        (Transport::tcp("no.such.host.invalid:1", newline).await.err(), "no.such.host.invalid:1: ".to_owned()),
    ] {
        let text = problem.ok_or("an error is expected")?.to_string();
        assert!(text.starts_with(&expected), "the error must start with {expected}, got {text}");
    }
    Ok(())
}

#[tokio::test]
async fn a_listener_with_a_full_queue_is_not_replaced() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("busy.sock");
    let _busy = full_listener(&path)?;
    let problem = Listener::unix(&path, Framing::Newline).await.err().ok_or("the second listener must fail")?;
    assert_eq!(problem.kind(), io::ErrorKind::AddrInUse, "{problem}");
    assert!(problem.to_string().contains("another listener is using"), "{problem}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_connection_to_a_listener_with_a_full_queue_times_out_after_five_seconds() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("busy.sock");
    let _busy = full_listener(&path)?;
    let start = Instant::now();
    let problem = Transport::unix(&path, Framing::Newline).await.err().ok_or("the connection must fail")?;
    assert!(start.elapsed() >= Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(problem.kind(), io::ErrorKind::TimedOut);
    assert_eq!(problem.to_string(), format!("{}: the queue of the listener is full", path.display()));
    Ok(())
}

#[tokio::test]
async fn a_listener_removes_the_file_of_a_relative_path_after_a_change_of_the_working_directory() -> Test {
    let folder = tempfile::tempdir()?;
    let mut program = this_program("listener_on_a_relative_path_whose_program_changes_its_directory")?;
    let output = timeout(TEST_TIMEOUT, program.current_dir(&folder).output()).await??;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(fs::read_dir(&folder)?.count(), 0, "the folder must be empty");
    Ok(())
}

#[tokio::test]
#[ignore = "this test changes the working directory; the test above runs it in a separate process"]
async fn listener_on_a_relative_path_whose_program_changes_its_directory() -> Test {
    let folder = env::current_dir()?;
    let listener = Listener::unix("a.sock", Framing::Newline).await?;
    assert!(folder.join("a.sock").exists());
    env::set_current_dir("/")?;
    drop(listener);
    assert!(!folder.join("a.sock").exists());
    Ok(())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_name_in_the_abstract_namespace_has_no_file() -> Test {
    let name = format!("@portway-{}-{:?}", std::process::id(), std::thread::current().id());
    let listener = Listener::unix(&name, Framing::ContentLength).await?;
    let problem = Listener::unix(&name, Framing::ContentLength).await.err().ok_or("the second listener must fail")?;
    assert_eq!(problem.kind(), io::ErrorKind::AddrInUse);
    assert!(problem.to_string().starts_with(&name), "{problem}");
    let serving = tokio::spawn(listener.serve(serve_add));
    let client = Client::new(Transport::unix(&name, Framing::ContentLength).await?);
    assert_eq!(client.call::<i64>("add", &(1, 2)).await, Ok(3));
    assert!(!fs::exists(&name)?);
    serving.abort();
    let missing =
        Transport::unix("@portway-no-listener", Framing::ContentLength).await.err().ok_or("an error is expected")?;
    assert!(missing.to_string().starts_with("@portway-no-listener: Connection refused"), "{missing}");
    Ok(())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn another_user_is_not_served_in_the_abstract_namespace() -> Test {
    if !rustix::process::geteuid().is_root() {
        // libtest captures the macros, but not this write. `cargo xtask test` counts the line as a skipped test.
        let line =
            "\nskipped test: another_user_is_not_served_in_the_abstract_namespace: only root can change its user\n";
        return Ok(io::Write::write_all(&mut io::stderr(), line.as_bytes())?);
    }
    let name = format!("@portway-{}-{:?}", std::process::id(), std::thread::current().id());
    let serving = tokio::spawn(Listener::unix(&name, Framing::Newline).await?.serve(serve_add));
    let stranger = std::thread::spawn({
        let name = name.clone();
        move || answer_to_another_user(&name).map_err(|error| error.to_string())
    });
    let answer = tokio::task::spawn_blocking(|| stranger.join()).await?.map_err(|_| "the thread has panicked")??;
    assert_eq!(answer, "");
    let client = Client::new(Transport::unix(&name, Framing::Newline).await?);
    assert_eq!(client.call::<i64>("add", &(1, 2)).await, Ok(3), "the listener must continue");
    serving.abort();
    Ok(())
}

/// Becomes another user, calls `add`, and returns the answer. On Linux, each thread has a user of its own, and a socket
/// reports the user of the thread that has connected it. So the caller starts a thread for this function.
#[cfg(target_os = "linux")]
fn answer_to_another_user(name: &str) -> Result<String, Box<dyn Error>> {
    use std::io::{Read, Write};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;

    let nobody = rustix::process::Uid::from_raw(65_534);
    rustix::thread::set_thread_res_uid(nobody, nobody, nobody)?;
    let address = SocketAddr::from_abstract_name(name.trim_start_matches('@'))?;
    let mut stream = BlockingStream::connect_addr(&address)?;
    stream.set_read_timeout(Some(TEST_TIMEOUT))?;
    // The write or the read fails if the listener has already closed the connection.
    let _ = stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\",\"params\":[1,2]}\n");
    let mut answer = String::new();
    match stream.read_to_string(&mut answer) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err("the connection is still open".into()),
        _ => Ok(answer),
    }
}

/// The test preloads a library that replaces `accept4`. In this library, `accept4` closes every second connection and
/// fails with the error in `ERROR_OF_ACCEPT`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[tokio::test]
async fn an_error_of_one_connection_does_not_end_the_listener() -> Test {
    use rustix::io::Errno;

    let folder = tempfile::tempdir()?;
    let library = folder.path().join("accept.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/native/accept.c");
    // `cc` is available, since Rust also links with `cc`.
    let mut compiler = Command::new("cc");
    let compiled = compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).args([source, "-ldl"]).status();
    assert!(compiled.await?.success());
    for kind in ["tcp", "unix"] {
        for (error, continues) in [
            (Errno::PROTO, true),
            (Errno::HOSTUNREACH, true),
            (Errno::NETDOWN, true),
            (Errno::OPNOTSUPP, true),
            (Errno::PERM, true),
            (Errno::MFILE, true),
            (Errno::INVAL, false),
        ] {
            let path = folder.path().join(format!("{kind}-{}.sock", error.raw_os_error()));
            let target = if kind == "tcp" { "127.0.0.1:0".into() } else { path.display().to_string() };
            let mut program = this_program("listener_of_a_program")?;
            program.env("LD_PRELOAD", &library).env("ERROR_OF_ACCEPT", error.raw_os_error().to_string());
            let mut child = program.env("KIND_OF_LISTENER", kind).env("ADDRESS_OF_LISTENER", &target).spawn()?;
            let mut lines = BufReader::new(child.stdout.take().ok_or("the output must be a pipe")?).lines();
            let address = text_after("listens on ", &mut lines).await?;
            let mut answered = 0;
            for _ in 0..4 {
                let transport = if kind == "tcp" {
                    Transport::tcp(&address, Framing::Newline).await
                } else {
                    Transport::unix(&address, Framing::Newline).await
                };
                // If the listener has ended, the next connection is refused.
                let Ok(transport) = transport else { break };
                let client = Client::new(transport);
                answered += i32::from(timeout(TEST_TIMEOUT, client.call::<i64>("add", &(1, 2))).await? == Ok(3));
            }
            assert_eq!(answered, if continues { 2 } else { 1 }, "{kind}, {error:?}");
            if !continues {
                let problem = text_after("ended: ", &mut lines).await?;
                assert!(problem.starts_with(&format!("{target}: Invalid argument")), "{problem}");
            }
        }
    }
    Ok(())
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
/// Reads lines up to a line that contains `start`. Returns the text after `start` in this line.
async fn text_after(
    start: &str,
    lines: &mut tokio::io::Lines<BufReader<tokio::process::ChildStdout>>,
) -> Result<String, Box<dyn Error>> {
    loop {
        let line = timeout(TEST_TIMEOUT, lines.next_line()).await??.ok_or("the output has ended")?;
        if let Some((_, rest)) = line.split_once(start) {
            return Ok(rest.to_owned());
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[tokio::test]
#[ignore = "this test does not end; the test above runs it in a separate process"]
async fn listener_of_a_program() -> Test {
    let address = env::var("ADDRESS_OF_LISTENER")?;
    let listener = match env::var("KIND_OF_LISTENER")?.as_str() {
        "tcp" => Listener::tcp(address.as_str(), Framing::Newline).await?,
        _ => Listener::unix(&address, Framing::Newline).await?,
    };
    println!("listens on {}", listener.address().map_or(address, |address| address.to_string()));
    let ended = listener.serve(serve_add).await;
    println!("ended: {}", ended.err().ok_or("the listener has ended without an error")?);
    Ok(())
}
