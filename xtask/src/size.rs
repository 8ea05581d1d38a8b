//! `cargo xtask size`: compares the size of a page's downloads with the budget in wasm-pack.toml.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::build;
use crate::process::capture;
use crate::setup::Setup;
use crate::workspace::Addition;

#[derive(Deserialize)]
struct Measured {
    raw: u64,
    gzip: u64,
    brotli: u64,
}

/// The sizes of the files that wasm-pack.toml lists, and their budget.
pub(crate) struct Sizes {
    files: Vec<(String, Measured)>,
    budget: u64,
    /// The additional modules of pages, each with the gzipped bytes that it adds.
    additions: Vec<(Addition, u64)>,
}

impl Sizes {
    pub(crate) fn measure(setup: &Setup) -> Result<Self> {
        build::run(setup)?;
        let workspace = &setup.workspace;
        let size = workspace.npm_config()?.size;
        let mut command = setup.node()?.command("node", &workspace.path("pkg"))?;
        command.arg(workspace.path("xtask/js/sizes.mjs")).args(&size.files);
        for Addition { file, to, .. } in &size.addition {
            command.arg(to).arg(format!("{to}+{file}"));
        }
        let mut measured: Vec<Measured> = serde_json::from_str(&capture(&mut command)?).context("sizes.mjs")?;
        let added = measured.split_off(size.files.len());
        let added = added.chunks(2).filter_map(|pair| match pair {
            [alone, both] => Some(both.gzip.saturating_sub(alone.gzip)),
            _ => None,
        });
        Ok(Self {
            files: size.files.into_iter().zip(measured).collect(),
            budget: size.gzip_budget,
            additions: size.addition.into_iter().zip(added).collect(),
        })
    }

    /// Returns the number of checks in [`problems`](Self::problems): the package, the README, and each addition.
    pub(crate) fn checks(&self) -> u64 {
        2 + self.additions.len() as u64
    }

    fn sum(&self, part: fn(&Measured) -> u64) -> u64 {
        self.files.iter().map(|(_, measured)| part(measured)).sum()
    }

    /// Returns a text for each failed check. A check fails if the package or an addition exceeds its budget, or if the
    /// README names a wrong size.
    pub(crate) fn problems(&self, readme: &str) -> Vec<String> {
        let gzip = self.sum(|file| file.gzip);
        let mut problems = Vec::new();
        if gzip > self.budget {
            problems.push(format!("the package must be at most {} bytes of gzip, got {gzip}", self.budget));
        }
        for (Addition { file, to, gzip_budget }, added) in &self.additions {
            if added > gzip_budget {
                problems.push(format!("{file} must add at most {gzip_budget} bytes of gzip to {to}, got {added}"));
            }
        }
        // The size differs slightly between compilers, so the figure in the README may differ by up to 0.25 KiB.
        let kib = gzip as f64 / 1024.0;
        if !figures(readme).any(|figure| (figure - kib).abs() <= 0.25) {
            problems.push(format!("README.md must name the size of the package, {kib:.1} KiB"));
        }
        problems
    }
}

/// Returns the numbers before the unit KiB in a text.
fn figures(text: &str) -> impl Iterator<Item = f64> {
    text.split(" KiB").filter_map(|before| before.rsplit(' ').next()).filter_map(|word| word.parse().ok())
}

pub(crate) fn run(setup: &Setup) -> Result<bool> {
    let sizes = Sizes::measure(setup)?;
    println!("{:<18} {:>8} {:>8} {:>8}", "file", "raw", "gzip -9", "brotli");
    for (file, Measured { raw, gzip, brotli }) in &sizes.files {
        println!("{file:<18} {raw:>8} {gzip:>8} {brotli:>8}");
    }
    let gzip = sizes.sum(|file| file.gzip);
    let (raw, brotli) = (sizes.sum(|file| file.raw), sizes.sum(|file| file.brotli));
    println!("{:<18} {raw:>8} {gzip:>8} {brotli:>8}", "together");
    for (Addition { file, to, gzip_budget }, added) in &sizes.additions {
        println!("{file} adds {added} bytes of gzip to {to}; its budget is {gzip_budget}");
    }
    let problems = sizes.problems(&setup.workspace.readme()?);
    for problem in &problems {
        println!("{problem}");
    }
    if problems.is_empty() {
        println!("{gzip} bytes of gzip, within the budget of {}", sizes.budget);
    }
    Ok(problems.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(gzip: u64) -> Sizes {
        Sizes { files: vec![("a".into(), Measured { raw: 0, gzip, brotli: 0 })], budget: 16_384, additions: Vec::new() }
    }

    #[test]
    fn an_addition_above_its_budget_is_a_problem() {
        let addition = || Addition { file: "b".into(), to: "a".into(), gzip_budget: 100 };
        for (added, problems) in [(100, 0), (101, 1)] {
            let sizes = Sizes { additions: vec![(addition(), added)], ..sizes(16_384) };
            assert_eq!(sizes.problems("It is 16.0 KiB.").len(), problems, "{added}");
        }
    }

    #[test]
    fn a_package_above_its_budget_is_a_problem() {
        assert_eq!(sizes(16_385).problems("It is 16.0 KiB.").len(), 1);
        assert_eq!(sizes(16_384).problems("It is 16.0 KiB.").len(), 0);
    }

    #[test]
    fn a_readme_with_a_wrong_figure_is_a_problem() {
        for (readme, problems) in [("It is 15.4 KiB.", 0), ("It is 15.9 KiB, or 2 KiB.", 1), ("It is small.", 1)] {
            assert_eq!(sizes(15_755).problems(readme).len(), problems, "{readme}");
        }
    }
}
