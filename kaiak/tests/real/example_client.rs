//! The client of `examples/kaiak-client` after faults: it prints one message without a stack trace, and its exit code
//! is not 0.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::harness::{JAVA_FILE, command, folder, wait_until};
use crate::processes::{children, kill};
use crate::programs::{example_client, has_example_client};

/// A running client. A drop kills it.
pub(crate) struct RunningClient {
    pub(crate) process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Drop for RunningClient {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Creates a folder with rules, and with a workspace that has one file. Returns the folder, the workspace, and the file
/// with the incidents of `kaiak find`.
pub(crate) fn project() -> (TempDir, PathBuf, PathBuf) {
    let folder = folder();
    let workspace = folder.path().join("workspace");
    fs::write(workspace.join("src/A.java"), JAVA_FILE).unwrap();
    let incidents = find(&folder);
    (folder, workspace, incidents)
}

/// Runs `kaiak find` for the imports of the workspace. Returns the file with the incidents.
fn find(folder: &TempDir) -> PathBuf {
    let mut command = command(folder);
    command.args(["find", "--quiet", "--rule", "servlet-import", "--rules", "../rules", "."]);
    let found = command.output().unwrap();
    assert!(found.status.success());
    let path = folder.path().join("incidents.jsonl");
    fs::write(&path, found.stdout).unwrap();
    path
}

/// Starts the client. The client waits for answers to its questions, because its standard input stays open.
pub(crate) fn start_client(
    incidents: &Path,
    workspace: &Path,
    arguments: &[String],
    temporary: &Path,
) -> RunningClient {
    let mut command = Command::new("node");
    command.arg(example_client()).args([incidents, workspace]).args(arguments).env("TMPDIR", temporary);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (stdin, stdout) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
    RunningClient { process, stdin, stdout }
}

impl RunningClient {
    /// Reads the output up to the first line that contains `text`.
    pub(crate) fn until(&mut self, text: &str) {
        let lines = self.stdout.by_ref().lines();
        let read: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.contains(text)).collect();
        assert!(self.process.try_wait().unwrap().is_none(), "{read:#?}");
    }

    /// Waits until the client exits. Returns its exit code, the output that was not yet read, and its standard error.
    fn wait(&mut self) -> (Option<i32>, String, String) {
        let mut stderr = self.process.stderr.take().unwrap();
        let errors = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        let mut output = String::new();
        self.stdout.read_to_string(&mut output).unwrap();
        let status = self.process.wait().unwrap();
        drop(self.stdin.take());
        (status.code(), output, errors.join().unwrap())
    }
}

/// Starts a client that starts a server, and waits until the client shows a question. Returns the folder, the client,
/// and the process id of the server.
fn with_question() -> (TempDir, RunningClient, u32) {
    let (folder, workspace, incidents) = project();
    let rules = folder.path().join("rules").to_str().unwrap().to_owned();
    let program = env!("CARGO_BIN_EXE_kaiak").to_owned();
    let arguments = ["--".to_owned(), program, "serve".to_owned(), "--stdio".to_owned(), "--rules".to_owned(), rules];
    let mut client = start_client(&incidents, &workspace, &arguments, folder.path());
    client.until("[y/n]");
    let [server] = children(client.process.id())[..] else { panic!("the client must have one server") };
    (folder, client, server)
}

#[test]
fn a_server_that_is_killed_while_a_question_is_open_ends_the_client_with_a_message() {
    if !has_example_client() {
        return;
    }
    let (folder, mut client, server) = with_question();
    kill(server);
    let (code, output, errors) = client.wait();
    assert_eq!((code, errors.trim()), (Some(1), "the server has ended before its response"), "{output}");
    assert_eq!(fs::read_to_string(folder.path().join("workspace/src/A.java")).unwrap(), JAVA_FILE);
}

#[test]
fn a_server_that_is_stopped_while_a_question_is_open_ends_the_client_with_a_message() {
    if !has_example_client() {
        return;
    }
    let (folder, mut client, server) = with_question();
    kill_process(Pid::from_raw(server.cast_signed()).unwrap(), Signal::TERM).unwrap();
    let (code, output, errors) = client.wait();
    assert_eq!(code, Some(1), "{output}\n{errors}");
    assert!(!errors.is_empty() && !errors.contains("    at "), "{errors}");
    assert_eq!(fs::read_to_string(folder.path().join("workspace/src/A.java")).unwrap(), JAVA_FILE);
}

#[test]
fn ctrl_c_ends_the_client_and_its_server_and_changes_nothing() {
    if !has_example_client() {
        return;
    }
    let (folder, mut client, server) = with_question();
    kill_process(Pid::from_raw(client.process.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let (code, output, errors) = client.wait();
    assert_eq!((code, &*errors), (Some(130), ""), "{output}");
    wait_until(|| !crate::processes::is_running(server));
    assert_eq!(fs::read_to_string(folder.path().join("workspace/src/A.java")).unwrap(), JAVA_FILE);
}

/// A terminal sends SIGINT to the client and to its server at once.
#[test]
fn ctrl_c_in_a_terminal_ends_the_client_even_if_the_server_ends_first() {
    if !has_example_client() {
        return;
    }
    let (folder, mut client, server) = with_question();
    for pid in [client.process.id(), server] {
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::INT).unwrap();
    }
    let mut status = None;
    wait_until(|| {
        status = client.process.try_wait().unwrap();
        status.is_some()
    });
    let (_, output, errors) = client.wait();
    // If the server ends before the client receives SIGINT, the client reports the end of the server, and exits with 1.
    let is_expected = matches!(status.unwrap().code(), Some(1 | 130));
    assert!(is_expected && !errors.contains("    at "), "{status:?}: {output}\n{errors}");
    wait_until(|| !crate::processes::is_running(server));
    assert_eq!(fs::read_to_string(folder.path().join("workspace/src/A.java")).unwrap(), JAVA_FILE);
}

#[test]
fn an_expected_fault_is_one_message_without_a_stack_trace() {
    if !has_example_client() {
        return;
    }
    let (folder, workspace, incidents) = project();
    let invalid = folder.path().join("invalid.jsonl");
    fs::write(&invalid, "{\"id\":1}\nnot JSON\n").unwrap();
    let none = folder.path().join("none.jsonl");
    let kaiak = env!("CARGO_BIN_EXE_kaiak");
    let rules = folder.path().join("rules").to_str().unwrap().to_owned();
    let serve = ["--", kaiak, "serve", "--stdio", "--rules", &rules];
    for (incidents, workspace, arguments, code, part) in [
        (&none, &workspace, &serve[..], 1, "none.jsonl must have the output of `kaiak find`"),
        (&invalid, &workspace, &serve, 1, "invalid.jsonl must have the output of `kaiak find`"),
        (&incidents, &folder.path().join("missing"), &serve, 1, "Invalid workspace directory (-32014)"),
        (&incidents, &workspace, &["--", "/no/such/program"], 1, "cannot reach the server: "),
        (&incidents, &workspace, &["--", kaiak, "serve", "--stdio"], 1, "the server has ended before its response"),
        (&incidents, &workspace, &["--socket", "/no/such.sock"], 1, "cannot reach the server: "),
        (&incidents, &workspace, &["--nothing", "x"], 2, "usage: "),
    ] {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let (found, output, errors) = start_client(incidents, workspace, &arguments, folder.path()).wait();
        assert_eq!(found, Some(code), "{arguments:?}: {output}\n{errors}");
        assert!(errors.contains(part) && !errors.contains("    at "), "{arguments:?}: {errors}");
    }
}

#[test]
fn a_file_without_an_incident_needs_no_server() {
    if !has_example_client() {
        return;
    }
    let (folder, workspace, _) = project();
    let empty = folder.path().join("empty.jsonl");
    fs::write(&empty, "").unwrap();
    let arguments = ["--", "/no/such/program"].map(ToOwned::to_owned);
    let (code, output, errors) = start_client(&empty, &workspace, &arguments, folder.path()).wait();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(output.ends_with("empty.jsonl has no incident: there is nothing to fix\n"), "{output}");
}

#[test]
fn the_client_prints_the_reason_for_which_a_tool_failed() {
    if !has_example_client() {
        return;
    }
    let (folder, workspace, incidents) = project();
    let unknown = fs::read_to_string(&incidents).unwrap().replace("\"rule_id\":\"", "\"rule_id\":\"no-");
    fs::write(&incidents, unknown).unwrap();
    let rules = folder.path().join("rules").to_str().unwrap().to_owned();
    let arguments = ["--", env!("CARGO_BIN_EXE_kaiak"), "serve", "--stdio", "--rules", &rules].map(ToOwned::to_owned);
    let (code, output, errors) = start_client(&incidents, &workspace, &arguments, folder.path()).wait();
    assert_eq!(code, Some(0), "{output}\n{errors}");
    assert!(output.contains("[read_file] search: failed: the rule must be in a loaded rule set"), "{output}");
}

#[test]
fn the_client_waits_for_the_socket_of_a_server_that_starts_after_it() {
    if !has_example_client() {
        return;
    }
    let (folder, workspace, incidents) = project();
    let socket = folder.path().join("kaiak.sock");
    let arguments = ["--socket".to_owned(), socket.to_str().unwrap().to_owned()];
    let mut client = start_client(&incidents, &workspace, &arguments, folder.path());
    drop(client.stdin.take());
    let mut server = command(&folder);
    server.args(["serve", "--rules", "../rules", "--socket"]).arg(&socket);
    let mut server = server.stdin(Stdio::null()).spawn().unwrap();
    let (code, output, errors) = client.wait();
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!((code, &*errors), (Some(0), ""), "{output}");
    assert!(output.contains("completed: 1 incident\n"), "{output}");
}
