//! `cargo xtask limits`: generates files from limits.toml. The head of limits.toml documents the members of a row.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::workspace::Workspace;

const TABLE: &str = "limits.toml";

/// The files of constants, each with its key in `const`. For example, a row of limits.toml with `const.js` has a
/// constant in the first file.
const FILES: &[(&str, &str)] = &[
    ("js", "crates/portway-web/js/driver/limit-values.js"),
    ("core", "crates/portway-proto/src/limits.rs"),
    ("codec", "crates/portway-proto/src/codec/limits.rs"),
    ("native", "src/native/limits.rs"),
    ("browser", "src/browser/limits.rs"),
    ("portway", "crates/portway-cli/src/limits.rs"),
    ("duet-rpc", "crates/duet-rpc/src/limits.rs"),
    ("kaiak", "kaiak/src/limits.rs"),
    ("inspector", "crates/portway-inspector/src/limits.rs"),
];

/// Maximum number of characters in a generated line, as in rustfmt.toml.
const WIDTH: usize = 120;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write the generated files. By default, they are only compared
    #[arg(long)]
    write: bool,
}

#[derive(Deserialize)]
struct Table {
    limit: Vec<Row>,
}

/// A place where a limit applies: a part of the library, or the commands.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
enum Place {
    Js,
    RustWeb,
    Native,
    WipcJs,
    WipcNative,
    Commands,
    Inspector,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Row {
    name: String,
    what: String,
    value: u64,
    unit: String,
    on: Vec<Place>,
    #[serde(default)]
    option: BTreeMap<String, String>,
    field: Option<String>,
    limit: Option<String>,
    doc: Option<String>,
    #[serde(default, rename = "const")]
    constants: BTreeMap<String, String>,
    cfg: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    beyond: String,
    why: String,
    #[serde(default)]
    readme: bool,
    #[serde(default)]
    tests: BTreeMap<Place, String>,
    untested: Option<String>,
}

impl Table {
    fn read(workspace: &Workspace) -> Result<Self> {
        toml::from_str(&workspace.read(TABLE)?).context(TABLE)
    }

    /// Returns every generated file with its text.
    fn files(&self, workspace: &Workspace) -> Result<Vec<(&'static str, String)>> {
        let mut files = vec![("crates/portway-web/js/driver/limit-values.js", self.javascript())];
        for (key, file) in FILES.iter().filter(|(key, _)| !["js", "core"].contains(key)) {
            files.push((*file, self.rust(key)));
        }
        let limits = workspace.read("crates/portway-proto/src/limits.rs")?;
        let constants = self.rust_constants("core", "pub");
        let limits = spliced(&limits, "// limits:begin constants", "// limits:end constants", &constants)?;
        let limits = spliced(&limits, "// limits:begin fields", "// limits:end fields", &self.fields())?;
        let limits = spliced(&limits, "// limits:begin values", "// limits:end values", &self.defaults())?;
        files.push(("crates/portway-proto/src/limits.rs", limits));
        let types = workspace.read("crates/portway-web/types/api.d.ts")?;
        files.push((
            "crates/portway-web/types/api.d.ts",
            spliced(&types, "// limits:begin", "// limits:end", &self.declarations())?,
        ));
        let readme = workspace.readme()?;
        let begin = "<!-- limits:begin -->";
        files.push(("README.md", spliced(&readme, begin, "<!-- limits:end -->", &self.readme())?));
        files.push(("tests/data/limits.json", self.json()?));
        Ok(files)
    }

    /// Returns the names of the constants in the file with the key `key`, each with the row of its limit.
    fn constants(&self, key: &str) -> impl Iterator<Item = (&str, &Row)> {
        self.limit.iter().filter_map(move |row| Some((row.constants.get(key)?.as_str(), row)))
    }

