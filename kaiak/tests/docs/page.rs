//! The blocks of code of docs/kaiak.md.

use std::fs;
use std::path::{Path, PathBuf};

use crate::programs::repository;

/// The home folder in the texts of the page.
pub(crate) const HOME: &str = "/projects/you";

/// A block of code.
#[derive(Debug)]
pub(crate) struct Block {
    /// The language.
    pub(crate) language: String,
    /// The words after the language: the path of a file, or the kind of a message.
    pub(crate) label: String,
    pub(crate) text: String,
}

/// Returns the text of the page.
pub(crate) fn page() -> String {
    fs::read_to_string(repository().join("docs/kaiak.md")).unwrap()
}

/// Returns the blocks of the page that have a language.
pub(crate) fn blocks() -> Vec<Block> {
    let page = page();
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(heading) = line.strip_prefix("```") else { continue };
        let text: String = lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        let (language, label) = heading.split_once(' ').unwrap_or((heading, ""));
        if !language.is_empty() {
            blocks.push(Block { language: language.to_owned(), label: label.to_owned(), text });
        }
    }
    assert!(blocks.len() > 20, "the page has {} blocks", blocks.len());
    blocks
}

/// Writes the block whose label is `path` to the file `path` below `folder`. Returns the path of the file.
pub(crate) fn write_file(blocks: &[Block], path: &str, folder: &Path) -> PathBuf {
    let block = blocks.iter().find(|block| block.label == path).unwrap();
    let file = folder.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, &block.text).unwrap();
    file
}
