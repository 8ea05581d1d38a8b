//! Commands whose standard streams are non-blocking.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::thread;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::command::{Test, portway};
use crate::decode::frame;
use crate::non_blocking_streams::{
    Kind, When, command_under_node, payload, read_to_end, run, run_with_files, set_nonblocking, until_nonblocking,
    write_all,
};

/// Returns a copy of a command. The standard error of the copy is discarded.
fn copy(command: &Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.args(command.get_args()).stderr(Stdio::null());
    copy
}

fn command(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    portway(arguments).into_std()
}

/// A shell script that reads a call from one line, and answers with the params of the call.
const ECHO: &str = r#"IFS= read -r line; line=${line#*'"params":'}; line=${line%\}}
    line=${line%%',"id":'*}; printf '{"jsonrpc":"2.0","id":1,"result":%s}\n' "$line"; cat >/dev/null"#;

/// Returns each command that reads standard input, and a large input for the command. Most of the outputs are large,
/// too.
fn commands() -> Vec<(Command, Vec<u8>)> {
    let message =
        |number: usize| format!(r#"{{"jsonrpc":"2.0","id":{number},"result":"{}"}}"#, payload(number, 50_000));
    let frames: Vec<u8> = (0..9).flat_map(|number| frame(&message(number))).collect();
    let lines: Vec<u8> = (0..9).flat_map(|number| format!("{}\n", message(number)).into_bytes()).collect();
    let bad_lines: Vec<u8> = (0..2_000).flat_map(|number| format!("{{\"id\":{number}}}\n").into_bytes()).collect();
    let params = format!("[{:?}]", payload(0, 300_000)).into_bytes();
    let call = ["call", "echo", "-", "--framing", "newline", "--", "sh", "-c", ECHO];
    vec![
        (command(["decode"]), frames),
        (command(["decode", "--framing", "newline"]), lines.clone()),
        (command(["validate", "--lines", "--json"]), bad_lines.clone()),
        (command(["validate", "--lines", "-"]), [&lines[..], &bad_lines].concat()),
        (command(["validate"]), message(1).into_bytes()),
        (command(call), params),
    ]
}

#[test]
fn commands_read_and_write_all_whenever_their_streams_become_non_blocking() -> Test {
    for (mut command, input) in commands() {
        let expected = run_with_files(&mut command, &input, false)?;
        assert!(!expected.1.is_empty(), "{command:?}");
        assert!(run_with_files(&mut command, &input, true)? == expected, "{command:?} with files");
        let (command, input, expected) = (&command, &input, &expected);
        thread::scope(|scope| {
            for (when, kind) in When::ALL.into_iter().flat_map(|when| Kind::ALL.map(|kind| (when, kind))) {
                scope.spawn(move || {
                    let seen = run(copy(command), input, when, kind);
                    assert!(seen == *expected, "{command:?} {when:?} {kind:?}: {:?}, {} bytes", seen.0, seen.1.len());
                });
            }
        });
    }
    Ok(())
}

#[test]
fn commands_read_and_write_all_under_a_node_script_that_uses_their_streams() -> Test {
    for (mut command, input) in commands() {
        let expected = run_with_files(&mut command, &input, false)?;
        let Some(mut wrapper) = command_under_node(&command, When::AtTheStart) else { return Ok(()) };
        let (their_input, our_input) = Kind::Pipes.make();
        let (our_output, their_output) = Kind::Pipes.make();
        let duplicates = [their_input.try_clone()?, their_output.try_clone()?];
        let mut child = wrapper.stdin(their_input).stdout(their_output).spawn()?;
        drop(wrapper);
        duplicates.iter().for_each(until_nonblocking);
        drop(duplicates);
        let output = thread::scope(|scope| {
            scope.spawn(|| {
                write_all(&our_input, &input);
                drop(our_input);
            });
            read_to_end(&our_output)
        });
        let code = child.wait()?.code();
        assert!((code, &output) == (expected.0, &expected.1), "{command:?}: {code:?} and {} bytes", output.len());
    }
    Ok(())
}

#[test]
fn no_line_is_lost_on_a_non_blocking_standard_error() -> Test {
    const COUNT: usize = 3_000;
    let missing = (0..COUNT).map(|number| format!("/nonexistent/file-of-this-test-{number}"));
    for kind in Kind::ALL {
        let (errors, their_errors) = kind.make();
        set_nonblocking(&their_errors);
        let mut validate = command(["validate"]);
        let mut child = validate.args(missing.clone()).stdout(Stdio::null()).stderr(their_errors).spawn()?;
        drop(validate);
        thread::sleep(std::time::Duration::from_millis(50));
        let errors = String::from_utf8(read_to_end(&errors))?;
        assert_eq!(child.wait()?.code(), Some(2));
        assert_eq!(errors.lines().count(), COUNT);
        for (line, file) in errors.lines().zip(missing.clone()) {
            assert!(line.starts_with(&format!("portway: cannot read {file}: ")), "{line}");
        }
    }
    Ok(())
}

#[test]
fn help_and_scripts_are_written_whole_to_a_pipe_that_is_full() -> Test {
    let cases = [&["--help"][..], &["call", "--help"], &["--version"], &["decode", "--nope"], &["completions", "zsh"]];
    for arguments in cases {
        let expected = command(arguments).output()?;
        let (reader, writer) = Kind::Pipes.make();
        set_nonblocking(&writer);
        let mut filled = 0;
        while let Ok(count) = rustix::io::write(&writer, &[b'.'; 4096]) {
            filled += count;
        }
        let mut into_full_pipe = command(arguments);
        let mut child = into_full_pipe.stdout(writer.try_clone()?).stderr(writer).spawn()?;
        drop(into_full_pipe);
        thread::sleep(std::time::Duration::from_millis(30));
        let written = read_to_end(&reader);
        assert_eq!(child.wait()?.code(), expected.status.code());
        let expected = [expected.stdout, expected.stderr].concat();
        assert_eq!(String::from_utf8_lossy(&written[filled..]), String::from_utf8_lossy(&expected), "{arguments:?}");
    }
    Ok(())
}

/// Returns both ends of a pseudo-terminal. The second end is for a program, and is non-blocking.
fn terminal() -> Result<(File, OwnedFd), Box<dyn std::error::Error>> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let theirs = open(ptsname(&ours, Vec::new())?.as_c_str(), flags, Mode::empty())?;
    Ok((ours.into(), theirs))
}

