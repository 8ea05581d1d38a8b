//! `cargo xtask fuzz`: runs the fuzzing engine libFuzzer on the targets in fuzz/, with a stable compiler. LLVM inserts
//! code that counts the branches that an input takes. The engine mutates the inputs that take new branches. The engine
//! is C++ code in the crate `libfuzzer-sys`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::debian;
use crate::environment::{Environment, find_in_path};
use crate::process::{self, Outcome, capture, clear, duration, run_ok, step, tail};
use crate::setup::Setup;
use crate::toolchain::{cargo, rustc};
use crate::workspace::Workspace;

/// The flags that cargo-fuzz uses. With one codegen unit, inlined functions are also instrumented.
const INSTRUMENTATION: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Ccodegen-units=1";

/// The time limit of one input, in seconds.
const MAX_INPUT_SECONDS: u32 = 25;

/// The memory limit of a process, in MiB. Code that leaks memory exceeds the limit. So does code that allocates memory
/// for a large length in the input.
const MAX_MEMORY_MB: u32 = 1024;

/// Maximum length of an input, in bytes.
const MAX_INPUT_BYTES: u32 = 1024;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Minutes for each target
    #[arg(long, default_value_t = 10.0, value_name = "N")]
    minutes: f64,
    /// Run only these targets
    #[arg(long, value_delimiter = ',', value_name = "TARGET")]
    only: Vec<String>,
    /// The number of targets that run at once. Default: the number of processors
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Run one target once, with this input, and show its output
    #[arg(long, value_name = "FILE", requires = "only", conflicts_with = "minutes")]
    input: Option<PathBuf>,
}

/// The result of one target.
struct Run {
    target: String,
    executions: u64,
    per_second: u64,
    /// The number of inputs that took new branches.
    added: u64,
    failure: Option<String>,
}

/// Runs the targets. Returns `false` if a target has found a fault.
pub(crate) fn run(setup: &Setup, arguments: &Arguments) -> Result<bool> {
    let workspace = &setup.workspace;
    let targets = chosen(targets(workspace)?, &arguments.only)?;
    let programs = build(workspace, &targets)?;
    if let Some(input) = &arguments.input {
        return reproduce(workspace, &programs, &targets, input);
    }
    let jobs = arguments.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let jobs = jobs.clamp(1, targets.len());
    let time = Duration::from_secs_f64(arguments.minutes.max(0.02) * 60.0);
    eprintln!(
        "  {} targets, {} each, {jobs} at once; they write to target/logs/fuzz-*.log",
        targets.len(),
        duration(time)
    );
    let runs = run_all(&targets, jobs, |target| {
        run_one(workspace, &programs, target, time).unwrap_or_else(|error| Run::broken(target, &error))
    });
    print_table(&runs);
    let failed = runs.iter().filter(|run| run.failure.is_some()).count();
    println!("{} passed, {failed} failed", runs.len() - failed);
    Ok(failed == 0)
}

