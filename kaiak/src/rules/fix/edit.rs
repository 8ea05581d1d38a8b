//! Changes the text of one file by the fixes of one rule.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use regex::Regex;

use super::template::{Template, TooLarge};
use super::{Action, FixOptions, Move, Risk};
use crate::limits::{MAX_FILE_BYTES, MAX_PATH_CHARACTERS};
use crate::rules::finder::{Place, TooSlow, places_of_rule};
use crate::rules::java_imports::{Import, ImportCache};
use crate::rules::java_names::{Fate, fate};
use crate::rules::ruleset::Rule;
use crate::workspace::RelativePath;

/// Maximum bytes of a text after a fix. The size is checked while the text grows.
const MAX_BYTES: usize = MAX_FILE_BYTES as usize;

/// The result of the fixes of one rule in one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fixed {
    pub(super) text: String,
    pub(super) path: RelativePath,
    /// The greatest risk of the fixes that have changed something.
    pub(super) risk: Option<Risk>,
    /// The lines that have changed, by their numbers before the fixes.
    pub(super) changed: BTreeSet<u32>,
    /// The lines that the fixes have not changed, with the reasons. A place without a line has no number.
    pub(super) left: BTreeMap<Option<u32>, String>,
}

/// The reason for which the fixes of a rule in one file were not computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditError {
    /// The text would have more than [`MAX_BYTES`].
    TooLarge,
    /// A search takes too long.
    TooSlow,
}

impl From<TooLarge> for EditError {
    fn from(_: TooLarge) -> Self {
        Self::TooLarge
    }
}

impl From<TooSlow> for EditError {
    fn from(_: TooSlow) -> Self {
        Self::TooSlow
    }
}

/// A rule whose places are fixed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) rule: &'a Rule,
    /// The searches whose places are fixed.
    pub(super) searches: &'a [usize],
    /// The only line whose places are fixed, or `None` for all lines.
    pub(super) line: Option<u32>,
    pub(super) options: FixOptions,
    pub(super) cache: &'a ImportCache,
}

impl Subject<'_> {
    /// Returns the places of the rule. With `line`, places on other lines may be omitted.
    fn places(self, path: &RelativePath, text: &str, line: Option<u32>) -> Result<Vec<Place>, TooSlow> {
        places_of_rule(self.rule, self.searches, path, text, line, self.cache)
    }
}

/// Fixes the places of a rule in `text`. If the fixes would change their own result once more, nothing is changed.
///
/// # Errors
/// If the text would be too large, or a search takes too long.
pub(super) fn fix(subject: Subject<'_>, path: &RelativePath, text: &str) -> Result<Fixed, EditError> {
    let Subject { rule, line, .. } = subject;
    let once = fix_once(subject, path, text)?;
    if once.risk.is_none() {
        return Ok(once);
    }
    // Deleted lines move the lines after them, so a second run on the same line may find another place.
    let deletes = rule.fixes.iter().any(|fix| matches!(fix.action, Action::DeleteLines));
    if deletes && line.is_some() {
        return Ok(once);
    }
    let twice = fix_once(subject, &once.path, &once.text);
    if twice.is_ok_and(|twice| twice.text == once.text && twice.path == once.path) {
        return Ok(once);
    }
    let reason = "the fix would change its own result again".to_owned();
    let lines = once.left.keys().copied().chain(subject.places(path, text, line)?.into_iter().map(|place| place.line));
    let lines = lines.filter(|one| line.is_none() || *one == line);
    let left = lines.map(|line| (line, reason.clone())).collect();
    Ok(Fixed { left, ..Fixed::unchanged(path, text) })
}

impl Fixed {
    fn unchanged(path: &RelativePath, text: &str) -> Self {
        let (changed, left) = (BTreeSet::new(), BTreeMap::new());
        Self { text: text.to_owned(), path: path.clone(), risk: None, changed, left }
    }
}

