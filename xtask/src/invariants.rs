//! Rules that the compiler does not check: the core names nothing of a platform, files in src/ and crates/
//! have a maximum length, and the README has only images that registries can show.

use std::path::Path;

use anyhow::Result;

use crate::build::files_below;
use crate::lexer::{self, Kind, Piece};
use crate::workspace::Workspace;

/// The modules of the sans-IO core, each a folder or a file in src/.
const CORE: &[&str] = &["message", "validate", "connection", "codec", "limits", "profile"];

/// The paths that the core must not name.
const FORBIDDEN: &[&[&str]] =
    &[&["std", "io"], &["std", "thread"], &["Instant"], &["tokio"], &["web_sys"], &["js_sys"], &["wasm_bindgen"]];

const MAX_LINES: usize = 500;

/// Returns each breach as `file:line: breach and rule`.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let mut breaches = Vec::new();
    for module in CORE {
        let mut files = Vec::new();
        files_below(&workspace.path("src").join(module), &mut files)?;
        files_below(&workspace.path("src").join(format!("{module}.rs")), &mut files)?;
        files.sort();
        if files.is_empty() {
            breaches.push(format!("src/{module}: is not there, but CORE in xtask/src/invariants.rs has it"));
        }
        for file in files.iter().filter(|file| has_extension(file, &["rs"])) {
            let name = file.strip_prefix(&workspace.root)?.display();
            for (line, path) in forbidden_names(&std::fs::read_to_string(file)?) {
                breaches.push(format!("{name}:{line}: the core must not use IO, a clock or a platform, got `{path}`"));
            }
        }
    }
    let mut files = Vec::new();
    files_below(&workspace.path("src"), &mut files)?;
    files_below(&workspace.path("crates"), &mut files)?;
    files.sort();
    for file in files.iter().filter(|file| has_extension(file, &["rs", "js", "ts"])) {
        let name = file.strip_prefix(&workspace.root)?;
        if name.iter().any(|part| part == "tests") {
            continue;
        }
        let lines = std::fs::read_to_string(file)?.lines().count();
        if lines > MAX_LINES {
            let name = name.display();
            breaches.push(format!("{name}:{lines}: a file in src/ must have at most {MAX_LINES} lines"));
        }
    }
    let readme = std::fs::read_to_string(workspace.path("README.md"))?;
    breaches.extend(
        images(&readme).map(|line| format!("README.md:{line}: an image must have an https URL for registries")),
    );
    Ok(breaches)
}

/// Returns the lines with an image that is a file.
fn images(text: &str) -> impl Iterator<Item = usize> {
    let is_image = |line: &str| line.split("![").skip(1).any(|image| !image.contains("](https://"));
    text.lines().enumerate().filter(move |(_, line)| is_image(line)).map(|(index, _)| index + 1)
}

fn has_extension(file: &Path, extensions: &[&str]) -> bool {
    file.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| extensions.contains(&extension))
}

/// Returns the line and the path of each forbidden name in `source`. Comments and literals do not count.
fn forbidden_names(source: &str) -> Vec<(usize, String)> {
    let mut tokens = lexer::rust(source);
    tokens.retain(|token| token.kind == Kind::Code);
    let mut found = Vec::new();
    for (start, token) in tokens.iter().enumerate() {
        let rest = tokens.get(start..).unwrap_or_default();
        // The path in front of a name is not checked: any path that ends in a forbidden name is forbidden.
        for path in FORBIDDEN {
            if names(rest, path) {
                found.push((token.line, path.join("::")));
            }
        }
    }
    found
}

/// Returns whether `tokens` begin with `path`, in full or with its end in a group: `std::{fmt, io}`.
fn names(tokens: &[Piece<'_>], path: &[&str]) -> bool {
    let text = |index: usize| tokens.get(index).map(|token| token.text);
    let [first, second @ ..] = path else { return false };
    if text(0) != Some(first) {
        return false;
    }
    let [second] = second else { return true };
    if text(1) != Some("::") {
        return false;
    }
    if text(2) != Some("{") {
        return text(2) == Some(second);
    }
    let mut depth = 0;
    let mut previous = "";
    for token in tokens.get(2..).unwrap_or_default() {
        match token.text {
            "{" => depth += 1,
            "}" if depth == 1 => return false,
            "}" => depth -= 1,
            name if depth == 1 && name == *second && ["{", ","].contains(&previous) => return true,
            _ => {}
        }
        previous = token.text;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<(usize, String)> {
        forbidden_names(source)
    }

    #[test]
    fn an_image_that_is_a_file_is_found_with_its_line() {
        let text = "![a](https://host/a.svg)\n\n[![b](benches/b.svg)](c) text\n![d](../d.png)\n[e](f.svg)\n";
        assert_eq!(images(text).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn platform_names_are_found_with_their_line() {
        assert_eq!(found("use core::fmt;\nuse std::io::Read;\n"), [(2, "std::io".to_owned())]);
        assert_eq!(found("fn f(now: std::time::Instant) {}"), [(1, "Instant".to_owned())]);
        assert_eq!(found("\n\nlet x = js_sys::Date::now();"), [(3, "js_sys".to_owned())]);
    }

    #[test]
    fn grouped_imports_are_seen_through() {
        assert_eq!(found("use std::{fmt, io::{self, Read}};"), [(1, "std::io".to_owned())]);
        assert_eq!(found("use std::{\n    thread,\n};"), [(1, "std::thread".to_owned())]);
        assert!(found("use std::{fmt, collections::{io}};").is_empty());
        assert!(found("use std::fmt; struct io;").is_empty());
    }

    #[test]
    fn comments_and_literals_do_not_count() {
        assert!(found("//! No `std::io` here.\n/* tokio /* web_sys */ Instant */ fn f() {}").is_empty());
        assert!(found("const A: &str = \"std::io\"; const B: &str = r#\"tokio \" js_sys\"#;").is_empty());
        assert!(found("const C: char = '\"'; // tokio\nconst D: char = '\\''; /* tokio */").is_empty());
    }

    #[test]
    fn code_after_unusual_literals_is_read() {
        assert_eq!(found("let q = '\"'; tokio::spawn();"), [(1, "tokio".to_owned())]);
        assert_eq!(found("fn f<'a>(x: &'a str) -> Instant {}"), [(1, "Instant".to_owned())]);
        assert_eq!(found("let s = \"a\\\"b\";\ntokio::spawn()"), [(2, "tokio".to_owned())]);
    }

    #[test]
    fn longer_names_that_contain_a_forbidden_one_are_allowed() {
        assert!(found("struct InstantReply; let tokio_like = 1; mod stdio {}").is_empty());
    }
}