/// Returns the targets: the files in fuzz/fuzz_targets/.
fn targets(workspace: &Workspace) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in workspace.path("fuzz/fuzz_targets").read_dir().context("fuzz/fuzz_targets")? {
        let name = entry?.file_name();
        names.extend(Path::new(&name).file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

fn chosen(all: Vec<String>, only: &[String]) -> Result<Vec<String>> {
    if let Some(unknown) = only.iter().find(|name| !all.contains(name)) {
        bail!("unknown fuzz target `{unknown}`; expected {}", all.join(", "));
    }
    Ok(all.into_iter().filter(|name| only.is_empty() || only.contains(name)).collect())
}

/// Builds the programs. Returns their folder.
fn build(workspace: &Workspace, targets: &[String]) -> Result<PathBuf> {
    let host = capture(rustc().args(["--print", "host-tuple"]))?;
    let products = workspace.path("target/fuzz/build");
    let environment = Environment::default()
        .with("CARGO_TARGET_DIR", &products)
        .with("RUSTFLAGS", INSTRUMENTATION)
        .with("CXX", compiler_of_engine(workspace)?);
    let mut command = environment.command(&cargo().to_string_lossy(), &workspace.path("fuzz"))?;
    // With `--target`, cargo does not apply the flags to build scripts and macros.
    command.args(["build", "--release", "--target", &host]);
    for target in targets {
        command.args(["--bin", target]);
    }
    step("fuzz targets: cargo build", || {
        run_ok(&mut command, &workspace.log("fuzz-build"), Duration::from_secs(1500))
    })?;
    Ok(products.join(host).join("release"))
}

fn compiler_of_engine(workspace: &Workspace) -> Result<PathBuf> {
    let from_variable = std::env::var_os("CXX").filter(|value| !value.is_empty()).map(PathBuf::from);
    let in_path = || ["c++", "g++", "clang++"].iter().find_map(|program| find_in_path(program));
    if let Some(compiler) = from_variable.or_else(in_path) {
        return Ok(compiler);
    }
    if debian::can_install() {
        debian::install("fuzzing engine", &["g++"], &workspace.log("apt"))?;
    }
    in_path().context("the fuzzing engine requires a C++ compiler: install g++ or clang, or set CXX")
}

/// Runs `work` on each target, `jobs` at a time. Returns the results in the order of the targets.
fn run_all(targets: &[String], jobs: usize, work: impl Fn(&str) -> Run + Sync) -> Vec<Run> {
    let remaining = Mutex::new(targets.iter());
    let next = || remaining.lock().ok().and_then(|mut remaining| remaining.next());
    let mut runs: Vec<Run> = thread::scope(|scope| {
        let worker = || {
            let mut runs = Vec::new();
            while let Some(target) = next() {
                let start = Instant::now();
                let run = work(target);
                eprintln!("  {target} ... {}, {}", run.verdict(), duration(start.elapsed()));
                runs.push(run);
            }
            runs
        };
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
    });
    runs.sort_by(|a, b| a.target.cmp(&b.target));
    runs
}

fn run_one(workspace: &Workspace, programs: &Path, target: &str, time: Duration) -> Result<Run> {
    // libFuzzer writes new inputs to the first folder, and only reads the second folder.
    let new_inputs = workspace.path("target/fuzz/corpus").join(target);
    let findings = workspace.path("target/fuzz/findings");
    fs::create_dir_all(&new_inputs)?;
    fs::create_dir_all(&findings)?;
    let log = workspace.log(&format!("fuzz-{target}"));
    clear(&log)?;
    let mut command = Environment::default().command(&programs.join(target).to_string_lossy(), &workspace.root)?;
    command.arg(new_inputs).arg(workspace.path("fuzz/corpus").join(target));
    command.arg(format!("-dict={}", workspace.path("fuzz/words.dict").display()));
    command.arg(format!("-artifact_prefix={}/{target}-", findings.display()));
    command.arg(format!("-max_total_time={}", time.as_secs().max(1)));
    command.args([
        format!("-timeout={MAX_INPUT_SECONDS}"),
        format!("-rss_limit_mb={MAX_MEMORY_MB}"),
        format!("-max_len={MAX_INPUT_BYTES}"),
    ]);
    command.arg("-print_final_stats=1");
    let outcome = process::run(&mut command, &log, time + Duration::from_secs(180))?;
    let statistic = |name| statistic(&outcome.output, name);
    Ok(Run {
        target: target.to_owned(),
        executions: statistic("number_of_executed_units").unwrap_or(0),
        per_second: statistic("average_exec_per_sec").unwrap_or(0),
        added: statistic("new_units_added").unwrap_or(0),
        failure: failure(workspace, target, &outcome),
    })
}

/// Returns the description of a failed run with the command that repeats it, or `None` if the run succeeded.
fn failure(workspace: &Workspace, target: &str, outcome: &Outcome) -> Option<String> {
    if outcome.success() && statistic(&outcome.output, "number_of_executed_units").is_some() {
        return None;
    }
    let input = finding(&outcome.output).map(|path| path.strip_prefix(&workspace.root).unwrap_or(path).display());
    let advice = input.map_or_else(
        || "libFuzzer wrote no input".to_owned(),
        |input| format!("the input is in {input}; repeat it with: cargo xtask fuzz --only {target} --input {input}"),
    );
    let log = workspace.log(&format!("fuzz-{target}"));
    let output_lines = reason(&outcome.output).unwrap_or_else(|| tail(&outcome.output, 20));
    Some(format!(
        "{} ({})\n{output_lines}\n    {advice}\n    the whole output is in {}",
        target,
        outcome.describe(),
        log.display()
    ))
}

/// Returns the message of the panic or of the engine.
fn reason(output: &str) -> Option<String> {
    let is_start = |line: &&str| line.contains("panicked at") || line.contains("ERROR: libFuzzer");
    let mut lines = output.lines().skip_while(|line| !is_start(line)).take(6).peekable();
    lines.peek()?;
    Some(lines.map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n"))
}

/// Returns the file to which the engine has written the input that causes the failure.
fn finding(output: &str) -> Option<&Path> {
    output.lines().find_map(|line| line.split_once("Test unit written to ")).map(|(_, path)| Path::new(path.trim()))
}

/// Returns the value of a line `stat::name: value`.
fn statistic(output: &str, name: &str) -> Option<u64> {
    let value = output.lines().filter_map(|line| line.strip_prefix("stat::")).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key == name).then_some(value)
    });
    value?.trim().parse().ok()
}