fn fix_once(subject: Subject<'_>, path: &RelativePath, text: &str) -> Result<Fixed, EditError> {
    let Subject { rule, line, options, cache, .. } = subject;
    let is_wanted = |place: &Place| line.is_none() || place.line == line || place.line.is_none();
    let mut places: Vec<_> = subject.places(path, text, line)?.into_iter().filter(is_wanted).collect();
    let mut fixed = Fixed::unchanged(path, text);
    if places.is_empty() {
        return Ok(fixed);
    }
    // The lines of each place. A place without a line has none.
    let found: Vec<(Option<u32>, BTreeSet<u32>)> =
        places.iter().map(|place| (place.line, lines_of(text, place))).collect();
    let mut numbers: BTreeSet<u32> = found.iter().flat_map(|(_, lines)| lines).copied().collect();
    let mut reasons: BTreeMap<u32, String> = BTreeMap::new();
    let (mut is_renamed, mut is_name_too_long) = (false, false);
    for (index, fix) in rule.fixes.iter().enumerate() {
        if index > 0 {
            // Earlier fixes have moved the places within their lines.
            places = subject.places(path, &fixed.text, None)?;
            places.retain(|place| place.line.is_some_and(|line| numbers.contains(&line)));
        }
        let edits = match &fix.action {
            Action::RenameImport(moves) => {
                rename_imports(&cache.imports(&fixed.text), &places, moves, options, &mut reasons)
            }
            Action::ReplaceInMatches { text, with } => replace_in_matches(&fixed.text, &places, text, with),
            Action::ReplaceInLines { pattern, with } => replace_in_lines(&fixed.text, &numbers, pattern, with),
            // The lines after a deleted line get other numbers, so no later fix may use these numbers.
            Action::DeleteLines => delete_lines(&fixed.text, &std::mem::take(&mut numbers)),
            Action::RenameFile { pattern, with } => {
                let name = with.replace(pattern, fixed.path.file_name(), Some(1), MAX_PATH_CHARACTERS);
                is_name_too_long |= name.is_err();
                let renamed = name.ok().flatten().and_then(|name| fixed.path.sibling(&name));
                if let Some(renamed) = renamed.filter(|renamed| *renamed != fixed.path) {
                    (fixed.path, is_renamed) = (renamed, true);
                    fixed.risk = fixed.risk.max(Some(fix.risk));
                }
                continue;
            }
        }?;
        if !edits.is_empty() {
            fixed.risk = fixed.risk.max(Some(fix.risk));
            fixed.changed.extend(edits.iter().map(|edit| edit.line));
            fixed.text = apply(&fixed.text, edits);
            if fixed.text.len() > MAX_BYTES {
                return Err(EditError::TooLarge);
            }
        }
    }
    for (line, lines) in found {
        if is_renamed || !lines.is_disjoint(&fixed.changed) {
            continue;
        }
        let default = if is_name_too_long {
            "the new name of the file is too long"
        } else {
            "the fix of the rule does not apply to this text"
        };
        let reason = line.and_then(|line| reasons.remove(&line));
        fixed.left.entry(line).or_insert_with(|| reason.unwrap_or_else(|| default.to_owned()));
    }
    Ok(fixed)
}

/// Returns the numbers of the lines of a place.
fn lines_of(text: &str, place: &Place) -> BTreeSet<u32> {
    let Some(first) = place.line else { return BTreeSet::new() };
    let found = text.get(place.range.clone()).unwrap_or_default();
    // A line end at the end of the place does not add the line after it.
    let ends = found.trim_end_matches(['\n', '\r']).matches('\n').count();
    (first..=first.saturating_add(u32::try_from(ends).unwrap_or(u32::MAX))).collect()
}

/// A replacement of a range of the text, which begins on `line`.
struct Edit {
    line: u32,
    range: Range<usize>,
    with: String,
}

/// Edits whose replacements have at most [`MAX_BYTES`] together.
#[derive(Default)]
struct Edits {
    list: Vec<Edit>,
    bytes: usize,
}

impl Edits {
    fn push(&mut self, edit: Edit) -> Result<(), TooLarge> {
        self.bytes += edit.with.len();
        if self.bytes > MAX_BYTES {
            return Err(TooLarge);
        }
        self.list.push(edit);
        Ok(())
    }

    /// Returns the bytes that a further replacement may have.
    const fn rest(&self) -> usize {
        MAX_BYTES - self.bytes
    }
}

/// Applies edits. An edit that overlaps an earlier edit is ignored.
fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.range.start);
    let mut changed = String::with_capacity(text.len());
    let mut end = 0;
    for edit in edits {
        let Some(between) = text.get(end..edit.range.start) else { continue };
        changed.push_str(between);
        changed.push_str(&edit.with);
        end = edit.range.end;
    }
    changed.push_str(text.get(end..).unwrap_or_default());
    changed
}

