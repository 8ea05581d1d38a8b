//! Programs that start a server process in different ways. A test can wait until all processes of a program have
//! exited.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The way in which a program starts a server. The server ignores the end of its input and the exit of its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The shell starts the server, and waits until the server exits.
    Shell,
    /// Node starts the server, and waits until the server exits.
    Node,
    /// npx starts the server, and waits until the server exits.
    Npx,
    /// A process starts the server and exits at once, so that the server gets a new parent.
    ForksAgain,
    /// The server is in a separate process group and session. Its parent waits until the server exits.
    OtherGroup,
    /// The server is in a separate process group and session. Its parent exits at the end of its own input.
    OtherGroupAndAlone,
}

pub const SHAPES: [Shape; 6] =
    [Shape::Shell, Shape::Node, Shape::Npx, Shape::ForksAgain, Shape::OtherGroup, Shape::OtherGroupAndAlone];

/// Maximum time of one wait in a test. It is long enough for a slow machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Shell commands that read one line and print the response to the first call.
const ANSWER: &str = r#"IFS= read -r line; echo '{"jsonrpc":"2.0","id":1,"result":true}'"#;

/// A program that starts a server.
pub struct Tree {
    folder: TempDir,
    shape: Shape,
}

impl Tree {
    /// Creates the script of the server. If `handles_term` is set, the server writes a file at `SIGTERM` and exits. If
    /// `handles_term` is not set, the server ignores `SIGTERM`.
    pub fn new(shape: Shape, handles_term: bool) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let tree = Self { folder, shape };
        let trap = if handles_term { format!("echo saved > '{}'; exit 0", tree.path("saved")) } else { String::new() };
        let trap = trap.replace('\'', "\"");
        let answer = if tree.has_input() { ANSWER } else { ":" };
        let script = format!(
            "trap '{trap}' TERM\ntrap '' HUP PIPE\n{answer}\necho $$ > '{0}.new'; mv '{0}.new' '{0}'\n\
             while :; do sleep 0.05; done\n",
            tree.path("pid"),
        );
        fs::write(tree.path("server"), script)?;
        Ok(tree)
    }

    /// Returns whether the server inherits the input of the program.
    fn has_input(&self) -> bool {
        !matches!(self.shape, Shape::ForksAgain | Shape::OtherGroupAndAlone)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Returns the program and its arguments. The program answers one call, as a line, with the result `true`.
    pub fn command(&self) -> Vec<String> {
        let server = self.path("server");
        let answer_when_started = format!("while [ ! -e '{}' ]; do sleep 0.02; done; {ANSWER}", self.path("pid"));
        let words = |words: [&str; 3]| words.map(str::to_owned).to_vec();
        match self.shape {
            Shape::Shell => words(["sh", "-c", &format!("sh '{server}'; true")]),
            Shape::Node => {
                let script = format!("child_process.spawn('sh', ['{server}'], {{ stdio: 'inherit' }})");
                words(["node", "-e", &script])
            }
            Shape::Npx => {
                let mut npx = words(["npx", "--no", "--offline"]);
                npx.extend(["-c".to_owned(), format!("sh '{server}'")]);
                npx
            }
            Shape::ForksAgain => {
                words(["sh", "-c", &format!("(sh '{server}' &); {answer_when_started}; cat >/dev/null")])
            }
            Shape::OtherGroup => words(["sh", "-c", &format!("setsid sh '{server}'; true")]),
            Shape::OtherGroupAndAlone => {
                words(["sh", "-c", &format!("setsid sh '{server}' & {answer_when_started}; cat >/dev/null")])
            }
        }
    }

    /// Waits until the server runs. Returns its process id.
    pub fn wait(&self) -> io::Result<u32> {
        let start = Instant::now();
        loop {
            if let Some(pid) = fs::read_to_string(self.path("pid")).ok().and_then(|text| text.trim().parse().ok()) {
                return Ok(pid);
            }
            if start.elapsed() > TEST_TIMEOUT {
                return Err(io::Error::other(format!("the server has not started: {:?}", self.shape)));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until all processes of the program have exited, for at most `limit`. Returns the processes that still run.
    pub fn processes_after(&self, limit: Duration) -> Vec<String> {
        let start = Instant::now();
        loop {
            let processes = self.running_processes();
            if processes.is_empty() || start.elapsed() > limit {
                return processes;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the processes that have the folder of this program in their arguments. A zombie has no arguments, so it
    /// is not in the list.
    fn running_processes(&self) -> Vec<String> {
        let folder = self.path("");
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
        let lines = processes.filter_map(|process: PathBuf| {
            let line = fs::read(process.join("cmdline")).ok()?;
            Some(format!("{}: {}", process.display(), String::from_utf8_lossy(&line)))
        });
        lines.filter(|line| line.contains(&folder)).collect()
    }

    /// Returns whether the server has received `SIGTERM` and has written its file.
    pub fn has_saved(&self) -> bool {
        fs::exists(self.path("saved")).unwrap_or(false)
    }
}

impl Drop for Tree {
    /// Kills the processes that still run after a failed test.
    fn drop(&mut self) {
        for line in self.running_processes() {
            let pid = line.trim_start_matches("/proc/").split(':').next().unwrap_or_default();
            let _ = std::process::Command::new("kill").args(["-9", pid]).status();
        }
    }
}
