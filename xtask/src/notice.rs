//! The file NOTICE of the npm package: the third-party crates in the wasm, and their licences. npm-package.mjs adds the
//! npm packages that are bundled into the modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::environment::Environment;
use crate::process::capture;
use crate::toolchain::WASM;
use crate::workspace::Workspace;

/// The first paragraph of NOTICE.
const HEAD: &str = "Portway contains work of others: crates that are compiled into portway_bg.wasm, inline.js and mcp.js, and npm \
packages that are bundled into modules. If a work is available under several licences, Portway uses the MIT licence.\n";

/// A third-party crate that is linked into the wasm.
struct Crate {
    name: String,
    version: String,
    license: String,
    authors: Vec<String>,
    /// The texts of the licence files in the package of the crate.
    texts: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    authors: Vec<String>,
    /// `None` for the members of this workspace.
    source: Option<String>,
    manifest_path: PathBuf,
}

/// Returns the part of NOTICE about the wasm modules of the package. `folders` are the folders of the crates that are
/// compiled to wasm, and `rustc` is the output of `rustc --version`.
pub(crate) fn of_wasm(
    workspace: &Workspace,
    environment: &Environment,
    folders: &[&str],
    rustc: &str,
) -> Result<String> {
    let mut crates = BTreeMap::new();
    for folder in folders {
        add_crates_of(workspace, environment, folder, &mut crates)?;
    }
    Ok(notice_text(&crates.into_values().collect::<Vec<_>>(), rustc))
}

/// Adds the crates that are linked into the wasm of a crate, by name and version.
fn add_crates_of(
    workspace: &Workspace,
    environment: &Environment,
    krate: &str,
    crates: &mut BTreeMap<(String, String), Crate>,
) -> Result<()> {
    // If the crate used the standard library, NOTICE would also have to name the crates of this library.
    if !workspace.read(&format!("{krate}/src/lib.rs"))?.contains("#![no_std]") {
        bail!("{krate} must be `no_std`: NOTICE names `core`, `alloc` and `compiler_builtins` only");
    }
    let manifest = workspace.path(krate).join("Cargo.toml");
    let cargo = |words: &[&str]| -> Result<String> {
        let mut command = environment.command("cargo", &workspace.root)?;
        capture(command.args(words).arg("--locked").arg("--manifest-path").arg(&manifest))
    };
    // `cargo tree` lists the crates that are linked with the features of this build. `cargo metadata` lists their
    // folders.
    let tree = cargo(&["tree", "--target", WASM, "--edges", "normal,no-proc-macro", "--prefix", "none"])?;
    let metadata = cargo(&["metadata", "--format-version", "1", "--filter-platform", WASM])?;
    let metadata: Metadata = serde_json::from_str(&metadata).context("cargo metadata")?;
    let packages: BTreeMap<_, _> =
        metadata.packages.iter().map(|package| ((package.name.as_str(), package.version.as_str()), package)).collect();
    for (name, version) in linked_crates(&tree) {
        let Some(package) = packages.get(&(name, version)) else { bail!("cargo metadata has no {name} {version}") };
        if package.source.is_some() {
            crates.insert((name.to_owned(), version.to_owned()), read_crate(package)?);
        }
    }
    Ok(())
}

/// Returns the names and versions in the output of `cargo tree`, without duplicates.
fn linked_crates(tree: &str) -> BTreeSet<(&str, &str)> {
    let words = tree.lines().filter_map(|line| line.split_once(' '));
    words.filter_map(|(name, rest)| Some((name, rest.split(' ').next()?.strip_prefix('v')?))).collect()
}

fn read_crate(package: &Package) -> Result<Crate> {
    let Package { name, version, license, authors, manifest_path, .. } = package;
    let Some(license) = license.clone() else { bail!("{name} {version} must name a licence in its manifest") };
    let folder = manifest_path.parent().context("the path of a manifest must contain a folder")?;
    let mut texts = Vec::new();
    for file in texts_in(folder)? {
        texts.push(fs::read_to_string(&file).with_context(|| file.display().to_string())?);
    }
    Ok(Crate { name: name.clone(), version: version.clone(), license, authors: authors.clone(), texts })
}

