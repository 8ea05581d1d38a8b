//! `cargo xtask coverage`: prints, for each module, the percentage of lines that the native tests run. Test code is not
//! counted. The command fails if the percentage of a part is below its promise.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::environment::Environment;
use crate::process::{clear, run_ok, step};
use crate::setup::Setup;
use crate::toolchain::cargo;
use crate::tools::Tool;

/// The packages of the library and of its commands.
const PACKAGES: &[&str] = &["portway", "portway-proto", "portway-cli", "portway-cli-support", "duet-rpc"];

/// The parts of the packages with a promised coverage, in percent.
const PROMISES: &[(&str, f64)] = &[("portway-proto/codec", 95.0)];

/// The parts that only run in browsers. Their coverage is not measured.
const BROWSER_ONLY: &[&str] = &["browser", "portway-web"];

/// Maximum time of cargo-tarpaulin: of the build and of all tests.
const TARPAULIN_TIMEOUT: Duration = Duration::from_secs(1500);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// List the lines that no test runs
    #[arg(long)]
    lines: bool,
}

/// Runs the tests and prints the table. Returns `false` if a promised coverage is missed.
pub(crate) fn run(setup: &Setup, arguments: &Arguments) -> Result<bool> {
    let workspace = &setup.workspace;
    let folder = Tool::tarpaulin(workspace)?.folder(workspace, &setup.cache)?;
    let report = workspace.path("target/coverage");
    let build = report.join("build");
    let log = workspace.log("coverage");
    clear(&log)?;
    fs::create_dir_all(&report)?;
    let environment = Environment::default().with("CARGO", cargo()).with("RUST_BACKTRACE", "0");
    let mut command = environment.command(&folder.join("cargo-tarpaulin").to_string_lossy(), &workspace.root)?;
    command.args(["tarpaulin", "--skip-clean", "--timeout", "600"]);
    command.args(PACKAGES.iter().flat_map(|package| ["--packages", package]));
    // The LLVM engine of cargo-tarpaulin adds counters to the compiled code. The ptrace engine would stop the process
    // at each line, and tests with timeouts would fail in the slow process.
    command.args(["--engine", "llvm", "--out", "Json", "--output-dir"]).arg(&report).arg("--target-dir").arg(&build);
    // Tests start these programs. The lines that the programs run also count.
    command.arg("--objects").args(["portway", "duet-rpc"].map(|program| build.join("debug").join(program)));
    step("coverage: the library's tests", || run_ok(&mut command, &log, TARPAULIN_TIMEOUT))?;

    let text = fs::read_to_string(report.join("tarpaulin-report.json")).context("cargo-tarpaulin wrote no report")?;
    let files = files_of_library(serde_json::from_str(&text).context("tarpaulin-report.json")?, &workspace.root);
    if arguments.lines {
        print_lines(&files);
    }
    let modules = modules(&files);
    println!("{:<24} {:>8} {:>8} {:>9}", "module", "lines", "run", "percent");
    for (module, share) in &modules {
        println!("{module:<24} {:>8} {:>8} {:>8.1}%", share.lines, share.run, share.percent());
    }
    let broken = broken_promises(&files);
    for promise in &broken {
        println!("{promise}");
    }
    println!("{} passed, {} failed", PROMISES.len() - broken.len(), broken.len());
    Ok(broken.is_empty())
}

/// The report of cargo-tarpaulin.
#[derive(Deserialize)]
struct Report {
    files: Vec<FileReport>,
}

#[derive(Deserialize)]
struct FileReport {
    /// The components of the path, from the root of the file system.
    path: Vec<String>,
    traces: Vec<Trace>,
}

#[derive(Deserialize)]
struct Trace {
    line: usize,
    stats: Statistics,
}

#[derive(Deserialize)]
enum Statistics {
    Line(u64),
}

/// One file of the library or of a command.
struct File {
    /// The path from the root of the repository.
    path: PathBuf,
    /// The path without the folders of the sources, see [`source_path`].
    source_path: PathBuf,
    /// The numbers of the lines, and whether each was run.
    lines: BTreeMap<usize, bool>,
}

/// Returns the files of the library and of its commands, except for files without counted lines.
fn files_of_library(report: Report, root: &Path) -> Vec<File> {
    let counted_file = |file: FileReport| {
        let path = file.path.iter().collect::<PathBuf>().strip_prefix(root).ok()?.to_path_buf();
        let source_path = source_path(&path)?;
        let mut lines = BTreeMap::new();
        for Trace { line, stats: Statistics::Line(times) } in file.traces {
            *lines.entry(line).or_default() |= times > 0;
        }
        let is_counted = !BROWSER_ONLY.iter().any(|part| source_path.starts_with(part)) && !lines.is_empty();
        is_counted.then_some(File { path, source_path, lines })
    };
    report.files.into_iter().filter_map(counted_file).collect()
}

/// Returns the path without `src` and `crates`: `native/link.rs` for `src/native/link.rs`, and `duet-rpc/main.rs` for
/// `crates/duet-rpc/src/main.rs`. Returns `None` for a file outside of the folders `src` and `crates/*/src`.
fn source_path(path: &Path) -> Option<PathBuf> {
    if let Ok(rest) = path.strip_prefix("src") {
        return Some(rest.to_path_buf());
    }
    let mut parts = path.strip_prefix("crates").ok()?.iter();
    let package = Path::new(parts.next()?);
    parts.as_path().strip_prefix("src").ok().map(|rest| package.join(rest))
}

