//! `portway tap -- PROGRAM`: passes the standard input of this process to a program, and the output of the program to
//! standard output.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use portway::tap::{Direction, TapTransport};
use portway::{ChildTree, stdio};
use portway_cli_support::signals::Signals;
use tokio::sync::oneshot;

use super::arguments::TapArguments;
use super::copy::{Copies, Taps};
use super::pump::{self, End, Progress};
use crate::call::exit_code;
use crate::limits::{LINK_GRACE, PROGRAM_OUTPUT_GRACE};
use crate::output::Failure;
use crate::program::{self, UNREACHABLE};

/// The interval between two checks whether more output of an exited program has arrived.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Runs the program until it exits, or until a signal arrives.
pub(super) async fn run(arguments: &TapArguments, taps: &Taps, signals: &mut Signals) -> Result<ExitCode, Failure> {
    let failure = |error: io::Error| Failure::new(UNREACHABLE, error.to_string());
    let mut child = program::start(&arguments.program)?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Failure::new(UNREACHABLE, "the program has no standard input or output"));
    };
    let stdin = ProgramInput(Arc::new(Mutex::new(Some(File::from(stdin.into_owned_fd().map_err(failure)?)))));
    let stdout = File::from(stdout.into_owned_fd().map_err(failure)?);
    let mut tree = ChildTree::new(child);
    // The arguments may contain secrets, so the name of the link is the program without its arguments.
    let name = arguments.program.first().map(|name| name.to_string_lossy()).unwrap_or_default();
    let copy = taps.open(&name, TapTransport::Stdio);
    let mut input = Some(pass_input(stdin.clone(), copy.stream(Direction::Sent)).map_err(failure)?);
    let mut output = Output::start(stdout, copy.stream(Direction::Received)).map_err(failure)?;
    let exited = loop {
        let input_end = async {
            match &mut input {
                Some(input) => input.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            kind = signals.next() => break Err(kind),
            status = tree.exit() => break Ok(status),
            _ = input_end => {
                tree.record_descendants();
                stdin.close();
                input = None;
            }
        }
    };
    let code = match exited {
        Ok(status) => {
            // The program may have written more than the reader of standard output has read.
            tokio::select! {
                _ = signals.next() => {}
                () = output.end() => {}
            }
            tokio::select! {
                _ = signals.next() => {}
                _ = tree.end(PROGRAM_OUTPUT_GRACE) => {}
            }
            let status = status.map_err(failure)?;
            copy.close(&format!("the program ended ({status})"), status.code().map(i64::from));
            status_code(status)
        }
        Err(kind) => {
            tree.record_descendants();
            stdin.close();
            // The program may answer, and print more, before it exits. A second signal ends the wait.
            let end = async {
                tree.end(LINK_GRACE).await;
                output.end().await;
            };
            tokio::select! {
                _ = signals.next() => {}
                () = end => {}
            }
            copy.close("a signal ended the command", None);
            exit_code(kind)
        }
    };
    Ok(code)
}

/// Returns the exit code of the program, or 128 plus the number of the signal that ended it.
fn status_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// The input of the program. The input is closed at the end of standard input, or after a signal.
#[derive(Clone)]
struct ProgramInput(Arc<Mutex<Option<File>>>);

impl ProgramInput {
    /// Closes the input. If a write to the program is blocked, the input stays open, and [`ChildTree::end`] ends the
    /// program by a signal.
    fn close(&self) {
        match self.0.try_lock() {
            Ok(mut file) => *file = None,
            Err(TryLockError::Poisoned(poisoned)) => *poisoned.into_inner() = None,
            Err(TryLockError::WouldBlock) => {}
        }
    }
}

impl Write for ProgramInput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Starts the thread that passes standard input to the program. The command exits without waiting for this thread. The
/// receiver reports the end of the input.
fn pass_input(mut program: ProgramInput, mut copies: Copies) -> io::Result<oneshot::Receiver<()>> {
    let (sender, ended) = oneshot::channel();
    let work = move || {
        let end = pump::pass(&mut stdio::stdin(), &mut program, &mut copies, &Progress::default());
        let _ = sender.send(());
        if end == End::Unwritable {
            // The program reads nothing more. Standard input is replaced by /dev/null, so that a program that writes to
            // this input gets an error, too.
            let _ = null().and_then(|null| rustix::stdio::dup2_stdin(null).map_err(io::Error::from));
        }
    };
    thread::Builder::new().name("input".into()).spawn(work)?;
    Ok(ended)
}

/// The output of the program, which a thread passes to standard output.
struct Output {
    progress: Arc<Progress>,
    ended: oneshot::Receiver<()>,
}

impl Output {
    fn start(mut program: File, mut copies: Copies) -> io::Result<Self> {
        let progress = Arc::<Progress>::default();
        let (sender, ended) = oneshot::channel();
        let shared = Arc::clone(&progress);
        let work = move || {
            pump::pass(&mut program, &mut stdio::stdout(), &mut copies, &shared);
            // Standard output is replaced by /dev/null, so that the reader of standard output receives the end even if
            // the program still runs.
            let _ = null().and_then(|null| rustix::stdio::dup2_stdout(null).map_err(io::Error::from));
            // If the reader of standard output is gone, closing the pipe causes an error in the program.
            drop(program);
            let _ = sender.send(());
        };
        thread::Builder::new().name("output".into()).spawn(work)?;
        Ok(Self { progress, ended })
    }

    /// Waits until the output of an exited program has passed. A process that the program has started may keep the pipe
    /// open, so the wait also ends after `PROGRAM_OUTPUT_GRACE` without further output.
    async fn end(&mut self) {
        let mut before = self.progress.get();
        let mut idle_since = Instant::now();
        loop {
            match tokio::time::timeout(CHECK_INTERVAL, &mut self.ended).await {
                Ok(_) => return,
                Err(_) => {
                    let now = self.progress.get();
                    if now != before || now.1 {
                        (before, idle_since) = (now, Instant::now());
                    }
                    if idle_since.elapsed() >= PROGRAM_OUTPUT_GRACE {
                        return;
                    }
                }
            }
        }
    }
}

/// Opens /dev/null.
fn null() -> io::Result<File> {
    File::options().read(true).write(true).open("/dev/null")
}
