//! Processes under attack, and hostile processes. Each process runs this test program in a role.

use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio, exit};
use std::time::{Duration, Instant};

use portway::profile::Profile;
use portway::{Context, Framing, Listener, RpcError, Server, Transport};
use serde_json::value::RawValue;

pub(crate) type Test = Result<(), Box<dyn Error>>;

/// Maximum time of one wait in a test.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

const ROLE: &str = "PORTWAY_HOSTILE_ROLE";
const PATH: &str = "PORTWAY_HOSTILE_PATH";

/// Returns whether the tests send all of their messages, see `PORTWAY_FULL` in `main.rs`.
pub(crate) fn in_full() -> bool {
    env::var("PORTWAY_FULL").is_ok_and(|value| value == "1")
}

/// Returns a command that runs this program in a role.
pub(crate) fn role(name: &str, path: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "process::runs_the_role_of_the_environment", "--nocapture"]);
    command.env(ROLE, name).env(PATH, path);
    command
}

/// In a process that [`role`] has started, runs the role and exits. In other processes, does nothing.
#[test]
fn runs_the_role_of_the_environment() {
    let Ok(name) = env::var(ROLE) else { return };
    let path = env::var_os(PATH).unwrap_or_default();
    let path = Path::new(&path);
    let outcome = match name.as_str() {
        "serve" => block_on(serve(path, Framing::ContentLength, Profile::GENERIC)),
        "serve lines" => block_on(serve(path, Framing::Newline, Profile::GENERIC)),
        "serve one by one" => block_on(serve(path, Framing::ContentLength, Profile::DAEMON)),
        "bind" => block_on(bind_over_and_over(path)),
        "wipc server" => block_on(wipc_server()),
        other => crate::wipc::play(other),
    };
    if let Err(problem) = outcome {
        eprintln!("the role {name} has failed: {problem}");
        exit(9);
    }
    exit(0);
}

fn block_on(work: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// Registers the methods that the attackers call.
fn set_up(server: &Server) {
    server.method("echo", |params: Box<RawValue>, _: Context| async move { Ok::<_, RpcError>(params) });
    server.method("hang", |params: Box<RawValue>, _: Context| async move {
        tokio::time::sleep(Duration::from_secs(600)).await;
        Ok::<_, RpcError>(params.get().len())
    });
    server.method("big", |_: Option<Box<RawValue>>, _: Context| async move { Ok::<_, RpcError>("x".repeat(100_000)) });
    server.method("steps", |_: Option<Box<RawValue>>, context: Context| async move {
        for step in 0..1_000 {
            let _ = context.progress(&step);
        }
        Ok::<_, RpcError>(())
    });
    server.method("secret", |_: Option<Box<RawValue>>, _: Context| async move { Ok::<_, RpcError>("the secret") });
}

async fn serve(path: &Path, framing: Framing, profile: Profile) -> io::Result<()> {
    let listener = Listener::unix(path, framing).await?;
    listener.with(move |transport| transport.with_profile(profile)).serve(|peer| set_up(peer.server())).await
}

async fn wipc_server() -> io::Result<()> {
    let server = Server::new(Transport::stdio(Framing::Wipc)?);
    set_up(&server);
    server.run().await;
    Ok(())
}

/// Creates and drops listeners repeatedly, in a process with an empty umask.
async fn bind_over_and_over(path: &Path) -> io::Result<()> {
    rustix::process::umask(rustix::fs::Mode::empty());
    for _ in 0..if in_full() { 3_000 } else { 500 } {
        drop(Listener::unix(path, Framing::ContentLength).await?);
    }
    Ok(())
}

/// A running process. The drop of this value kills the process.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        Ok(Self(command.stdout(Stdio::null()).spawn()?))
    }

    /// Starts a process in the role `serve`, and waits until the process listens.
    pub(crate) fn server(path: &Path) -> io::Result<Self> {
        Self::server_in(path, "serve")
    }

    /// Starts a process in a role that serves on a socket, for example `serve lines`. Waits until the process
    /// listens.
    pub(crate) fn server_in(path: &Path, name: &str) -> io::Result<Self> {
        let server = Self::start(&mut role(name, path))?;
        let start = Instant::now();
        while UnixStream::connect(path).is_err() {
            if start.elapsed() > TEST_TIMEOUT {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server does not listen"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(server)
    }

    /// Returns the peak of the resident memory of the process, in MiB.
    pub(crate) fn peak_mib(&self) -> io::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        kb.map(|kb| kb / 1_024).ok_or_else(|| io::Error::other("the status of the process must have VmHWM"))
    }
}

/// Writes to the standard output directly. libtest captures `println!`, but not these writes.
pub(crate) fn write_out(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}
