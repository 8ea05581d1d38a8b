//! Child processes: their answers, exits, standard error and restarts. Most processes run shell scripts.

use std::error::Error;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use portway::{CallError, Client, Closed, Framing, Process, Transport};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::wire::TEST_TIMEOUT;

type Test = Result<(), Box<dyn Error>>;

fn shell(script: &str) -> io::Result<Transport> {
    Transport::child(Command::new("sh").args(["-c", script]), Framing::ContentLength)
}

/// Returns a shell command that prints the response to the first call, with this result.
fn answering(result: &str) -> String {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
    format!("printf 'Content-Length: {}\\r\\n\\r\\n%s' '{body}'", body.len())
}

fn is_alive(process: u32) -> bool {
    // A zombie is an exited process whose parent has not read its exit status.
    let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

async fn time_until_exit(process: u32) -> Duration {
    let start = Instant::now();
    while is_alive(process) && start.elapsed() < TEST_TIMEOUT {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    start.elapsed()
}

#[tokio::test]
async fn a_process_answers_a_call_and_its_link_ends_with_its_exit_status() -> Test {
    let client = Client::new(shell(&format!("read line; {}; exit 3", answering("5")))?);
    assert_eq!(timeout(TEST_TIMEOUT, client.call::<u32>("count", &())).await?, Ok(5));
    let Closed::Exited(status) = timeout(TEST_TIMEOUT, client.closed()).await? else {
        return Err("the link must end with an exit status".into());
    };
    assert_eq!(status.code(), Some(3));
    Ok(())
}

#[tokio::test]
async fn the_exit_of_a_process_ends_all_calls() -> Test {
    let client = Client::new(shell("read line; kill -9 $$")?);
    let calls: Vec<_> = (0..10).map(|_| client.call::<()>("count", &()).timeout(None).start()).collect();
    for call in calls {
        assert_eq!(timeout(TEST_TIMEOUT, call).await?, Err(CallError::PeerGone));
    }
    assert_eq!(client.pending(), 0);
    let Closed::Exited(status) = timeout(TEST_TIMEOUT, client.closed()).await? else {
        return Err("the link must end with an exit status".into());
    };
    assert_eq!(status.signal(), Some(9));
    Ok(())
}

#[tokio::test]
async fn a_process_that_only_closes_its_input_is_noticed_at_the_next_write() -> Test {
    let client = Client::new(shell(&format!("read line; exec <&-; {}; exec sleep 60", answering("1")))?);
    let waiting = client.call::<u32>("count", &()).timeout(None).start();
    // This answer shows that the process has closed its input.
    assert_eq!(timeout(TEST_TIMEOUT, waiting).await?, Ok(1));
    let outcome = timeout(TEST_TIMEOUT, client.call::<u32>("count", &()).timeout(None)).await?;
    assert!(matches!(outcome, Err(CallError::Lost(Closed::Io(io::ErrorKind::BrokenPipe, _)))), "{outcome:?}");
    assert_eq!(client.pending(), 0);
    Ok(())
}

#[tokio::test]
async fn a_missing_program_is_an_error_at_once() {
    let missing = Transport::child(&mut Command::new("/nonexistent/program"), Framing::ContentLength);
    assert_eq!(missing.err().map(|error| error.kind()), Some(io::ErrorKind::NotFound));
}

/// Returns a script that reads the first line of a request, writes a megabyte and a line to standard error, and then
/// answers.
fn script_with_long_stderr() -> String {
    format!("read line; head -c 1000000 /dev/zero >&2; echo done >&2; {}; cat >/dev/null", answering("1"))
}

#[tokio::test]
async fn a_megabyte_on_an_unread_standard_error_does_not_block_the_process() -> Test {
    let script_with_stderr = script_with_long_stderr();
    // If standard error is a pipe, the library closes its end of the pipe. A process may then continue or exit at a
    // write, but must not block.
    for (stderr, script, expected) in [
        (Stdio::null(), script_with_stderr.clone(), Ok(1)),
        (Stdio::piped(), format!("trap '' PIPE; {script_with_stderr}"), Ok(1)),
        (Stdio::piped(), script_with_stderr, Err(CallError::PeerGone)),
    ] {
        let mut command = Command::new("sh");
        let transport = Transport::child(command.args(["-c", &script]).stderr(stderr), Framing::ContentLength)?;
        let client = Client::new(transport);
        assert_eq!(timeout(TEST_TIMEOUT, client.call::<u32>("count", &())).await?, expected, "{script}");
    }
    Ok(())
}

#[test]
fn a_process_writes_to_the_standard_error_of_its_host() -> Test {
    // The host is this program, which runs only the test below.
    let output = std::process::Command::new(std::env::current_exe()?)
        .args(["--exact", "processes::host_of_a_process_with_long_stderr", "--ignored", "--nocapture"])
        .stdin(Stdio::null())
        .output()?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
    assert_eq!(output.stderr.iter().filter(|byte| **byte == 0).count(), 1_000_000);
    assert_eq!(String::from_utf8_lossy(&output.stderr).trim_start_matches('\0'), "done\n");
    Ok(())
}

#[tokio::test]
#[ignore = "this test writes to standard error; the test above runs it in a separate process"]
async fn host_of_a_process_with_long_stderr() -> Test {
    let client = Client::new(shell(&script_with_long_stderr())?);
    assert_eq!(timeout(TEST_TIMEOUT, client.call::<u32>("count", &())).await?, Ok(1));
    Ok(())
}

#[tokio::test]
async fn a_process_ends_with_its_client() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("pid");
    let client = Client::new(shell(&format!("echo $$ > '{}'; exec cat", file.display()))?);
    let process = pid_in(&file).await?;
    assert!(is_alive(process));
    client.destroy();
    assert!(time_until_exit(process).await < Duration::from_secs(2));
    Ok(())
}

#[tokio::test]
async fn a_process_that_ignores_signals_is_killed_after_the_grace() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("pid");
    let script = format!("trap '' TERM HUP INT; echo $$ > '{}'; while :; do sleep 1; done", file.display());
    let client = Client::new(shell(&script)?.with_grace(Duration::from_millis(100)));
    let process = pid_in(&file).await?;
    drop(client);
    assert!(time_until_exit(process).await < Duration::from_secs(5));
    Ok(())
}

