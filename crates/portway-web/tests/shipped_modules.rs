//! Checks of the JavaScript modules that are shipped with the wasm of a program in Rust. wasm-bindgen copies only the
//! files that `extern` blocks name. If a module imports a file that no block names, the page does not load. The page
//! also does not load if a module imports a name that another module does not export. A bundler reports such a name in
//! the npm package, but the package does not contain all modules.
#![cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the files with this extension below a folder of this crate, and their text.
fn files(folder: &Path, extension: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|other| other == extension) {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

/// Returns the names of JavaScript files that are in double quotes, and that begin with one of `beginnings`.
fn quoted<'a>(text: &'a str, beginnings: &'a [&str]) -> impl Iterator<Item = &'a str> {
    text.split('"').filter(|part| part.ends_with(".js") && beginnings.iter().any(|start| part.starts_with(start)))
}

#[test]
fn extern_blocks_name_every_module_that_a_shipped_module_imports() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rust = files(&root.join("src"), "rs");
    let named: BTreeSet<PathBuf> = rust
        .iter()
        .flat_map(|(_, text)| quoted(text, &["/js/"]))
        .map(|path| root.join(path.trim_start_matches('/')).canonicalize().unwrap())
        .collect();
    assert!(named.len() > 10, "{named:?}");
    for path in &named {
        let text = fs::read_to_string(path).unwrap();
        // Comments import types from files of declarations, which are not modules. So comments are skipped.
        let is_code = |line: &&str| !["*", "/*", "//"].iter().any(|start| line.trim_start().starts_with(start));
        for import in text.lines().filter(is_code).flat_map(|line| quoted(line, &["./", "../"])) {
            let imported = path.parent().unwrap().join(import).canonicalize().unwrap();
            assert!(
                named.contains(&imported),
                "{} imports {import}, which src/js_modules.rs does not name",
                path.display()
            );
        }
    }
}

/// Returns the names in each `import { a, b as c } from "…"`, and the module that they are imported from.
fn imports(text: &str) -> impl Iterator<Item = (Vec<&str>, &str)> {
    names_from(text, "import {")
}

/// Returns the names in each statement that begins with `statement`, and the module that they are imported from.
fn names_from<'t>(text: &'t str, statement: &'t str) -> impl Iterator<Item = (Vec<&'t str>, &'t str)> {
    text.split(statement).skip(1).filter_map(|rest| {
        let (names, rest) = rest.split_once('}')?;
        let from = rest.trim_start().strip_prefix("from \"")?.split('"').next()?;
        let names = names.split(',').filter_map(|name| name.split_whitespace().next()).collect();
        Some((names, from))
    })
}

#[test]
fn each_module_exports_the_names_that_other_modules_import_from_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut checked = 0;
    for (path, text) in files(&root.join("js"), "js") {
        // A module must export every name that another module imports or re-exports from it.
        let all = imports(&text).chain(names_from(&text, "export {"));
        for (names, from) in all.filter(|(_, from)| from.starts_with('.')) {
            let other = fs::read_to_string(path.parent().unwrap().join(from)).unwrap();
            for name in names {
                let exports = ["function", "async function", "class", "const", "let"];
                let is_there = exports.iter().any(|kind| {
                    other.match_indices(&format!("export {kind} {name}")).any(|(at, found)| {
                        let after = other.as_bytes().get(at + found.len());
                        after.is_none_or(|byte| !byte.is_ascii_alphanumeric())
                    })
                }) || other.split("export {").skip(1).any(|rest| {
                    let list = rest.split('}').next().unwrap_or_default();
                    // The last word is the exported name, as in `A as B`.
                    list.split(',').any(|item| item.split_whitespace().next_back() == Some(name))
                });
                assert!(is_there, "{} imports {name} of {from}, which does not export it", path.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked}");
}