    fn rust(&self, key: &str) -> String {
        // The tests of the inspector are in a crate of their own, so they need public constants.
        let body = self.rust_constants(key, if key == "inspector" { "pub" } else { "pub(crate)" });
        let uses = if body.contains("Duration") { "use core::time::Duration;\n\n" } else { "" };
        format!("//! Limits that `cargo xtask limits --write` generates from {TABLE}.\n\n{uses}{body}")
    }

    fn rust_constants(&self, key: &str, visibility: &str) -> String {
        let mut body = String::new();
        for (name, row) in self.constants(key) {
            let kind = if row.unit == "ms" { "Duration" } else { row.kind.as_deref().unwrap_or("usize") };
            let value = grouped(row.value, "_");
            let value = if row.unit == "ms" { format!("Duration::from_millis({value})") } else { value };
            // The constants of the core are public, so they have their own documentation.
            let title = row.doc.clone().filter(|_| visibility == "pub").unwrap_or_else(|| row.title(""));
            body.push_str(&comment("", "///", &title));
            if let Some(cfg) = &row.cfg {
                let _ = writeln!(body, "#[cfg({cfg})]");
            }
            let _ = writeln!(body, "{visibility} const {name}: {kind} = {value};");
        }
        body
    }

    fn javascript(&self) -> String {
        let mut text = format!("// Limits that `cargo xtask limits --write` generates from {TABLE}.\n\n");
        for (name, row) in self.constants("js") {
            let _ = writeln!(
                text,
                "/** {} */\nexport const {name} = {};",
                row.title(if row.unit == "ms" { ", in milliseconds" } else { "" }),
                grouped(row.value, "_")
            );
        }
        let options = self.limit.iter().filter_map(|row| {
            let name = row.limit.as_ref()?;
            Some(format!("{name}: {}", grouped(row.value, "_")))
        });
        let options = options.collect::<Vec<_>>().join(", ");
        text + &format!("/** The default values of the option `limits`. */\nexport const DEFAULTS = {{ {options} }};\n")
    }

    /// Returns the members of the Rust struct `Limits`.
    fn fields(&self) -> String {
        let mut text = String::new();
        for (row, field) in self.members() {
            text.push_str(&comment("    ", "///", &row.documentation()));
            let _ = writeln!(text, "    pub {field}: {},", row.kind.as_deref().unwrap_or("usize"));
        }
        text
    }

    fn defaults(&self) -> String {
        self.members().map(|(row, field)| format!("        {field}: {},\n", grouped(row.value, "_"))).collect()
    }

    fn members(&self) -> impl Iterator<Item = (&Row, &str)> {
        self.limit.iter().filter_map(|row| Some((row, row.field.as_deref()?)))
    }

    /// Returns the members of the option `limits`, for the TypeScript declarations.
    fn declarations(&self) -> String {
        let mut text = String::new();
        for (row, name) in self.limit.iter().filter_map(|row| Some((row, row.limit.as_ref()?))) {
            let line = format!("  /** {} */\n", row.documentation().replace('\u{a0}', " "));
            if line.chars().count() <= WIDTH {
                text.push_str(&line);
            } else {
                let _ = write!(text, "  /**\n{}   */\n", comment("  ", " *", &row.documentation()));
            }
            let _ = writeln!(text, "  {name}?: number | undefined;");
        }
        text
    }

    fn readme(&self) -> String {
        let mut text = "| what | where | default | set by | beyond it |\n|---|---|---|---|---|\n".to_owned();
        for row in self.limit.iter().filter(|row| row.readme) {
            let options: BTreeSet<_> = row.option.values().map(|option| format!("`{option}`")).collect();
            let options = options.into_iter().collect::<Vec<_>>().join(", ");
            let (places, value) = (row.places(), with_unit(row.value, &row.unit));
            let _ = writeln!(text, "| {} | {places} | {value} | {options} | {} |", row.what, row.beyond);
        }
        text
    }