#[tokio::test]
async fn a_process_that_closes_its_input_but_does_not_exit_is_killed_after_one_grace() -> Test {
    let grace = Duration::from_secs(2);
    let client = Client::new(shell("exec <&-; exec sleep 600")?.with_grace(grace));
    let start = Instant::now();
    while client.notify("tick", &()).is_ok() && start.elapsed() < TEST_TIMEOUT {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let start = Instant::now();
    timeout(TEST_TIMEOUT, client.closed()).await?;
    assert!((grace.mul_f32(0.9)..grace.mul_f32(1.8)).contains(&start.elapsed()), "{:?}", start.elapsed());
    Ok(())
}

#[test]
fn a_process_ends_with_the_runtime_of_its_client() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("pid");
    let script = format!("echo $$ > '{}'; while :; do sleep 1; done", file.display());
    let runtime = tokio::runtime::Runtime::new()?;
    let process = runtime.block_on(async {
        let client = Client::new(shell(&script)?);
        let process = pid_in(&file).await;
        std::mem::forget(client);
        process
    })?;
    drop(runtime);
    let start = Instant::now();
    while is_alive(process) && start.elapsed() < TEST_TIMEOUT {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(start.elapsed() < Duration::from_secs(2));
    Ok(())
}

/// Waits until the file contains a process id, and returns this id.
async fn pid_in(file: &Path) -> io::Result<u32> {
    let start = Instant::now();
    loop {
        if let Some(process) = fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok()) {
            return Ok(process);
        }
        if start.elapsed() > TEST_TIMEOUT {
            return Err(io::ErrorKind::TimedOut.into());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_supervised_process_is_restarted_as_often_as_the_application_allows() -> Test {
    let folder = tempfile::tempdir()?;
    let count = folder.path().join("count");
    // The process answers one call with the number of starts, and exits.
    let script = format!(
        "echo x >> '{0}'; read line; body='{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":'$(wc -l < '{0}')'}}'; \
         printf 'Content-Length: %s\\r\\n\\r\\n%s' ${{#body}} \"$body\"",
        count.display()
    );
    let (sender, mut exits) = mpsc::unbounded_channel();
    let process = Process::new("sh", ["-c", &script], Framing::ContentLength)
        .on_exit(move |why, starts| {
            let _ = sender.send(starts);
            assert!(matches!(why, Closed::Exited(_) | Closed::Io(..)), "{why:?}");
            (starts < 3).then_some(Duration::from_millis(1))
        })
        .start(|_| {})?;
    for starts in 1..=3 {
        let client = process.client();
        let call = client.call::<u32>("count", &());
        assert_eq!(timeout(TEST_TIMEOUT, call).await?, Ok(starts));
        assert_eq!(timeout(TEST_TIMEOUT, exits.recv()).await?, Some(starts));
        // After a restart, the client of the exited process is not connected to the new process.
        assert!(client.call::<u32>("count", &()).await.is_err());
        while starts < 3 && count_of(&count) == starts {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(matches!(timeout(TEST_TIMEOUT, process.ended()).await?, Closed::Exited(_)));
    assert_eq!(count_of(&count), 3);
    Ok(())
}

#[tokio::test]
async fn a_restarted_process_receives_no_message_for_the_exited_process() -> Test {
    let folder = tempfile::tempdir()?;
    let path = |name| folder.path().join(name);
    // The first process exits after it has read a part of a call. The second process writes its input to a file.
    let script = format!(
        "cd '{}'; if [ ! -e first ]; then : > first; read line; exit 1; fi; echo $$ > pid; cat > input; exit 0",
        folder.path().display()
    );
    let process = Process::new("sh", ["-c", &script], Framing::ContentLength)
        .on_exit(|_, starts| (starts < 2).then_some(Duration::ZERO))
        .start(|_| {})?;
    let first = process.client();
    // The first call is larger than the buffer of a pipe, so most of its bytes stay unwritten. The second call waits in
    // the queue behind the first.
    let large = first.call::<()>("before", &["x".repeat(1_000_000)]).timeout(None).start();
    let small = first.call::<()>("before", &()).timeout(None).start();
    for call in [large, small] {
        let outcome = timeout(TEST_TIMEOUT, call).await?;
        assert!(matches!(outcome, Err(CallError::PeerGone | CallError::Lost(Closed::Io(..)))), "{outcome:?}");
    }
    assert_eq!(first.pending(), 0);
    let pid = pid_in(&path("pid")).await?;
    let start = Instant::now();
    while process.client().notify("after", &()).is_err() {
        assert!(start.elapsed() < TEST_TIMEOUT, "the process must start again");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    while !fs::read_to_string(path("input")).is_ok_and(|input| input.contains("after")) {
        assert!(start.elapsed() < TEST_TIMEOUT, "the notification must arrive");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    drop(process);
    time_until_exit(pid).await;
    let body = r#"{"jsonrpc":"2.0","method":"after"}"#;
    assert_eq!(fs::read_to_string(path("input"))?, format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    Ok(())
}

/// Returns the number of lines in the file.
fn count_of(file: &Path) -> u32 {
    fs::read_to_string(file).map_or(0, |text| text.lines().count() as u32)
}

#[tokio::test]
async fn standard_error_of_any_length_is_read_line_by_line() -> Test {
    let (sender, mut lines) = mpsc::unbounded_channel();
    let script =
        "printf 'one\\ntw' >&2; sleep 0.05; printf 'o\\n' >&2; head -c 3000000 /dev/zero >&2; printf '\\nlast' >&2";
    let process = Process::new("sh", ["-c", script], Framing::ContentLength)
        .on_stderr(move |line| {
            let _ = sender.send(if line.len() < 10 { line.to_owned() } else { line.len().to_string() });
        })
        .start(|_| {})?;
    assert_eq!(timeout(TEST_TIMEOUT, lines.recv()).await?.as_deref(), Some("one"));
    assert_eq!(timeout(TEST_TIMEOUT, lines.recv()).await?.as_deref(), Some("two"));
    let mut zeros = 0;
    loop {
        match timeout(TEST_TIMEOUT, lines.recv()).await?.as_deref() {
            Some("last") => break,
            Some(piece) => zeros += piece.parse().unwrap_or(0),
            None => return Err("the last line is missing".into()),
        }
    }
    assert_eq!(zeros, 3_000_000);
    drop(process);
    Ok(())
}

#[tokio::test]
async fn a_supervised_process_ends_when_its_handle_is_dropped_and_is_not_restarted() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("pid");
    let script = format!("echo $$ > '{}'; exec cat", file.display());
    let process = Process::new("sh", ["-c", &script], Framing::ContentLength)
        .on_exit(|_, _| Some(Duration::ZERO))
        .start(|_| {})?;
    let pid = pid_in(&file).await?;
    drop(process);
    assert!(time_until_exit(pid).await < Duration::from_secs(3));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(pid_in(&file).await?, pid);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn if_the_handle_is_dropped_during_a_restart_the_new_process_ends() -> Test {
    let folder = tempfile::tempdir()?;
    let path = |name| folder.path().join(name);
    // The first process exits. The second process continues to run, even if its input is closed.
    let script = format!(
        "cd '{}'; if [ ! -e first ]; then : > first; exit 1; fi; echo $$ > pid; exec sleep 600",
        folder.path().display()
    );
    let (sender, mut starts) = mpsc::unbounded_channel();
    let is_dropped = Arc::new(AtomicBool::new(false));
    let dropped = Arc::clone(&is_dropped);
    let runs = AtomicUsize::new(0);
    let process = Process::new("sh", ["-c", &script], Framing::ContentLength)
        .with(|transport| transport.with_grace(Duration::from_millis(100)))
        .on_exit(|_, _| Some(Duration::ZERO))
        .start(move |_| {
            let _ = sender.send(());
            // At the second start, the task blocks in this function until the handle is dropped.
            let is_second = runs.fetch_add(1, Ordering::Relaxed) == 1;
            let start = Instant::now();
            while is_second && !dropped.load(Ordering::Relaxed) && start.elapsed() < TEST_TIMEOUT {
                std::thread::sleep(Duration::from_millis(5));
            }
        })?;
    for _ in 0..2 {
        timeout(TEST_TIMEOUT, starts.recv()).await?;
    }
    // The function above may block the worker that drives the timers of tokio. So the test uses no timer of tokio.
    let start = Instant::now();
    while fs::read_to_string(path("pid")).unwrap_or_default().is_empty() && start.elapsed() < TEST_TIMEOUT {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(process);
    is_dropped.store(true, Ordering::Relaxed);
    let pid = pid_in(&path("pid")).await?;
    assert!(time_until_exit(pid).await < TEST_TIMEOUT / 2, "the second process must end");
    Ok(())
}

#[tokio::test]
async fn the_supervision_ends_when_on_exit_panics() -> Test {
    let process = Process::new("sh", ["-c", "exit 3"], Framing::ContentLength)
        .on_exit(|_, _| std::panic::resume_unwind(Box::new("as the test wants it")))
        .start(|_| {})?;
    let Closed::Exited(status) = timeout(TEST_TIMEOUT, process.ended()).await? else {
        return Err("the link must end with an exit status".into());
    };
    assert_eq!(status.code(), Some(3));
    Ok(())
}

#[tokio::test]
async fn the_library_closes_its_end_of_standard_error_even_if_a_grandchild_still_writes() -> Test {
    // The grandchild writes until its standard error is closed.
    let grandchild = "(while echo still >&2; do sleep 0.05; done) </dev/null >/dev/null &";
    let (dropped, exits) = (format!("{grandchild} cat >/dev/null"), format!("{grandchild} exit 3"));
    for (script, is_dropped) in [(dropped, true), (exits, false)] {
        let (sender, mut lines) = mpsc::unbounded_channel();
        let process = Process::new("sh", ["-c", &script], Framing::ContentLength)
            .on_stderr(move |line| {
                let _ = sender.send(line.to_owned());
            })
            .start(|_| {})?;
        assert_eq!(timeout(TEST_TIMEOUT, lines.recv()).await?.as_deref(), Some("still"));
        let process = (!is_dropped).then_some(process);
        // When the library stops reading standard error, it drops the function of `on_stderr`. Then `lines` ends.
        let until_closed = async { while lines.recv().await.is_some() {} };
        assert!(timeout(TEST_TIMEOUT / 2, until_closed).await.is_ok(), "standard error must be closed: {script}");
        drop(process);
    }
    Ok(())
}
