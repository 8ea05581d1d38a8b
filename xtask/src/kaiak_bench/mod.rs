//! `cargo xtask bench --only kaiak`: the times of `kaiak find` and `kaiak fix` on a generated tree of 600 files, the
//! delay of the messages of an agent, and the memory of idle sessions. The time of `kaiak fix` is compared with that of
//! Tomcat's migration tool.

pub(crate) mod agent;
mod sessions;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::environment::Environment;
use crate::process::{clear, run_ok, step};
use crate::setup::Setup;
use crate::test::kaiak;
use crate::toolchain::cargo;

/// The number of files in the tree.
const FILES: usize = 600;
/// The number of rules for `kaiak find`. The rules in `kaiak/rules/jakarta` are among them.
const RULES: usize = 340;

/// Maximum time of `kaiak find`.
const MAX_FIND: Duration = Duration::from_secs(1);

/// Maximum median of the delays from the write of an agent to the arrival of its frame at the client.
const MAX_DELAY_P50: Duration = Duration::from_millis(2);
/// Maximum 99th percentile of these delays.
const MAX_DELAY_P99: Duration = Duration::from_millis(20);

/// Maximum resident memory of a server with idle sessions.
const MAX_IDLE_BYTES: u64 = 50_000_000;

/// The default number of rounds. The median of the rounds counts.
const ROUNDS: u32 = 7;

/// Measures, and prints the results. With `is_check`, returns `false` if a time or a memory is not below its maximum,
/// or if `kaiak fix` is slower than Tomcat's migration tool.
pub(crate) fn run(setup: &Setup, rounds: Option<u32>, is_check: bool) -> Result<bool> {
    kaiak::set_up(setup)?;
    let workspace = &setup.workspace;
    let log = workspace.log("bench-kaiak");
    clear(&log)?;
    let mut command = Environment::default().command(&cargo().to_string_lossy(), &workspace.root)?;
    command.args(["build", "--quiet", "--release", "--package", "kaiak"]);
    step("kaiak: release build", || run_ok(&mut command, &log, Duration::from_secs(900)))?;
    let program = workspace.path("target/release/kaiak");
    let jakarta = workspace.path("kaiak/rules/jakarta");
    let folder = workspace.path("target/kaiak-bench");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let tree = folder.join("tree");
    write_tree(&tree)?;
    let more = folder.join("rules.yaml");
    write_rules(&more, RULES - count_rules(&jakarta)?)?;

    let rounds = rounds.unwrap_or(ROUNDS);
    let (mut finds, mut fixes, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let mut find = Command::new(&program);
        find.args(["find", "--quiet", "--rules"]).arg(&jakarta).arg("--rules").arg(&more).arg(&tree);
        finds.push(time(&mut find)?);
        let copy = folder.join(format!("fixed-{round}"));
        write_tree(&copy)?;
        let mut fix = Command::new(&program);
        fix.args(["fix", "--quiet", "--rules"]).arg(&jakarta).arg(&copy);
        fixes.push(time(&mut fix)?);
        let mut other = Command::new("javax2jakarta");
        other.arg("-profile=EE").arg(&tree).arg(folder.join(format!("migrated-{round}")));
        others.push(time(&mut other)?);
    }
    let (find, fix, other) = (median(finds)?, median(fixes)?, median(others)?);
    println!("{FILES} files, the median of {rounds} rounds:");
    println!("  kaiak find, {RULES} rules   {find:.3?}, at most {MAX_FIND:?}");
    println!("  kaiak fix, rules/jakarta  {fix:.3?}");
    println!("  javax2jakarta             {other:.3?}");

    let delays = sessions::delays(&program, &folder.join("empty"))?;
    println!("from a line of an agent to the frame for the client:");
    println!("  p50  {:.3?}, at most {MAX_DELAY_P50:?}", delays.p50);
    println!("  p99  {:.3?}, at most {MAX_DELAY_P99:?}", delays.p99);
    let (with_rules, with_agents) = sessions::idle_memory(&program, &folder.join("empty"), &jakarta)?;
    let megabytes = |bytes: u64| format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10);
    println!("the memory of {} idle sessions, at most {}:", sessions::SESSIONS, megabytes(MAX_IDLE_BYTES));
    println!("  backend rules  {}", megabytes(with_rules));
    println!("  backend acp    {}, without its agents", megabytes(with_agents));
    let are_fast = find < MAX_FIND && fix <= other && delays.p50 < MAX_DELAY_P50 && delays.p99 < MAX_DELAY_P99;
    let are_small = with_rules < MAX_IDLE_BYTES && with_agents < MAX_IDLE_BYTES;
    Ok(!is_check || (are_fast && are_small))
}

/// Runs a command, which must succeed. Returns its duration.
fn time(command: &mut Command) -> Result<Duration> {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    let time = start.elapsed();
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(time)
}

fn median(mut times: Vec<Duration>) -> Result<Duration> {
    times.sort();
    times.get(times.len() / 2).copied().context("the number of rounds must not be 0")
}

/// Returns the number of rules in the files of a folder.
fn count_rules(folder: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name != "fixes.yaml" && name != "ruleset.yaml") {
            count += fs::read_to_string(path)?.lines().filter(|line| line.starts_with("- ruleID:")).count();
        }
    }
    Ok(count)
}

/// Writes rules that find nothing in most files: one third each for properties, for XML and for imports.
fn write_rules(file: &Path, count: usize) -> Result<()> {
    let mut text = String::new();
    for number in 0..count {
        let search = match number % 3 {
            0 => format!("builtin.filecontent: {{filePattern: '.*\\.properties', pattern: 'app.part{number}..*=.*'}}"),
            1 => format!("builtin.filecontent: {{filePattern: '.*\\.xml', pattern: '<part{number}>[^<]*</part'}}"),
            _ => format!("java.referenced: {{location: IMPORT, pattern: 'org.part{number}.(a|b)*'}}"),
        };
        writeln!(text, "- ruleID: generated-{number:05}\n  message: m\n  when:\n    {search}")?;
    }
    fs::write(file, text)?;
    Ok(())
}

/// Writes the files: two thirds are Java, one third XML and properties. `kaiak fix` changes a fifth of the Java files.
fn write_tree(root: &Path) -> Result<()> {
    for number in 0..FILES {
        let package = if number % 5 == 0 { "javax.servlet.http" } else { "org.part7.a" };
        let (path, text) = match number % 6 {
            0..4 => (format!("src/p{}/C{number}.java", number % 20), java(number, package)),
            4 => (format!("conf/c{number}.xml"), format!("<a>\n{}</a>\n", "  <part4>x</part4>\n".repeat(150))),
            _ => (format!("conf/c{number}.properties"), format!("app.part{number}.x=1\n").repeat(150)),
        };
        let path: PathBuf = root.join(path);
        fs::create_dir_all(path.parent().context("a file without a folder")?)?;
        fs::write(path, text)?;
    }
    Ok(())
}

/// Returns a class of about 150 lines.
fn java(number: usize, package: &str) -> String {
    let mut text = format!("package p{};\n\nimport java.util.List;\n", number % 20);
    for import in 0..10 {
        text.push_str(&format!("import {package}.Type{import};\n"));
    }
    text.push_str(&format!("\npublic class C{number} {{\n"));
    for method in 0..45 {
        text.push_str(&format!("    int method{method}(int value) {{\n        return value * {method};\n    }}\n"));
    }
    text.push_str("}\n");
    text
}