fn rename_imports(
    imports: &[Import],
    places: &[Place],
    moves: &[Move],
    options: FixOptions,
    reasons: &mut BTreeMap<u32, String>,
) -> Result<Vec<Edit>, TooLarge> {
    let starts: BTreeMap<usize, u32> =
        places.iter().filter_map(|place| Some((place.range.start, place.line?))).collect();
    let mut edits = Edits::default();
    for import in imports {
        let Some(line) = starts.get(&import.start()) else { continue };
        match new_name(import, moves, options) {
            Ok((count, to)) => {
                let last = count.checked_sub(1).and_then(|last| import.parts.get(last));
                let Some(last) = last else { continue };
                edits.push(Edit { line: *line, range: import.start()..last.end, with: to })?;
            }
            Err(reason) => {
                reasons.insert(*line, reason);
            }
        }
    }
    Ok(edits.list)
}

/// Returns the number of parts of an import that are replaced, and their new name. An error is the reason for which the
/// import stays.
fn new_name(import: &Import, moves: &[Move], options: FixOptions) -> Result<(usize, String), String> {
    let (name, written) = (&*import.name, import.full_name());
    let is_package = import.is_wildcard && !import.is_static;
    let mixed = || format!("the wildcard import {written} stays, since some of its classes do not move");
    let best = moves.iter().filter(|one| rest(name, &one.from).is_some()).max_by_key(|one| one.from.len());
    let Some(best) = best else {
        let is_above = |one: &Move| is_package && rest(&one.from, name).is_some();
        return Err(if moves.iter().any(is_above) {
            mixed()
        } else {
            format!("the import {written} stays, since the table has no new name for it")
        });
    };
    let below = rest(name, &best.from).unwrap_or_default();
    let first = below.split('.').next().unwrap_or_default();
    let is_or_is_below = |listed: &String| rest(below, listed).is_some() || rest(name, listed).is_some();
    if !best.only.is_empty() && below.is_empty() && is_package && !options.mixed_wildcards {
        return Err(mixed());
    }
    let is_moved = best.only.is_empty() || below.is_empty() || best.only.iter().any(|only| only == first);
    if !is_moved || best.except.iter().any(is_or_is_below) {
        return Err(format!("the import {written} stays, since its class does not move"));
    }
    let leaves_javax = rest(name, "javax").is_some() && rest(&best.to, "javax").is_none();
    match fate(name, is_package) {
        Fate::Mixed if leaves_javax && !options.mixed_wildcards => return Err(mixed()),
        Fate::Stays if leaves_javax && !(is_package && options.mixed_wildcards) => {
            return Err(format!("the import {written} stays, since its class belongs to Java SE or has not moved"));
        }
        _ => {}
    }
    Ok((best.from.split('.').count(), best.to.clone()))
}

/// Returns the part of `name` after `prefix` and a dot, or an empty text if both are equal. Returns `None` if `name` is
/// neither `prefix` nor below it.
fn rest<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let rest = name.strip_prefix(prefix)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

fn replace_in_matches(text: &str, places: &[Place], from: &str, with: &str) -> Result<Vec<Edit>, TooLarge> {
    let mut edits = Edits::default();
    for place in places {
        let found = text.get(place.range.clone()).unwrap_or_default();
        let count = found.matches(from).count();
        let Some(line) = place.line.filter(|_| count > 0) else { continue };
        if count.saturating_mul(with.len()) > edits.rest() {
            return Err(TooLarge);
        }
        edits.push(Edit { line, range: place.range.clone(), with: found.replace(from, with) })?;
    }
    Ok(edits.list)
}

fn replace_in_lines(
    text: &str,
    numbers: &BTreeSet<u32>,
    pattern: &Regex,
    with: &Template,
) -> Result<Vec<Edit>, TooLarge> {
    let mut edits = Edits::default();
    for (line, range) in lines(text) {
        if !numbers.contains(&line) {
            continue;
        }
        let content = text.get(range.clone()).unwrap_or_default().trim_end_matches(['\n', '\r']);
        let replaced = with.replace(pattern, content, None, edits.rest())?;
        if let Some(with) = replaced.filter(|replaced| replaced != content) {
            edits.push(Edit { line, range: range.start..range.start + content.len(), with })?;
        }
    }
    Ok(edits.list)
}

