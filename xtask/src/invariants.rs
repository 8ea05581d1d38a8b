//! Rules that the compiler does not check: the layers of the JavaScript, the length of files, and the images of the
//! README. Registries show an image only if its URL is https.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;

use crate::build::files_below;
use crate::inspector;
use crate::workspace::Workspace;

/// The folders with sources of the packages.
const SOURCES: &[&str] = &["src", "crates", "kaiak", "npm"];

const JAVASCRIPT: &str = "crates/portway-web/js";

/// The folders of the JavaScript, each with the folders that it may import. The modules of the API are in no folder.
/// These modules, and the modules in `entry`, may import everything.
const LAYERS: &[(&str, &[&str])] = &[
    ("driver", &["driver"]),
    ("transport", &["driver", "transport"]),
    ("session", &["driver", "transport", "session"]),
    ("rust", &["driver", "transport", "session", "rust"]),
    ("websocket", &["driver", "transport", "websocket"]),
    ("http", &["driver", "websocket", "http"]),
    ("wipc", &["driver", "wipc"]),
    ("tap", &["driver", "transport", "tap"]),
];

/// A module that every folder may import. The modules for Node import this module, so that they share the classes of
/// WIPC.
const SHARED_ENTRY: &str = "entry/wipc.js";

/// Maximum number of lines in a source file of a package. Rust files in a folder `tests` may be longer.
const MAX_LINES: usize = 500;

/// Returns each breach as `file:line: breach and rule`.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let mut breaches = Vec::new();
    let mut files = Vec::new();
    for folder in SOURCES {
        files_below(&workspace.path(folder), &mut files)?;
    }
    // The built page of the inspector is not a source.
    let page = workspace.path(inspector::EMBEDDED);
    files.retain(|file| !file.starts_with(&page));
    files.sort();
    let javascript = workspace.path(JAVASCRIPT);
    let mut layers = BTreeSet::new();
    for file in files.iter().filter(|file| has_extension(file, &["rs", "js", "ts"])) {
        let path = file.strip_prefix(&workspace.root)?;
        if path.iter().any(|part| part == "tests") && path.extension().is_some_and(|extension| extension == "rs") {
            continue;
        }
        let text = fs::read_to_string(file)?;
        let name = path.display();
        let lines = text.lines().count();
        if lines > MAX_LINES {
            breaches.push(format!("{name}:{lines}: a file of a package must have at most {MAX_LINES} lines"));
        }
        if let Ok(module) = file.strip_prefix(&javascript) {
            layers.extend(layer(module));
            let wrong = wrong_imports(module, &text);
            breaches.extend(wrong.into_iter().map(|(line, breach)| format!("{name}:{line}: {breach}")));
        }
    }
    for (folder, _) in LAYERS.iter().filter(|(folder, _)| !layers.contains(*folder)) {
        breaches.push(format!("{JAVASCRIPT}/{folder}: LAYERS in xtask/src/invariants.rs names this missing folder"));
    }
    let readme = fs::read_to_string(workspace.path("README.md"))?;
    breaches.extend(
        images(&readme).map(|line| format!("README.md:{line}: an image must have an https URL for registries")),
    );
    Ok(breaches)
}

/// Returns the folder of a module below [`JAVASCRIPT`], or `None` for a module of the API.
fn layer(module: &Path) -> Option<String> {
    let mut parts = module.components();
    let first = parts.next()?.as_os_str().to_string_lossy().into_owned();
    parts.next().map(|_| first)
}

/// Returns the line of each import that the layer of `module` must not have, and the rule that the import breaks.
fn wrong_imports(module: &Path, text: &str) -> Vec<(usize, String)> {
    let Some(own) = layer(module) else { return Vec::new() };
    let Some((_, allowed)) = LAYERS.iter().find(|(folder, _)| *folder == own) else { return Vec::new() };
    let is_allowed = |imported: &Path| {
        imported == Path::new(SHARED_ENTRY) || layer(imported).is_some_and(|layer| allowed.contains(&layer.as_str()))
    };
    let imports = text.lines().enumerate().filter_map(|(index, line)| Some((index + 1, import(line)?)));
    imports
        .map(|(line, path)| (line, resolve(module, path)))
        .filter(|(_, imported)| !is_allowed(imported))
        .map(|(line, imported)| {
            let rule = format!("{own}/ may import from {} only, got {}", allowed.join("/, ") + "/", imported.display());
            (line, rule)
        })
        .collect()
}

/// Returns the relative path of an `import` or an `export … from` that ends on this line.
fn import(line: &str) -> Option<&str> {
    let statement = line.trim_end().strip_suffix("\";")?;
    let (before, path) = statement.rsplit_once('"')?;
    let is_import = before.trim_end().ends_with("from") || before.trim() == "import";
    (is_import && path.starts_with('.')).then_some(path)
}

/// Returns the path of a module below [`JAVASCRIPT`].
fn resolve(module: &Path, import: &str) -> PathBuf {
    let mut path = module.parent().map(Path::to_path_buf).unwrap_or_default();
    for part in Path::new(import).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

/// Returns the numbers of the lines that have an image without an https URL.
fn images(text: &str) -> impl Iterator<Item = usize> {
    let is_image = |line: &str| line.split("![").skip(1).any(|image| !image.contains("](https://"));
    text.lines().enumerate().filter(move |(_, line)| is_image(line)).map(|(index, _)| index + 1)
}

fn has_extension(file: &Path, extensions: &[&str]) -> bool {
    file.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| extensions.contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of_wrong_imports(module: &str, text: &str) -> Vec<usize> {
        wrong_imports(Path::new(module), text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn an_image_that_is_a_file_is_found_with_its_line() {
        let text = "![a](https://host/a.svg)\n\n[![b](benches/b.svg)](c) text\n![d](../d.png)\n[e](f.svg)\n";
        assert_eq!(images(text).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn an_import_of_a_higher_layer_is_found_with_its_line() {
        let text = "import { a } from \"./a.js\";\nimport {\n  b,\n} from \"../session/b.js\";\nimport \"../c.js\";\n";
        assert_eq!(lines_of_wrong_imports("driver/x.js", text), [4, 5]);
        assert_eq!(lines_of_wrong_imports("session/x.js", text), [5]);
        assert!(lines_of_wrong_imports("connect.js", text).is_empty());
        assert!(lines_of_wrong_imports("entry/x.js", text).is_empty());
    }

    #[test]
    fn a_re_export_counts_as_an_import() {
        assert_eq!(lines_of_wrong_imports("driver/x.js", "export * from \"../transport/y.js\";"), [1]);
    }

    #[test]
    fn modules_in_deeper_folders_belong_to_their_layer() {
        let text = "import { A } from \"../../entry/wipc.js\";\nimport { b } from \"../../connect.js\";";
        assert_eq!(lines_of_wrong_imports("wipc/node/x.js", text), [2]);
    }

    #[test]
    fn comments_and_packages_do_not_count() {
        let text = "// from \"../session/b.js\"\nimport { x } from \"node:fs\";\nconst y = \"../session/b.js\";";
        assert!(lines_of_wrong_imports("driver/x.js", text).is_empty());
    }
}
