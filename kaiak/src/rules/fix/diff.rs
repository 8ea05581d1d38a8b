//! Unified diffs that `git apply` accepts.

use std::fmt::Write;

use similar::{Algorithm, ChangeTag, capture_diff_slices, group_diff_ops};

/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// A file of a diff: its path and its content. The content of a file that does not exist is `None`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side<'a> {
    pub(super) path: &'a str,
    pub(super) content: Option<&'a [u8]>,
}

/// Returns the diff of one file. If the paths differ, the file is renamed, or copied if `is_copy`.
pub(super) fn unified(old: Side<'_>, new: Side<'_>, is_copy: bool) -> String {
    let mut diff = format!("diff --git {} {}\n", quoted("a/", old.path), quoted("b/", new.path));
    match (old.content, new.content) {
        (None, _) => diff.push_str("new file mode 100644\n"),
        (_, None) => diff.push_str("deleted file mode 100644\n"),
        _ if old.path != new.path => {
            let action = if is_copy { "copy" } else { "rename" };
            let _ = writeln!(diff, "{action} from {}\n{action} to {}", quoted("", old.path), quoted("", new.path));
        }
        _ => {}
    }
    let (before, after) = (old.content.unwrap_or_default(), new.content.unwrap_or_default());
    if before == after {
        return diff;
    }
    let (Some(before), Some(after)) = (text(before), text(after)) else {
        let _ = writeln!(diff, "Binary files {} and {} differ", quoted("a/", old.path), quoted("b/", new.path));
        return diff;
    };
    let (before, after) = (lines(before), lines(after));
    let name = |prefix, side: Side<'_>| match side.content {
        Some(_) => header(prefix, side.path),
        None => "/dev/null".to_owned(),
    };
    let _ = writeln!(diff, "--- {}\n+++ {}", name("a/", old), name("b/", new));
    let operations = capture_diff_slices(Algorithm::Myers, &before, &after);
    for group in group_diff_ops(operations, CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        let _ = writeln!(diff, "@@ -{} +{} @@", range(&old_range), range(&new_range));
        for change in group.iter().flat_map(|operation| operation.iter_changes(&before[..], &after[..])) {
            diff.push(match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            });
            let line: &str = change.value();
            diff.push_str(line);
            if !line.ends_with('\n') {
                diff.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    diff
}

/// Returns the content if it is text.
fn text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'))
}

/// Returns the lines with their ends. Only LF ends a line.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Returns the range of a hunk: the number of its first line from 1, and the number of its lines. An empty range has
/// the number of the line before it.
fn range(lines: &std::ops::Range<usize>) -> String {
    let start = if lines.is_empty() { lines.start } else { lines.start + 1 };
    if lines.len() == 1 { start.to_string() } else { format!("{start},{}", lines.len()) }
}

/// Returns a path for the line `---` or `+++`. A tab ends a path that contains a space.
fn header(prefix: &str, path: &str) -> String {
    let quoted = quoted(prefix, path);
    if quoted.contains(' ') && !quoted.starts_with('"') { quoted + "\t" } else { quoted }
}

/// Returns a path in the form of git: a path with quotes, backslashes or control characters is quoted.
fn quoted(prefix: &str, path: &str) -> String {
    if !path.chars().any(|character| character.is_control() || matches!(character, '"' | '\\')) {
        return format!("{prefix}{path}");
    }
    let mut quoted = format!("\"{prefix}");
    for byte in path.bytes() {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            0x20..=0x7e => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted
}
