//! Runs child processes with a time limit, writes their output to a file, and prints their progress.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The way in which a process ended, and its output.
pub(crate) struct Outcome {
    pub(crate) ending: Ending,
    pub(crate) output: String,
}

pub(crate) enum Ending {
    Exited(ExitStatus),
    TimedOut(Duration),
}

impl Outcome {
    pub(crate) fn success(&self) -> bool {
        matches!(self.ending, Ending::Exited(status) if status.success())
    }

    pub(crate) fn describe(&self) -> String {
        match self.ending {
            Ending::Exited(status) => status.to_string(),
            Ending::TimedOut(limit) => format!("stopped after the limit of {}", duration(limit)),
        }
    }
}

/// Runs `command` until it exits or `limit` has passed. Appends its standard output and standard error to `log`.
pub(crate) fn run(command: &mut Command, log: &Path, limit: Duration) -> Result<Outcome> {
    let command_line = describe(command);
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(log)?;
    writeln!(file, "$ {command_line}")?;
    let start = file.metadata()?.len();
    let (stdout, stderr) = (file.try_clone()?, file);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .with_context(|| format!("cannot start `{command_line}`"))?;
    let ending = wait(&mut child, limit)?;
    let written = fs::read(log)?;
    let output = written.get(usize::try_from(start)?..).unwrap_or_default();
    Ok(Outcome { ending, output: String::from_utf8_lossy(output).into_owned() })
}

/// Runs `command` as [`run`] does, and returns its output. If the command fails, the error contains the last lines of
/// the output.
pub(crate) fn run_ok(command: &mut Command, log: &Path, limit: Duration) -> Result<String> {
    let outcome = run(command, log, limit)?;
    if outcome.success() {
        return Ok(outcome.output);
    }
    bail!(
        "`{}` failed ({})\n{}\n  the whole output is in {}",
        describe(command),
        outcome.describe(),
        tail(&outcome.output, 40),
        log.display()
    )
}

/// Returns the standard output of a short command.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let command_line = describe(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{command_line}`"))?;
    if !output.status.success() {
        bail!("`{command_line}` failed ({})\n{}", output.status, tail(&String::from_utf8_lossy(&output.stderr), 10));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Replaces this process by `command`, so that signals to this process reach the command.
pub(crate) fn replace_process(mut command: Command) -> Result<bool> {
    Err(command.exec()).with_context(|| describe(&command))
}

/// Empties `log`, or creates it.
pub(crate) fn clear(log: &Path) -> Result<()> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder)?;
    }
    File::create(log)?;
    Ok(())
}

/// Runs `work`. Prints a line with `name` at the start, and a second line with `name` and the duration at the end.
/// Concurrent steps may print lines between these two lines.
pub(crate) fn step<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("  {name} ...");
    short_step(name, work)
}

/// Runs `work` as [`step`] does, and prints only the line at the end.
pub(crate) fn short_step<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    let result = work();
    eprintln!("  {name}: {} {}", if result.is_ok() { "done in" } else { "failed after" }, duration(start.elapsed()));
    result
}

/// Returns the last `lines` non-blank lines of `text`. Indents each line.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let skipped = all.len().saturating_sub(lines);
    all.iter().skip(skipped).map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

pub(crate) fn duration(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

fn describe(command: &Command) -> String {
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    std::iter::once(command.get_program().to_string_lossy()).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn wait(child: &mut Child, limit: Duration) -> Result<Ending> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ending::Exited(status));
        }
        if start.elapsed() > limit {
            // The descendants are also killed. For example, if only the driver of a browser were killed, the browser
            // would continue to run.
            for process in descendants(child.id()) {
                Command::new("kill").arg("-9").arg(process.to_string()).stderr(Stdio::null()).status().ok();
            }
            child.kill().ok();
            child.wait()?;
            return Ok(Ending::TimedOut(limit));
        }
        thread::sleep(Duration::from_millis(40));
    }
}

/// Returns the descendants of the process `root`, by the parents that /proc lists.
fn descendants(root: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        if let Some(parent) = parent_in_stat(&stat) {
            parents.push((process, parent));
        }
    }
    let mut processes = vec![root];
    let mut next = 0;
    while let Some(&member) = processes.get(next) {
        processes.extend(parents.iter().filter(|(_, parent)| *parent == member).map(|(process, _)| *process));
        next += 1;
    }
    processes.split_off(1)
}

/// Returns the parent in a line of `/proc/<pid>/stat`. The parent is the second field after the name of the program.
/// The name is in brackets, and may contain spaces and brackets.
fn parent_in_stat(stat: &str) -> Option<u32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_after_a_name_with_brackets() {
        assert_eq!(parent_in_stat("12 (a) b) S 7 12 12 0"), Some(7));
        assert_eq!(parent_in_stat("nonsense"), None);
    }

    #[test]
    fn tail_returns_the_last_non_blank_lines() {
        assert_eq!(tail("a\n\nb\nc\n", 2), "    b\n    c");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_and_its_child_are_stopped_after_the_time_limit() -> Result<()> {
        let log = std::env::temp_dir().join(format!("portway-xtask-limit-{}.log", std::process::id()));
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 977 & echo $!; wait"]);
        let outcome = run(&mut command, &log, Duration::from_secs(2))?;
        fs::remove_file(&log)?;
        assert!(matches!(outcome.ending, Ending::TimedOut(_)));
        // A process in the state `Z` has ended, and is not reaped yet.
        let stat = format!("/proc/{}/stat", outcome.output.trim());
        let is_running = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        let deadline = Instant::now() + Duration::from_secs(10);
        while is_running() {
            assert!(Instant::now() < deadline, "the child still runs");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}
