//! The arguments of the program, its help and its exit codes.

use std::fs::File;
use std::io::pipe;
use std::process::{Command, Output, Stdio};

use crate::daemon::{Builder, program};

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = program().args(arguments).stdin(Stdio::null()).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn without_arguments_it_shows_its_help() {
    let (code, said, complained) = run(&[]);
    assert_eq!((code, complained.as_str()), (Some(0), ""));
    for part in ["Usage:", "rpc", "--log-level", "--no-color", "DUET_RPC_LOG", "NO_COLOR"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.ends_with('\n'));
}

#[test]
fn help_is_shown_when_asked_for() {
    let plain = run(&[]).1;
    for arguments in [&["-h"][..], &["--help"], &["help"], &["--no-color", "--help"]] {
        let (code, said, complained) = run(arguments);
        assert_eq!((code, complained.as_str()), (Some(0), ""), "{arguments:?}");
        assert_eq!(said, plain, "{arguments:?}");
    }
    let (code, said, _) = run(&["rpc", "--help"]);
    assert_eq!(code, Some(0));
    assert!(said.contains("--log-level"), "{said}");
}

#[test]
fn the_version_is_shown_when_asked_for() {
    for arguments in [["-V"], ["--version"], ["version"]] {
        let (code, said, complained) = run(&arguments);
        assert_eq!((code, complained.as_str()), (Some(0), ""), "{arguments:?}");
        assert_eq!(said, format!("{}\n", env!("CARGO_PKG_VERSION")), "{arguments:?}");
    }
}

#[test]
fn arguments_that_are_wrong_end_it_with_one_and_the_usage_on_standard_error() {
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
        let (code, said, complained) = run(arguments);
        assert_eq!((code, said.as_str()), (Some(1), ""), "{arguments:?}: {complained}");
        assert!(complained.contains("Usage: duet-rpc"), "{arguments:?}: {complained}");
        assert!(!complained.contains("panicked"), "{complained}");
    }
}

#[test]
fn a_wrong_level_is_named_with_those_that_are_right() {
    let (_, _, complained) = run(&["rpc", "--log-level", "verbose"]);
    for part in ["verbose", "debug", "info", "warn", "error"] {
        assert!(complained.contains(part), "{complained}");
    }
}

#[test]
fn the_limits_have_no_options() {
    let said = run(&["rpc", "--help"]).1 + &run(&["--help"]).1;
    for part in ["limit", "timeout", "time-out", "max-", "bytes"] {
        assert!(!said.to_lowercase().contains(part), "{part}: {said}");
    }
}

#[test]
fn options_may_stand_on_either_side_of_the_command() {
    for arguments in [
        &["rpc", "-n", "--log-level", "info"][..],
        &["-n", "--log-level", "info", "rpc"],
        &["--log-level", "info", "rpc", "--no-color"],
    ] {
        let mut daemon = Builder::new(arguments).start();
        daemon.is_quiet();
        assert!(!daemon.finish().is_empty(), "{arguments:?}");
    }
}

#[test]
fn help_succeeds_if_it_is_not_read_and_fails_if_it_cannot_be_written() {
    for arguments in [&[][..], &["--help"], &["rpc", "--help"], &["--version"], &["version"]] {
        let (reader, unread) = pipe().unwrap();
        drop(reader);
        let output = program().args(arguments).stdin(Stdio::null()).stdout(unread).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{arguments:?}");
        // Only Linux has it.
        let Ok(full) = File::options().write(true).open("/dev/full") else { continue };
        let output = program().args(arguments).stdin(Stdio::null()).stdout(full).output().unwrap();
        let complained = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(complained.starts_with("error: cannot write to standard output: No space left"), "{complained}");
    }
}

#[test]
fn each_shell_has_completions_and_bash_completes_with_them() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, said, complained) = run(&["completions", shell]);
        assert_eq!((code, complained.as_str()), (Some(0), ""));
        for word in ["rpc", "version", "log-level"] {
            assert!(said.contains(word), "{shell}: {word}");
        }
    }
    let (code, said, complained) = run(&["completions", "sh"]);
    assert_eq!((code, said.as_str()), (Some(1), ""));
    assert!(complained.contains("bash"), "{complained}");
    let script = run(&["completions", "bash"]).1;
    let then = "COMP_WORDS=(duet-rpc vers); COMP_CWORD=1; _duet__rpc duet-rpc vers duet-rpc; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash").args(["-c", &format!("{script}\n{then}")]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "version\n", "{:?}", output.stderr);
}