/// The number of all lines, and the number of lines that were run.
#[derive(Clone, Copy, Default)]
struct Share {
    lines: usize,
    run: usize,
}

impl Share {
    fn of<'f>(files: impl IntoIterator<Item = &'f File>) -> Self {
        let mut share = Self::default();
        for file in files {
            share.lines += file.lines.len();
            share.run += file.lines.values().filter(|is_run| **is_run).count();
        }
        share
    }

    fn percent(self) -> f64 {
        if self.lines == 0 { 100.0 } else { self.run as f64 * 100.0 / self.lines as f64 }
    }
}

/// Returns the coverage of each module, of the parts with a promise, and of all files.
fn modules(files: &[File]) -> Vec<(String, Share)> {
    let mut by_module: BTreeMap<String, Vec<&File>> = BTreeMap::new();
    for file in files {
        by_module.entry(module(&file.source_path)).or_default().push(file);
    }
    let mut table: Vec<(String, Share)> =
        by_module.into_iter().map(|(module, files)| (module, Share::of(files))).collect();
    table.extend(PROMISES.iter().map(|(part, _)| (format!("all of {part}"), Share::of(files_in(files, part)))));
    table.push(("all".to_owned(), Share::of(files)));
    table
}

/// Returns the module of a file: a command, a module of the core or of its codecs, or a folder or file in src/.
fn module(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let depth = if path.starts_with("portway-proto/codec") {
        3
    } else if path.starts_with("portway-proto") {
        2
    } else {
        1
    };
    let name = parts.get(..depth.min(parts.len())).unwrap_or_default().join("/");
    name.trim_end_matches(".rs").to_owned()
}

/// Returns the files whose source path begins with `part`.
fn files_in<'f>(files: &'f [File], part: &str) -> impl Iterator<Item = &'f File> {
    files.iter().filter(move |file| file.source_path.starts_with(part))
}

fn broken_promises(files: &[File]) -> Vec<String> {
    let broken = |&(part, promised): &(&str, f64)| {
        let percent = Share::of(files_in(files, part)).percent();
        (percent < promised).then(|| {
            format!(
                "{part}: coverage must be at least {promised} % of the lines, got {percent:.1} %; --lines lists the \
                 lines that no test runs"
            )
        })
    };
    PROMISES.iter().filter_map(broken).collect()
}

/// Prints the lines that no test runs.
fn print_lines(files: &[File]) {
    for File { path, lines, .. } in files {
        let missed: Vec<String> =
            lines.iter().filter(|(_, is_run)| !**is_run).map(|(line, _)| line.to_string()).collect();
        if !missed.is_empty() {
            println!("{}: {}", path.display(), missed.join(", "));
        }
    }
    println!();
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{ "files": [
        { "path": ["/", "r", "crates", "portway-proto", "src", "codec", "json", "scan.rs"], "content": "",
          "traces": [{ "line": 3, "address": [], "length": 1, "stats": { "Line": 0 } },
                     { "line": 4, "address": [], "length": 1, "stats": { "Line": 7 } }] },
        { "path": ["/", "r", "crates", "portway-web", "src", "abi.rs"], "content": "",
          "traces": [{ "line": 1, "address": [], "length": 1, "stats": { "Line": 0 } }] },
        { "path": ["/", "r", "crates", "duet-rpc", "src", "level.rs"], "content": "",
          "traces": [{ "line": 9, "address": [], "length": 1, "stats": { "Line": 1 } }] },
        { "path": ["/", "r", "xtask", "src", "main.rs"], "content": "", "traces": [] }
    ], "coverage": 50.0, "covered": 1, "coverable": 3 }"#;

    fn files() -> Result<Vec<File>> {
        Ok(files_of_library(serde_json::from_str(REPORT)?, Path::new("/r")))
    }

    #[test]
    fn only_native_code_of_the_library_and_of_the_commands_is_counted() -> Result<()> {
        let files = files()?;
        assert_eq!(
            files.iter().map(|file| file.source_path.clone()).collect::<Vec<_>>(),
            [Path::new("portway-proto/codec/json/scan.rs"), Path::new("duet-rpc/level.rs")]
        );
        let share = Share::of(files_in(&files, "portway-proto/codec"));
        assert_eq!((share.lines, share.run, share.percent()), (2, 1, 50.0));
        Ok(())
    }

    #[test]
    fn a_missed_promise_is_reported() -> Result<()> {
        assert!(broken_promises(&files()?).concat().starts_with(
            "portway-proto/codec: coverage must be at least 95 % of the lines, got 50.0 %; --lines lists "
        ));
        assert!(broken_promises(&[]).is_empty());
        Ok(())
    }

    #[test]
    fn a_module_is_a_folder_or_a_file() {
        let name = |path: &str| module(Path::new(path));
        assert_eq!(name("portway-proto/codec/json/scan.rs"), "portway-proto/codec/json");
        assert_eq!(name("portway-proto/codec/newline.rs"), "portway-proto/codec/newline");
        assert_eq!(name("portway-proto/connection/mod.rs"), "portway-proto/connection");
        assert_eq!(name("native/link.rs"), "native");
        assert_eq!(name("duet-rpc/logging/mod.rs"), "duet-rpc");
    }
}