    /// Returns the table for the tests of native code and of browsers, as JSON.
    fn json(&self) -> Result<String> {
        let rows = self.limit.iter().map(|row| {
            let drivers: Vec<_> =
                row.on.iter().filter_map(|place| row.tests_of(*place)).filter(|test| !test.contains(": ")).collect();
            let row = json!({
                "name": row.name,
                "value": row.value,
                "on": row.on,
                "drivers": drivers.into_iter().collect::<BTreeSet<_>>(),
            });
            Ok(format!("  {}", serde_json::to_string(&row)?))
        });
        Ok(format!("[\n{}\n]\n", rows.collect::<Result<Vec<_>>>()?.join(",\n")))
    }

    /// Returns the faults of the table. Does not compare the generated files.
    fn problems(&self, workspace: &Workspace) -> Vec<String> {
        let mut problems = Vec::new();
        let mut names = BTreeSet::new();
        for row in &self.limit {
            let mut problem = |text: String| problems.push(format!("{TABLE}: {}: {text}", row.name));
            if !names.insert(row.name.clone()) {
                problem("the name must be unique".to_owned());
            }
            if row.why.is_empty() || row.beyond.is_empty() {
                problem("`why` and `beyond` must not be empty".to_owned());
            }
            if row.doc.is_none() && (row.field.is_some() || row.limit.is_some()) {
                problem("a limit with an option must have a `doc`".to_owned());
            }
            for (key, name) in &row.constants {
                if !FILES.iter().any(|(known, _)| known == key) {
                    problem(format!("unknown file of constants `{key}`"));
                }
                if !names.insert(format!("{key} {name}")) {
                    problem(format!("the constant {name} must be unique"));
                }
            }
            if row.doc.is_none() && row.constants.contains_key("core") {
                problem("a public constant must have a `doc`".to_owned());
            }
            for place in row.on.iter().copied() {
                match row.tests_of(place) {
                    Some(test) => problems.extend(row.missing_test(workspace, test)),
                    None if row.untested.is_some() => {}
                    None => problems.push(format!("{TABLE}: {}: there must be a test for {place:?}", row.name)),
                }
            }
        }
        problems
    }
}

impl Row {
    /// Returns the tests of a limit for one place. Rust in browsers uses the modules of JavaScript, and WIPC in Rust
    /// uses the links of `native`. If such a place has no tests of its own, returns the tests of JavaScript or of
    /// `native`.
    fn tests_of(&self, place: Place) -> Option<&str> {
        let shared = match place {
            Place::RustWeb => self.tests.get(&Place::Js),
            Place::WipcNative => self.tests.get(&Place::Native),
            _ => None,
        };
        self.tests.get(&place).or(shared).map(String::as_str)
    }

    /// Returns the fault of a row whose test does not exist, or `None` if the test exists.
    fn missing_test(&self, workspace: &Workspace, test: &str) -> Option<String> {
        let (file, forms) = match test.split_once(": ") {
            Some((file, name)) => (file, vec![name.to_owned()]),
            // The file tests many limits. It contains the name of this limit as a string or as a member.
            None => (test, vec![format!("\"{}\"", self.name), format!("  {}: ", self.name)]),
        };
        let has_test = workspace.read(file).is_ok_and(|text| forms.iter().any(|form| text.contains(form)));
        let first_form = forms.first().map(String::as_str).unwrap_or_default();
        (!has_test).then(|| format!("{TABLE}: {}: {file} must have the test {first_form}", self.name))
    }

    /// Returns the comment of a constant: the text `what` of the row as a sentence, with `suffix` at its end.
    fn title(&self, suffix: &str) -> String {
        let mut letters = self.what.chars();
        let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
        format!("{first}{}{suffix}.", letters.as_str())
    }

    /// Returns the documentation of an option.
    fn documentation(&self) -> String {
        let value = match (with_unit(self.value, &self.unit), grouped(self.value, " ")) {
            (short, long) if short == long || self.unit == "ms" => long,
            (short, long) => format!("{long} ({short})"),
        };
        // A number must not be split between two lines.
        let value = value.replace(' ', "\u{a0}");
        format!("{} Default {value}.", self.doc.as_deref().unwrap_or_default())
    }

