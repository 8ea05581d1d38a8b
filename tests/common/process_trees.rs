//! Programs that start other programs, and the processes that are left of them.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How a server is started. It ends neither at the end of its input nor with its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// By the shell, which waits for it.
    Shell,
    /// By Node, which waits for it.
    Node,
    Npx,
    /// By a process that ends at once, so that the server gets another parent.
    ForksAgain,
    /// In a group and a session of its own. Its parent waits for it.
    OtherGroup,
    /// As above, but the parent ends at the end of its input.
    OtherGroupAndAlone,
}

pub const SHAPES: [Shape; 6] =
    [Shape::Shell, Shape::Node, Shape::Npx, Shape::ForksAgain, Shape::OtherGroup, Shape::OtherGroupAndAlone];

/// No wait takes longer, on any machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Answers the first call, in lines.
const ANSWER: &str = r#"IFS= read -r line; echo '{"jsonrpc":"2.0","id":1,"result":true}'"#;

/// A program that starts a server.
pub struct Tree {
    folder: TempDir,
    shape: Shape,
}

impl Tree {
    /// The server ends at `SIGTERM` after it has saved something, or ignores it.
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

    /// Whether the server inherits the input of the program.
    fn has_input(&self) -> bool {
        !matches!(self.shape, Shape::ForksAgain | Shape::OtherGroupAndAlone)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// The program and its arguments. It answers one call, in lines, once the server is there.
    pub fn command(&self) -> Vec<String> {
        let server = self.path("server");
        let once_there = format!("while [ ! -e '{}' ]; do sleep 0.02; done; {ANSWER}", self.path("pid"));
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
            Shape::ForksAgain => words(["sh", "-c", &format!("(sh '{server}' &); {once_there}; cat >/dev/null")]),
            Shape::OtherGroup => words(["sh", "-c", &format!("setsid sh '{server}'; true")]),
            Shape::OtherGroupAndAlone => {
                words(["sh", "-c", &format!("setsid sh '{server}' & {once_there}; cat >/dev/null")])
            }
        }
    }

    /// Waits until the server is there.
    pub fn wait(&self) -> io::Result<u32> {
        let start = Instant::now();
        loop {
            if let Some(pid) = fs::read_to_string(self.path("pid")).ok().and_then(|text| text.trim().parse().ok()) {
                return Ok(pid);
            }
            if start.elapsed() > TEST_TIMEOUT {
                return Err(io::Error::other(format!("no server: {:?}", self.shape)));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until no process of the program is left, up to the limit. Returns the processes that are left.
    pub fn left_after(&self, limit: Duration) -> Vec<String> {
        let start = Instant::now();
        loop {
            let left = self.left();
            if left.is_empty() || start.elapsed() > limit {
                return left;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The processes that have the folder of this program in their arguments. A zombie has ended.
    fn left(&self) -> Vec<String> {
        let folder = self.path("");
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
        let lines = processes.filter_map(|process: PathBuf| {
            let line = fs::read(process.join("cmdline")).ok()?;
            Some(format!("{}: {}", process.display(), String::from_utf8_lossy(&line)))
        });
        lines.filter(|line| line.contains(&folder)).collect()
    }

    /// Whether the server got `SIGTERM`, and had the time to save.
    pub fn has_saved(&self) -> bool {
        fs::exists(self.path("saved")).unwrap_or(false)
    }
}

impl Drop for Tree {
    /// A test that fails leaves nothing behind either.
    fn drop(&mut self) {
        for line in self.left() {
            let pid = line.trim_start_matches("/proc/").split(':').next().unwrap_or_default();
            let _ = std::process::Command::new("kill").args(["-9", pid]).status();
        }
    }
}
