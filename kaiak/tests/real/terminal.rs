//! The progress of `kaiak fix` on a real pseudo-terminal.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tempfile::TempDir;

use crate::harness::{command, folder};

/// The number of files in the project.
const FILES: usize = 30;

/// Opens a pseudo-terminal with this number of columns. Returns the side of the test, and the side of the program.
fn terminal(columns: u16) -> (OwnedFd, File) {
    let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&control).unwrap();
    unlockpt(&control).unwrap();
    let name = ptsname(&control, Vec::new()).unwrap();
    let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let terminal = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&control, size).unwrap();
    (control, terminal)
}

fn project() -> TempDir {
    let folder = folder();
    for number in 0..FILES {
        let path = folder.path().join(format!("workspace/src/a-folder-with-a-long-name/and-another/File{number}.java"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "import javax.servlet.Filter;\n").unwrap();
    }
    folder
}

/// Runs `kaiak fix` with standard error on a terminal. If `is_output_shown`, standard output is on the terminal, too.
/// Returns the text on the terminal, and the text on a separate standard output.
fn fix(folder: &TempDir, columns: u16, options: &[&str], is_output_shown: bool) -> (String, String) {
    let (control, terminal) = terminal(columns);
    let mut command: Command = command(folder);
    command.args(["fix", "--rules", "../rules", "--rule", "servlet-import"]).args(options).arg(".");
    command.stdin(Stdio::null()).stderr(terminal.try_clone().unwrap());
    let output = if is_output_shown { Stdio::from(terminal.try_clone().unwrap()) } else { Stdio::piped() };
    let process = command.stdout(output).spawn().unwrap();
    // The terminal ends when no process has it open.
    drop((command, terminal));
    let reader = thread::spawn(move || {
        let (mut text, mut control) = (Vec::new(), File::from(control));
        // At the end of the terminal, the system returns EIO.
        let _ = control.read_to_end(&mut text);
        String::from_utf8(text).unwrap()
    });
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success());
    (reader.join().unwrap(), String::from_utf8(output.stdout).unwrap())
}

/// Returns the lines that a terminal shows at the end.
fn screen(text: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut column) = (vec![String::new()], 0);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("\u{1b}[2K") {
            lines.last_mut().unwrap().clear();
            rest = after;
            continue;
        }
        rest = &rest[character.len_utf8()..];
        match character {
            '\r' => column = 0,
            '\n' => lines.push(String::new()),
            _ => {
                assert!(character != '\u{1b}', "an unexpected sequence before {rest:?}");
                if column == columns {
                    lines.push(String::new());
                    column = 0;
                }
                // The names of the files have only ASCII characters.
                let line = lines.last_mut().unwrap();
                line.truncate(column);
                line.push(character);
                column += 1;
            }
        }
    }
    lines
}

#[test]
fn the_progress_is_one_line_that_is_replaced_and_removed_at_the_end() {
    for columns in [40, 200] {
        let folder = project();
        let (text, output) = fix(&folder, columns, &[], false);
        for part in ["reading the rules", "searching the files", "writing file 30 of 30: "] {
            assert!(text.contains(&format!("\r\u{1b}[2K{part}")), "{text:?}");
        }
        let numbers = text.split("writing file ").skip(1).map(|rest| rest.split(' ').next().unwrap().parse().unwrap());
        assert!(numbers.is_sorted_by(|one: &usize, next| one < next), "{text:?}");
        let lines = screen(&text, columns.into());
        assert_eq!(lines, ["changed 30 files, left 0 places", ""], "{columns} columns");
        assert!(!output.contains('\u{1b}') && !output.contains('\r'), "{output}");
        assert_eq!(output.matches("+import jakarta.servlet.Filter;").count(), FILES);
    }
}

#[test]
fn the_diff_on_the_same_terminal_is_complete() {
    let (expected, folder) = (project(), project());
    let (_, diff) = fix(&expected, 200, &["--quiet"], false);
    let (text, _) = fix(&folder, 200, &[], true);
    let shown = screen(&text, 200);
    let mut lines: Vec<&str> = diff.lines().collect();
    lines.extend(["changed 30 files, left 0 places", ""]);
    assert_eq!(shown.join("\n"), lines.join("\n"));
}

#[test]
fn quiet_prints_nothing_to_a_terminal() {
    let (text, output) = fix(&project(), 80, &["--quiet"], false);
    assert_eq!(text, "");
    assert_eq!(output.matches("+import jakarta.servlet.Filter;").count(), FILES);
}
