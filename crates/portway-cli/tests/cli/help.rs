//! Help, versions and completions.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::command::{TEST_TIMEOUT, Test, portway, run};

#[tokio::test]
async fn help_names_each_command_and_its_options() -> Test {
    let outcome = run(["--help"]).await?;
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    for word in [
        "call",
        "mcp",
        "tap",
        "decode",
        "validate",
        "completions",
        "portway call add '[1, 2]' -- ./my-server",
        "portway help COMMAND",
    ] {
        assert!(outcome.stdout.contains(word), "{word}: {}", outcome.stdout);
    }
    for (command, words) in [
        (
            "call",
            &[
                "-- PROGRAM",
                "--unix",
                "--tcp",
                "--framing",
                "--timeout",
                "--notify",
                "--progress",
                "--json",
                "Exit codes",
                "Examples",
            ][..],
        ),
        ("mcp", &["-- PROGRAM", "--header", "--json", "--verbose", "call NAME [JSON]", "Exit codes", "Examples"]),
        ("tap", &["-- PROGRAM", "--listen", "--to-file", "--print", "--direction", "--only", "--method", "Exit codes"]),
        ("decode", &["--framing", "--max-bytes", "passthrough", "truncated", "Exit codes", "Example"]),
        ("validate", &["--response", "--lines", "--json", "Exit codes", "Examples"]),
        ("completions", &["bash", "zsh", "fish", "elvish", "powershell", "Examples"]),
    ] {
        let outcome = run([command, "--help"]).await?;
        assert_eq!(outcome.code, Some(0));
        for word in words {
            assert!(outcome.stdout.contains(word), "{word}: {}", outcome.stdout);
        }
        assert_eq!(run(["help", command]).await?.stdout, outcome.stdout);
    }
    Ok(())
}

#[tokio::test]
async fn without_a_command_help_is_printed_and_an_unknown_command_is_an_error() -> Test {
    let outcome = run([] as [&str; 0]).await?;
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("portway call add"), "{}", outcome.stderr);
    let outcome = run(["cal"]).await?;
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("'call'"), "the error must suggest a command: {}", outcome.stderr);
    Ok(())
}

#[tokio::test]
async fn the_version_is_that_of_the_package() -> Test {
    for option in ["-V", "--version"] {
        assert_eq!(run([option]).await?.stdout, concat!("portway ", env!("CARGO_PKG_VERSION"), "\n"));
    }
    Ok(())
}

#[tokio::test]
async fn each_shell_has_completions() -> Test {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = run(["completions", shell]).await?;
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
        for word in ["decode", "validate", "framing", "max-bytes", "to-file", "direction"] {
            assert!(outcome.stdout.contains(word), "{shell}: {word}");
        }
    }
    let outcome = run(["completions", "sh"]).await?;
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("bash"), "{}", outcome.stderr);
    Ok(())
}

#[tokio::test]
async fn bash_loads_its_completions_and_completes_a_word() -> Test {
    let script = run(["completions", "bash"]).await?.stdout;
    for (arguments, completion_call, expected) in [
        (&["-n"][..], "", ""),
        (
            &[],
            "COMP_WORDS=(portway dec); COMP_CWORD=1; _portway portway dec portway; echo \"${COMPREPLY[@]}\"",
            "decode\n",
        ),
    ] {
        let mut bash = Command::new("bash");
        bash.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = bash.spawn()?;
        let mut stdin = child.stdin.take().ok_or("no standard input")?;
        stdin.write_all(format!("{script}\n{completion_call}\n").as_bytes()).await?;
        drop(stdin);
        let output = timeout(TEST_TIMEOUT, child.wait_with_output()).await??;
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stdout)?, expected);
    }
    Ok(())
}

#[tokio::test]
async fn the_notes_of_the_help_fit_into_80_columns_unchanged() -> Test {
    let mut command = portway(["help", "decode"]);
    let output = timeout(TEST_TIMEOUT, command.env("COLUMNS", "80").output()).await??;
    let shown = String::from_utf8(output.stdout)?;
    for lines in [
        "  {\"event\":\"passthrough\",\"bytes\":\"<base64>\"}\n      bytes that belong to no message; a long run is split into several events\n",
        "  -32600  oversize, header-too-large, unsupported-content-type, bad-charset\n",
    ] {
        assert!(shown.contains(lines), "{shown}");
    }
    Ok(())
}