#[test]
fn a_non_blocking_terminal_is_read_to_its_end_and_written_whole() -> Test {
    let (mut keyboard, their_input) = terminal()?;
    let mut validate = command(["validate", "--lines", "--json"]);
    let child = validate.stdin(their_input).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
    drop(validate);
    for number in 0..3 {
        thread::sleep(std::time::Duration::from_millis(20));
        writeln!(keyboard, r#"{{"jsonrpc":"2.0","method":"m","id":{number}}}"#)?;
    }
    // Ctrl-D ends the input.
    keyboard.write_all(b"\x04")?;
    let output = child.wait_with_output()?;
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout)?.matches(r#""isValid":true"#).count(), 3);

    let input: Vec<u8> = (0..4_000).flat_map(|number| format!("{{\"id\":{number}}}\n").into_bytes()).collect();
    let (code, expected) = run_with_files(&mut command(["validate", "--lines", "--json"]), &input, false)?;
    let (mut screen, their_output) = terminal()?;
    let mut validate = command(["validate", "--lines", "--json"]);
    let (their_input, our_input) = Kind::Pipes.make();
    let mut child = validate.stdin(their_input).stdout(their_output).spawn()?;
    drop(validate);
    thread::spawn(move || write_all(&our_input, &input));
    let mut shown = Vec::new();
    let mut chunk = [0; 4096];
    // On Linux, a read fails once no program has the other end of the terminal open.
    while let Ok(count @ 1..) = screen.read(&mut chunk) {
        shown.extend_from_slice(&chunk[..count]);
        thread::sleep(std::time::Duration::from_micros(500));
    }
    assert_eq!(child.wait()?.code(), code);
    // A terminal converts each line feed to a carriage return and a line feed.
    assert!(String::from_utf8(shown)?.replace("\r\n", "\n").into_bytes() == expected);
    Ok(())
}