/// Deletes lines with their line ends. If the last line of the text has no line end and is deleted, the last kept line
/// loses its line end. So the text still has no line end at its end.
fn delete_lines(text: &str, numbers: &BTreeSet<u32>) -> Result<Vec<Edit>, TooLarge> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut kept_end = None;
    for (line, range) in lines(text) {
        if !numbers.contains(&line) {
            let content = text.get(range.clone()).unwrap_or_default();
            kept_end = Some(range.start + content.trim_end_matches(['\n', '\r']).len());
            continue;
        }
        let has_end = text.get(range.clone()).is_some_and(|content| content.ends_with('\n'));
        edits.push(Edit { line, range, with: String::new() });
        if !has_end && let Some(end) = kept_end {
            let first = edits.iter().position(|edit| edit.range.start >= end).unwrap_or(0);
            if let Some(edit) = edits.get_mut(first) {
                edit.range.start = end;
            }
        }
    }
    Ok(edits)
}

/// Returns the number of each line, from 1, and its range with its end. A byte order mark is not a part of the first
/// line.
fn lines(text: &str) -> impl Iterator<Item = (u32, Range<usize>)> {
    let without_mark = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut start = text.len() - without_mark.len();
    without_mark.split_inclusive('\n').zip(1..).map(move |(line, number)| {
        let range = start..start + line.len();
        start = range.end;
        (number, range)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::java_imports::imports;

    fn import(text: &str) -> Import {
        imports(text).remove(0)
    }

    fn one(from: &str, to: &str, only: &[&str], except: &[&str]) -> Move {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Move { from: from.to_owned(), to: to.to_owned(), only: owned(only), except: owned(except) }
    }

    #[test]
    fn the_longest_name_of_a_table_applies() {
        let moves = [one("a", "x", &[], &[]), one("a.b", "y.z", &[], &[]), one("a.b.C", "w.C", &[], &[])];
        for (text, expected) in [
            ("import a.b.D;", Ok((2, "y.z"))),
            ("import a.b.C.D;", Ok((3, "w.C"))),
            ("import a.*;", Ok((1, "x"))),
            ("import static a.bb.*;", Ok((1, "x"))),
        ] {
            let found = new_name(&import(text), &moves, FixOptions::default());
            assert_eq!(found, expected.map(|(count, to): (usize, &str)| (count, to.to_owned())), "{text}");
        }
        assert!(new_name(&import("import ab.C;"), &moves, FixOptions::default()).is_err());
    }

    #[test]
    fn a_wildcard_of_classes_of_which_only_some_move_stays() {
        let moves = [one("a", "x", &["B"], &[]), one("c.d", "y", &[], &["e"])];
        let moved =
            |text: &str, mixed_wildcards| new_name(&import(text), &moves, FixOptions { mixed_wildcards }).is_ok();
        for (text, default, with_mixed) in [
            ("import a.*;", false, true),
            ("import a.B;", true, true),
            ("import a.B.*;", true, true),
            ("import a.C;", false, false),
            ("import c.*;", false, false),
            ("import c.d.*;", true, true),
            ("import c.d.e.F;", false, false),
        ] {
            assert_eq!((moved(text, false), moved(text, true)), (default, with_mixed), "{text}");
        }
    }

    #[test]
    fn deleted_lines_leave_the_end_of_the_file_as_it_was() {
        let delete = |text: &str, numbers: &[u32]| {
            apply(text, delete_lines(text, &numbers.iter().copied().collect()).unwrap_or_default())
        };
        assert_eq!(delete("a\r\nb\r\nc", &[2]), "a\r\nc");
        assert_eq!(delete("a\r\nb\r\nc", &[3]), "a\r\nb");
        assert_eq!(delete("a\nb\nc", &[2, 3]), "a");
        assert_eq!(delete("a\nb\nc\n", &[2, 3]), "a\n");
        assert_eq!(delete("a\nb", &[1, 2]), "");
        assert_eq!(delete("\u{feff}a\r\nb", &[1]), "\u{feff}b");
        assert_eq!(delete("\u{feff}a\nb", &[2]), "\u{feff}a");
        assert_eq!(delete("\u{feff}a", &[1]), "\u{feff}");
    }
}