/// Replaces this process by the program of the only target. The program runs once, with the input in the file `input`.
fn reproduce(workspace: &Workspace, programs: &Path, targets: &[String], input: &Path) -> Result<bool> {
    let [target] = targets else { bail!("--input requires exactly one target in --only") };
    // The program runs in the folder in which cargo was called, because `input` is relative to this folder.
    let mut command = Command::new(programs.join(target));
    command.arg(input).env("RUST_BACKTRACE", "1").env("PORTWAY_FUZZ_SHOW", "1");
    command.args([format!("-timeout={MAX_INPUT_SECONDS}"), format!("-rss_limit_mb={MAX_MEMORY_MB}")]);
    let findings = workspace.path("target/fuzz/findings");
    fs::create_dir_all(&findings)?;
    command.arg(format!("-artifact_prefix={}/{target}-again-", findings.display()));
    process::replace_process(command)
}

impl Run {
    /// Returns the result of a target that could not be run.
    fn broken(target: &str, error: &anyhow::Error) -> Self {
        let failure = Some(format!("{target}: {error:#}"));
        Self { target: target.to_owned(), executions: 0, per_second: 0, added: 0, failure }
    }

    fn verdict(&self) -> String {
        let result = if self.failure.is_some() { "FAILED" } else { "clean" };
        format!("{result} after {} executions", grouped(self.executions))
    }
}

fn print_table(runs: &[Run]) {
    println!("{:<16} {:>16} {:>12} {:>12}", "target", "executions", "per second", "new inputs");
    for run in runs {
        let (executions, per_second) = (grouped(run.executions), grouped(run.per_second));
        println!("{:<16} {executions:>16} {per_second:>12} {:>12}", run.target, run.added);
    }
    for failure in runs.iter().filter_map(|run| run.failure.as_ref()) {
        println!("\nFAILED {failure}");
    }
}

/// Returns a number with a space between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRASH: &str = "#2\tINITED cov: 5\n\nthread '<unnamed>' panicked at src/json.rs:9:5:\nassertion failed: x\n\
        ==7== ERROR: libFuzzer: deadly signal\nTest unit written to /tmp/f/json-crash-1\n\
        stat::number_of_executed_units: 1234\nstat::average_exec_per_sec:     56\n";

    #[test]
    fn figures_are_parsed_from_the_output_of_the_engine() {
        assert_eq!(statistic(CRASH, "number_of_executed_units"), Some(1234));
        assert_eq!(statistic(CRASH, "average_exec_per_sec"), Some(56));
        assert_eq!(statistic(CRASH, "new_units_added"), None);
    }

    #[test]
    fn a_finding_is_reported_with_its_reason_and_its_file() {
        assert_eq!(finding(CRASH), Some(Path::new("/tmp/f/json-crash-1")));
        assert!(reason(CRASH).is_some_and(|reason| reason.contains("panicked") && reason.contains("assertion failed")));
        assert_eq!((finding("fine"), reason("fine")), (None, None));
    }

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!([0, 999, 1_000, 12_345_678].map(grouped), ["0", "999", "1 000", "12 345 678"]);
    }

    #[test]
    fn every_target_is_a_program_with_a_corpus() -> Result<()> {
        let workspace = Workspace::find()?;
        let manifest = workspace.read("fuzz/Cargo.toml")?;
        for target in targets(&workspace)? {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} is not in fuzz/Cargo.toml");
            assert!(workspace.path("fuzz/corpus").join(&target).is_dir(), "{target} has no corpus");
        }
        Ok(())
    }
}
