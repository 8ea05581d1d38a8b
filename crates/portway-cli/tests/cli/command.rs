//! Runs the command `portway`, and collects its output.

use std::error::Error;
use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

pub(crate) type Test = Result<(), Box<dyn Error>>;

/// Maximum time of one wait in a test. The time is long enough for a slow machine.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The output and the exit code of a run of the command.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Parses each line of standard output as JSON.
    pub(crate) fn events(&self) -> Result<Vec<Value>, serde_json::Error> {
        self.stdout.lines().map(serde_json::from_str).collect()
    }
}

/// Returns a command that is not started yet. When the handle of its process is dropped, the process is killed.
pub(crate) fn portway(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portway"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Runs the command until it exits, with an empty standard input.
pub(crate) async fn run(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Run, Box<dyn Error>> {
    feed(arguments, b"").await
}

/// Runs the command until it exits, with `input` on standard input.
pub(crate) async fn feed(
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    input: &[u8],
) -> Result<Run, Box<dyn Error>> {
    let mut child = portway(arguments).stdin(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    let (_, output) = timeout(TEST_TIMEOUT, async {
        // The result of the write is ignored: the command may exit before it has read the input.
        let written = async {
            let written = stdin.write_all(input).await;
            drop(stdin);
            written
        };
        tokio::join!(written, child.wait_with_output())
    })
    .await?;
    let output = output?;
    Ok(Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}