    fn places(&self) -> String {
        let has = |places: &[Place]| places.iter().all(|place| self.on.contains(place));
        if has(&[Place::Js, Place::RustWeb, Place::Native]) {
            return "everywhere".to_owned();
        }
        let wipc = if has(&[Place::WipcJs, Place::WipcNative]) { "WIPC" } else { "WIPC in JavaScript" };
        let names = self.on.iter().filter_map(|place| match place {
            Place::Js => Some("JavaScript"),
            Place::RustWeb => Some("Rust in browsers"),
            Place::Native => Some("native"),
            Place::Commands => Some("commands"),
            Place::Inspector => Some("inspector"),
            Place::WipcJs => Some(wipc),
            Place::WipcNative if has(&[Place::WipcJs]) || has(&[Place::Native]) => None,
            Place::WipcNative => Some("WIPC natively"),
        });
        names.collect::<Vec<_>>().join(", ")
    }
}

/// Returns a number with a separator between thousands.
fn grouped(value: u64, separator: &str) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push_str(separator);
        }
        text.push(digit);
    }
    text
}

/// Returns a value with its unit, as the README shows it.
fn with_unit(value: u64, unit: &str) -> String {
    match (value, unit) {
        (1_000.., "ms") => format!("{} s", value as f64 / 1_000.0),
        (_, "ms") => format!("{value} ms"),
        (1_048_576.., "bytes") if value.is_multiple_of(1_048_576) => format!("{} MiB", value / 1_048_576),
        (1_024.., "bytes") if value.is_multiple_of(1_024) => format!("{} KiB", value / 1_024),
        (_, "bytes") => format!("{} bytes", grouped(value, " ")),
        (_, unit) if unit.starts_with('×') => format!("{value} {unit}"),
        _ => grouped(value, " "),
    }
}

/// Wraps a comment into lines of at most [`WIDTH`] characters.
fn comment(indent: &str, mark: &str, text: &str) -> String {
    let mut lines = String::new();
    let mut line = format!("{indent}{mark}");
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(lines, "{line}");
            line = format!("{indent}{mark}");
        }
        let _ = write!(line, " {word}");
    }
    format!("{lines}{line}\n").replace('\u{a0}', " ")
}

/// Replaces the lines of `text` between the line `begin` and the line `end` by `lines`.
fn spliced(text: &str, begin: &str, end: &str, lines: &str) -> Result<String> {
    let Some((before, rest)) = text.split_once(&format!("{begin}\n")) else { bail!("there must be a line `{begin}`") };
    let Some(position) = rest.find(end) else { bail!("there must be a line `{end}`") };
    let indent = rest.get(..position).and_then(|old| old.rsplit('\n').next()).unwrap_or_default();
    let after = rest.get(position..).unwrap_or_default();
    Ok(format!("{before}{begin}\n{lines}{indent}{after}"))
}

/// Returns the faults of the table, and the names of generated files that differ from the table.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let table = Table::read(workspace)?;
    let mut problems = table.problems(workspace);
    for (file, text) in table.files(workspace)? {
        if workspace.read(file).ok().as_ref() != Some(&text) {
            problems.push(format!("{file} must match {TABLE}: run `cargo xtask limits --write`"));
        }
    }
    Ok(problems)
}

/// Writes or compares the files. Returns `false` if the table has faults or a file differs from the table.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<bool> {
    let table = Table::read(workspace)?;
    if arguments.write {
        for (file, text) in table.files(workspace)? {
            if workspace.read(file).ok().as_ref() != Some(&text) {
                fs::write(workspace.path(file), text)?;
                println!("wrote {file}");
            }
        }
    }
    let problems = check(workspace)?;
    for problem in &problems {
        println!("{problem}");
    }
    println!("{} limits", table.limit.len());
    Ok(problems.is_empty())
}

#[cfg(test)]
mod tests;
