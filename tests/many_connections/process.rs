//! The server in a separate process. The process runs this program with the test `serve`.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

/// The environment variable with the path of the socket.
const PATH_VARIABLE: &str = "PORTWAY_TEST_SOCKET";
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The process of the server. The drop of this value kills the process.
pub(crate) struct ServerProcess(Child);

/// The memory of a process, in KB.
pub(crate) struct Memory {
    pub(crate) resident: u64,
    pub(crate) peak: u64,
}

impl ServerProcess {
    /// Starts the server, and waits until it listens.
    pub(crate) async fn start(path: &Path) -> io::Result<Self> {
        let child = Command::new(env::current_exe()?)
            .args(["--exact", "serve", "--ignored"])
            .env(PATH_VARIABLE, path)
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let start = Instant::now();
        while UnixStream::connect(path).await.is_err() {
            if start.elapsed() > TEST_TIMEOUT {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server does not listen"));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(Self(child))
    }

    /// Returns the path at which the server in this process must listen.
    pub(crate) fn socket_path() -> io::Result<PathBuf> {
        let missing = || io::Error::other(format!("{PATH_VARIABLE} must be set; the other test sets it"));
        env::var_os(PATH_VARIABLE).map(PathBuf::from).ok_or_else(missing)
    }

    pub(crate) fn memory_kb(&self) -> io::Result<Memory> {
        let process = self.0.id().ok_or_else(|| io::Error::other("the server has ended"))?;
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
            number.ok_or_else(|| io::Error::other(format!("the status of the process must have {name}")))
        };
        Ok(Memory { resident: field("VmRSS:")?, peak: field("VmHWM:")? })
    }
}

/// Raises the limit of open files of this process to `count`. Returns `false` if the system does not allow it.
pub(crate) fn raise_open_files(count: u64) -> bool {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= count) {
        return true;
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(count.min(maximum.unwrap_or(count))), maximum }).is_ok()
        && maximum.is_none_or(|maximum| maximum >= count)
}