/// Returns the licence files of a package. If one of the files has the MIT licence, omits the file with the Apache-2.0
/// licence, because the package may be used under either licence.
fn texts_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = BTreeMap::new();
    for entry in folder.read_dir().with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file()
            && ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"].iter().any(|word| name.starts_with(word))
        {
            files.insert(name, path);
        }
    }
    if files.keys().any(|name| name.contains("MIT")) {
        files.retain(|name, _| !name.contains("APACHE"));
    }
    Ok(files.into_values().collect())
}

fn notice_text(crates: &[Crate], rustc: &str) -> String {
    let mut text = HEAD.to_owned();
    text.push_str(&section(
        &format!("core, alloc and compiler_builtins, of {}", rustc.split(" (").next().unwrap_or(rustc)),
        "MIT OR Apache-2.0",
        "Copyright (c) The Rust Project Contributors. The text of either licence is in LICENSE-MIT and LICENSE-APACHE. Parts of\n\
         compiler_builtins come from LLVM (Apache-2.0 WITH LLVM-exception, which requires no notice in compiled programs).",
    ));
    for Crate { name, version, license, authors, texts } in crates {
        let body = if texts.is_empty() {
            let authors = authors.join(", ");
            format!(
                "By {authors}. The package contains no licence file; the licence texts are in LICENSE-MIT and LICENSE-APACHE."
            )
        } else {
            texts.iter().map(|text| text.trim()).collect::<Vec<_>>().join("\n\n")
        };
        text.push_str(&section(&format!("{name} {version}"), license, &body));
    }
    text
}

fn section(title: &str, license: &str, body: &str) -> String {
    format!("\n{}\n{title}: {license}\n\n{body}\n", "-".repeat(80))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_crate(texts: &[&str]) -> Crate {
        Crate {
            name: "slab".into(),
            version: "0.4.12".into(),
            license: "MIT".into(),
            authors: vec!["Ada".into(), "Bob".into()],
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        }
    }

    #[test]
    fn names_and_versions_are_parsed_from_a_tree_with_any_text_after_a_version() {
        let tree = "portway-npm v0.1.0 (/somewhere/npm)\nslab v0.4.12\nslab v0.4.12 (*)\ncfg-if v1.0.5\n\n";
        let found: Vec<_> = linked_crates(tree).into_iter().collect();
        assert_eq!(found, [("cfg-if", "1.0.5"), ("portway-npm", "0.1.0"), ("slab", "0.4.12")]);
    }

    #[test]
    fn each_crate_is_listed_with_its_version_its_licence_and_its_texts() {
        let notice = notice_text(&[a_crate(&["Copyright (c) Ada\n", "Unicode\n"])], "rustc 1.95.0 (abc 2026-04-14)");
        assert!(notice.contains("\nslab 0.4.12: MIT\n\nCopyright (c) Ada\n\nUnicode\n"), "{notice}");
        assert!(notice.contains("\ncore, alloc and compiler_builtins, of rustc 1.95.0: "), "{notice}");
    }

    #[test]
    fn a_crate_without_a_licence_file_is_listed_with_its_authors() {
        assert!(notice_text(&[a_crate(&[])], "rustc").contains("\nslab 0.4.12: MIT\n\nBy Ada, Bob. "));
    }

    #[test]
    fn a_licence_file_for_apache_is_omitted_beside_one_for_mit() -> Result<()> {
        let folder = std::env::temp_dir().join(format!("portway-notice-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        for name in ["LICENSE-APACHE", "LICENSE-MIT", "LICENSE-UNICODE", "README.md", "Cargo.toml"] {
            fs::write(folder.join(name), "")?;
        }
        let names = || -> Result<Vec<String>> {
            let files = texts_in(&folder)?;
            Ok(files.iter().filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned())).collect())
        };
        assert_eq!(names()?, ["LICENSE-MIT", "LICENSE-UNICODE"]);
        fs::remove_file(folder.join("LICENSE-MIT"))?;
        assert_eq!(names()?, ["LICENSE-APACHE", "LICENSE-UNICODE"]);
        fs::remove_dir_all(folder)?;
        Ok(())
    }
}
