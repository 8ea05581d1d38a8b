//! The arguments of the program, its help and its exit codes.

use std::fs::File;
use std::io::pipe;
use std::process::{Command, Output, Stdio};

use crate::daemon::{Builder, program};

/// Runs the program without input. Returns its exit code, standard output and standard error.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = program().args(arguments).stdin(Stdio::null()).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn without_arguments_help_is_printed() {
    let (code, stdout, stderr) = run(&[]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    for part in ["Usage:", "rpc", "--log-level", "--no-color", "DUET_RPC_LOG", "NO_COLOR"] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert!(stdout.ends_with('\n'));
}

#[test]
fn an_option_or_a_command_prints_help() {
    let help = run(&[]).1;
    for arguments in [&["-h"][..], &["--help"], &["help"], &["--no-color", "--help"]] {
        let (code, stdout, stderr) = run(arguments);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert_eq!(stdout, help, "{arguments:?}");
    }
    let (code, stdout, _) = run(&["rpc", "--help"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("--log-level"), "{stdout}");
}

#[test]
fn an_option_or_a_command_prints_the_version() {
    for arguments in [["-V"], ["--version"], ["version"]] {
        let (code, stdout, stderr) = run(&arguments);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert_eq!(stdout, format!("{}\n", env!("CARGO_PKG_VERSION")), "{arguments:?}");
    }
}

#[test]
fn invalid_arguments_cause_exit_code_1_and_the_usage_on_standard_error() {
    for arguments in [
        &["frobnicate"][..],
        &["--frobnicate"],
        &["-x"],
        &["rpc", "--frobnicate"],
        &["rpc", "extra"],
        &["rpc", "rpc"],
        &["--log-level", "verbose", "rpc"],
        &["rpc", "--log-level", "trace"],
        &["rpc", "--log-level"],
        &["rpc", "--log-level="],
        &["--log-level", "info", "--frobnicate", "rpc"],
    ] {
        let (code, stdout, stderr) = run(arguments);
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains("Usage: duet-rpc"), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn the_error_of_a_wrong_level_lists_the_valid_levels() {
    let (_, _, stderr) = run(&["rpc", "--log-level", "verbose"]);
    for part in ["verbose", "debug", "info", "warn", "error"] {
        assert!(stderr.contains(part), "{stderr}");
    }
}

#[test]
fn no_option_sets_a_limit() {
    let stdout = run(&["rpc", "--help"]).1 + &run(&["--help"]).1;
    for part in ["limit", "timeout", "time-out", "max-", "bytes"] {
        assert!(!stdout.to_lowercase().contains(part), "{part}: {stdout}");
    }
}

#[test]
fn options_are_accepted_before_and_after_the_command() {
    for arguments in [
        &["rpc", "-n", "--log-level", "info"][..],
        &["-n", "--log-level", "info", "rpc"],
        &["--log-level", "info", "rpc", "--no-color"],
    ] {
        let mut daemon = Builder::new(arguments).start();
        daemon.wait_until_serving();
        assert!(!daemon.close_and_expect_exit().is_empty(), "{arguments:?}");
    }
}

#[test]
fn help_succeeds_for_a_closed_pipe_and_fails_for_a_full_device() {
    for arguments in [&[][..], &["--help"], &["rpc", "--help"], &["--version"], &["version"]] {
        let (reader, closed_pipe) = pipe().unwrap();
        drop(reader);
        let output = program().args(arguments).stdin(Stdio::null()).stdout(closed_pipe).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{arguments:?}");
        // `/dev/full` exists only on Linux.
        let Ok(full) = File::options().write(true).open("/dev/full") else { continue };
        let output = program().args(arguments).stdin(Stdio::null()).stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr.starts_with("error: cannot write to standard output: No space left"), "{stderr}");
    }
}

#[test]
fn each_shell_has_completions_and_bash_completes_with_them() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, stdout, stderr) = run(&["completions", shell]);
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        for word in ["rpc", "version", "log-level"] {
            assert!(stdout.contains(word), "{shell}: {word}");
        }
    }
    // For an unknown shell, the error lists the known shells.
    let (code, stdout, stderr) = run(&["completions", "sh"]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("bash"), "{stderr}");
    let script = run(&["completions", "bash"]).1;
    let completion_call =
        "COMP_WORDS=(duet-rpc vers); COMP_CWORD=1; _duet__rpc duet-rpc vers duet-rpc; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash").args(["-c", &format!("{script}\n{completion_call}")]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "version\n", "{:?}", output.stderr);
}
