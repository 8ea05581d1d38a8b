//! `portway call`: the start and the exit of programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::command::{TEST_TIMEOUT, Test, portway, run};
use crate::program_trees::{SHAPES, Shape, Tree};

/// Shell commands that read one line and print the response to the first call.
const ANSWER: &str = r#"IFS= read -r line; echo '{"jsonrpc":"2.0","id":1,"result":true}'"#;

#[tokio::test]
async fn no_descendant_of_a_program_is_left() -> Test {
    for handles_term in [true, false] {
        for shape in SHAPES {
            let tree = Tree::new(shape, handles_term)?;
            let arguments = ["call", "start", "--timeout=0", "--framing=newline", "--"].map(str::to_owned);
            let outcome = run(arguments.into_iter().chain(tree.command())).await?;
            assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "true\n"), "{shape:?}: {}", outcome.stderr);
            // The system needs some time to end killed processes.
            let limit = if handles_term { Duration::ZERO } else { Duration::from_secs(10) };
            assert_eq!(tree.processes_after(limit), [""; 0], "{shape:?}");
            assert_eq!(tree.has_saved(), handles_term, "{shape:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_program_may_print_more_during_its_shutdown() -> Test {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("saved");
    // The output is larger than the buffer of a pipe.
    let last_output =
        format!("head -c 300000 /dev/zero | tr '\\0' '\\n' && echo bye && echo saved > '{}'", file.display());
    for framing in ["auto", "newline"] {
        for (option, script) in [
            ("--timeout=0", format!("{ANSWER}; cat >/dev/null; {last_output}")),
            ("--notify", format!("cat >/dev/null; {last_output}")),
        ] {
            let outcome = run(["call", "save", option, "--framing", framing, "--", "sh", "-c", &script]).await?;
            assert_eq!(outcome.code, Some(0), "{framing}, {option}: {}", outcome.stderr);
            assert_eq!(fs::read_to_string(&file).unwrap_or_default(), "saved\n", "{framing}, {option}");
            fs::remove_file(&file)?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_exit_of_a_program_is_noticed_although_a_descendant_has_its_pipes_open() -> Test {
    for framing in ["auto", "newline", "content-length", "wipc"] {
        let tree = Tree::new(Shape::ForksAgain, true)?;
        let script = tree.command()[2].replace(ANSWER, "head -c 1 >/dev/null; exit 7");
        let start = Instant::now();
        let outcome = run(["call", "add", "--timeout=0", "--framing", framing, "--", "sh", "-c", &script]).await?;
        assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("the program ended before it answered (exit status: 7)"), "{}", outcome.stderr);
        // The call takes half a second on an idle machine.
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        assert_eq!(tree.processes_after(Duration::ZERO), [""; 0], "{framing}");
    }
    Ok(())
}

#[tokio::test]
async fn a_signal_for_the_command_ends_the_program_too() -> Test {
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let tree = Tree::new(Shape::ForksAgain, true)?;
        // The program never answers.
        let command = tree.command().into_iter().map(|word| word.replace(ANSWER, ":"));
        let arguments = ["call", "start", "--timeout=0", "--framing=newline", "--"].map(str::to_owned);
        let child = portway(arguments.into_iter().chain(command)).spawn()?;
        tree.wait()?;
        let pid = child.id().ok_or("no process")?.to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().await?.success());
        let output = timeout(TEST_TIMEOUT, child.wait_with_output()).await??;
        assert_eq!(output.status.code(), Some(code));
        assert_eq!(tree.processes_after(Duration::ZERO), [""; 0], "{signal}");
        assert!(tree.has_saved());
    }
    Ok(())
}

#[tokio::test]
async fn a_second_signal_kills_the_program() -> Test {
    let tree = Tree::new(Shape::ForksAgain, false)?;
    let arguments = ["call", "start", "--timeout=0", "--framing=newline", "--"].map(str::to_owned);
    let command = tree.command().into_iter().map(|word| word.replace(ANSWER, "trap '' TERM; :"));
    let child = portway(arguments.into_iter().chain(command)).spawn()?;
    tree.wait()?;
    let pid = child.id().ok_or("no process")?.to_string();
    // Until the command has handled the first signal, the system may merge a second signal with it. So this test sends
    // signals until the command has exited.
    let signals = async {
        let kill = || Command::new("kill").args(["-INT", &pid]).stderr(Stdio::null()).status();
        while kill().await.is_ok_and(|status| status.success()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (output, ()) = timeout(TEST_TIMEOUT, async {
        // A signal to a zombie succeeds, too. So the test waits for the exit of the command at the same time.
        tokio::join!(child.wait_with_output(), signals)
    })
    .await?;
    assert_eq!(output?.status.code(), Some(130));
    assert_eq!(tree.processes_after(Duration::from_secs(10)), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn ctrl_c_on_a_terminal_ends_the_program_too() -> Test {
    let tree = Tree::new(Shape::ForksAgain, true)?;
    let mut line = format!("exec '{}' call start --timeout=0 --framing=newline --", env!("CARGO_BIN_EXE_portway"));
    for word in tree.command() {
        let word = word.replace(ANSWER, ":").replace('\'', "'\\''");
        line.push_str(&format!(" '{word}'"));
    }
    // `script` of the package bsdutils runs a program on a terminal.
    let mut terminal = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    tree.wait()?;
    let mut keys = terminal.stdin.take().ok_or("no input")?;
    keys.write_all(b"\x03").await?;
    assert_eq!(timeout(TEST_TIMEOUT, terminal.wait()).await??.code(), Some(130));
    assert_eq!(tree.processes_after(Duration::ZERO), [""; 0]);
    assert!(tree.has_saved());
    Ok(())
}

#[tokio::test]
async fn a_signal_that_the_parent_ignores_stays_ignored() -> Test {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let script = format!(
        ": > '{}'; while [ ! -e '{}' ]; do sleep 0.02; done; {ANSWER}; cat >/dev/null",
        path("there"),
        path("go")
    );
    for signal in ["INT", "TERM", "HUP"] {
        let call = ["call", "wait", "--timeout=0", "--framing=newline", "--", "sh", "-c", &script];
        let child = Command::new("sh")
            .args(["-c", &format!("trap '' {signal}; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_portway")])
            .args(call)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let pid = child.id().ok_or("no process")?.to_string();
        let is_there = async {
            while !fs::exists(path("there"))? {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Ok::<_, std::io::Error>(())
        };
        timeout(TEST_TIMEOUT, is_there).await??;
        assert!(Command::new("kill").args([format!("-{signal}"), pid]).status().await?.success());
        fs::write(path("go"), "")?;
        let output = timeout(TEST_TIMEOUT, child.wait_with_output()).await??;
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"true\n"[..]), "{signal}");
        fs::remove_file(path("there"))?;
        fs::remove_file(path("go"))?;
    }
    Ok(())
}

#[tokio::test]
async fn the_command_exits_with_3_if_a_thread_or_a_process_cannot_be_started() -> Test {
    let folder = tempfile::tempdir()?;
    // The limit of processes does not apply to root, so root runs the command as another user. This user needs access
    // to the command, so the test copies the file of the command.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
    let portway = folder.path().join("portway");
    fs::copy(env!("CARGO_BIN_EXE_portway"), &portway)?;
    let limit = "prlimit --nproc=0:0 \"$@\"";
    let script = format!(
        "if [ \"$(id -u)\" = 0 ]; then set -- setpriv --reuid 65534 --clear-groups {limit}; \"$@\"; else {limit}; fi"
    );
    for (target, expected) in [
        (&["--tcp", "localhost:1"][..], "cannot connect to localhost:1: the name cannot be looked up"),
        (&["--", "cat"], "cannot start cat"),
    ] {
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh"]).arg(&portway).args(["call", "x"]).args(target);
        let output = timeout(TEST_TIMEOUT, command.stdin(Stdio::null()).kill_on_drop(true).output()).await??;
        let stderr = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains(expected) && !stderr.contains("panicked"), "{stderr}");
    }
    Ok(())
}

#[tokio::test]
async fn a_low_limit_of_open_files_is_reported() -> Test {
    // The first limit is too small to load the command. The last limit is large enough to start another program.
    for limit in 4..=20 {
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {limit}; exec \"$@\"");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_portway"), "call", "x", "--", "true"]);
        let output = timeout(TEST_TIMEOUT, command.stdin(Stdio::null()).kill_on_drop(true).output()).await??;
        let stderr = String::from_utf8(output.stderr)?;
        match output.status.code() {
            Some(3) => assert!(stderr.contains("Too many open files"), "{limit}: {stderr}"),
            // With these limits, the command starts the program, which exits without an answer.
            Some(5) if limit > 8 => {}
            // With this limit, the loader may fail to open a library of the command.
            Some(127) if limit == 4 => {}
            code => return Err(format!("{code:?} with {limit}: {stderr}").into()),
        }
    }
    Ok(())
}
