//! The arguments of `kaiak serve`, and the file of its socket.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::process::Stdio;

use serde_json::json;

use crate::harness::{command, folder, listen, socket};

/// Runs the program without input. Returns its exit code and its standard error.
fn fails(arguments: &[&str]) -> (Option<i32>, String) {
    let folder = folder();
    let output = command(&folder).arg("serve").args(arguments).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.stdout, b"");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn exactly_one_transport_and_the_options_of_the_backend_are_required() {
    for (arguments, part) in [
        (&["--rules", "."] as &[&str], "--stdio"),
        (&["--stdio", "--socket", "x", "--rules", "."], "cannot be used with"),
        (&["--stdio"], "--rules"),
        (&["--stdio", "--rules", ".", "--", "agent"], "--backend acp"),
        (&["--stdio", "--backend", "acp"], "program of the agent"),
        (&["--stdio", "--backend", "acp", "--rules", ".", "--", "agent"], "no rules"),
        (&["--stdio", "--backend", "magic"], "magic"),
        (&["--stdio", "--rules", ".", "--interaction-timeout", "0"], "interaction-timeout"),
    ] {
        let (code, stderr) = fails(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(part), "{arguments:?}: {stderr}");
    }
}

#[test]
fn rules_that_cannot_be_read_end_the_program_with_a_reason() {
    let (code, stderr) = fails(&["--stdio", "--rules", "missing"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("missing"), "{stderr}");
}

#[test]
fn a_file_at_the_path_of_the_socket_is_kept_and_named() {
    let folder = folder();
    let path = folder.path().join("kaiak.sock");
    fs::write(&path, "precious").unwrap();
    let rules = folder.path().join("rules");
    let arguments = ["serve", "--socket", path.to_str().unwrap(), "--rules", rules.to_str().unwrap()];
    let output = command(&folder).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("kaiak.sock: ") && stderr.contains("use another path for `--socket`"), "{stderr}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn a_path_that_is_too_long_for_a_socket_is_refused_with_the_limit() {
    let folder = folder();
    let rules = folder.path().join("rules");
    let arguments = ["serve", "--socket", &"x".repeat(200), "--rules", rules.to_str().unwrap()];
    let output = command(&folder).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("must have at most 10") && stderr.contains("bytes, got 200; use a shorter path"),
        "{stderr}"
    );
}

#[test]
fn the_socket_of_a_killed_server_is_replaced_and_that_of_a_running_server_is_not() {
    let mut server = socket();
    let path = server.folder.path().join("kaiak.sock");
    let metadata = fs::metadata(&path).unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let rules = server.folder.path().join("rules");
    let arguments = ["serve", "--socket", path.to_str().unwrap(), "--rules", rules.to_str().unwrap()];
    let output = command(&server.folder).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("another listener is using this socket; use another path for `--socket`"), "{stderr}");
    server.connect().configure(&json!({}));
    server.process.kill().unwrap();
    server.wait();
    assert!(path.exists());
    let other = folder();
    let mut replacing = command(&other);
    replacing.args(arguments);
    listen(other, replacing, path).connect().configure(&json!({}));
}

#[test]
fn logs_are_written_to_standard_error() {
    let folder = folder();
    let rules = folder.path().join("rules");
    fs::write(rules.join("broken.yaml"), "- ruleID: broken\n  when: { builtin.filecontent: { pattern: '(' } }\n")
        .unwrap();
    let arguments = ["serve", "--stdio", "--log-level", "debug", "--rules", rules.to_str().unwrap()];
    let output = command(&folder).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(0), Vec::new()));
    assert!(String::from_utf8_lossy(&output.stderr).contains("broken"));
}

#[test]
fn a_log_that_is_not_a_terminal_has_no_escape_sequences() {
    let folder = folder();
    let rules = folder.path().join("rules");
    fs::write(rules.join("broken.yaml"), "- ruleID: broken\n  when: {}\n").unwrap();
    let arguments = ["serve", "--stdio", "--log-level", "debug", "--rules", rules.to_str().unwrap()];
    let mut process = command(&folder);
    process.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = process.spawn().unwrap();
    let cancel = r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":{}}}"#;
    let input = format!("Content-Length: {}\r\n\r\n{cancel}", cancel.len());
    std::io::Write::write_all(&mut process.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let log = String::from_utf8(process.wait_with_output().unwrap().stderr).unwrap();
    assert!(log.contains("broken") && !log.contains('\u{1b}'), "{log:?}");
    assert!(log.contains("a cancellation was ignored: $/cancelRequest must have the id of a request"), "{log}");
    assert!(!log.contains("unknown notification"), "{log}");
}

#[test]
fn a_standard_output_that_is_full_ends_the_program_with_a_reason() {
    let folder = folder();
    let rules = folder.path().join("rules");
    // `/dev/full` exists only on Linux.
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let mut process = command(&folder);
    process.args(["serve", "--stdio", "--rules", rules.to_str().unwrap()]);
    let mut process = process.stdin(Stdio::piped()).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"unknown"}"#;
    let input = format!("Content-Length: {}\r\n\r\n{request}", request.len());
    let mut stdin = process.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, input.as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{log}");
    assert!(log.contains("cannot serve: No space left on device"), "{log}");
}

#[test]
fn rules_without_a_usable_rule_end_the_program_with_a_reason() {
    let folder = folder();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let (code, stderr) = fails(&["--stdio", "--rules", empty.to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("at least one usable rule") && stderr.contains("empty: the folder has no file"),
        "{stderr}"
    );
}

#[test]
fn a_pipe_among_the_rules_does_not_block_the_start() {
    let folder = folder();
    let pipe = folder.path().join("rules/pipe.yaml");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let rules = folder.path().join("rules");
    let arguments = ["serve", "--stdio", "--rules", rules.to_str().unwrap()];
    let output = command(&folder).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("pipe.yaml: the file is skipped"));
    let (code, stderr) = fails(&["--stdio", "--rules", pipe.to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("must be a regular file"), "{stderr}");
}
