//! Finds the places of rules in the files of a workspace.

mod incident;
mod matcher;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub use self::incident::{Incident, Severity};
pub(crate) use self::matcher::{Matcher, TooSlow, search_places};
use super::java_imports::ImportCache;
use super::ruleset::{Rule, RuleSet};
use crate::workspace::{ErrorKind, RelativePath, Workspace, WorkspaceError};

/// Maximum number of threads that search files.
const MAX_THREADS: usize = 8;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The bytes that a rule has found. The range is empty if the rule has found the file by its path.
    pub(crate) range: Range<usize>,
    /// The number of the first line, from 1, or `None` if the rule has found the file by its path.
    pub(crate) line: Option<u32>,
}

/// A search of a rule, by the index of the rule and the index of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SearchId {
    pub(crate) rule: usize,
    pub(crate) search: usize,
}

/// The places that the searches of all rules have found in one file.
pub(crate) type Hits = Vec<(SearchId, Vec<Place>)>;

/// Places with their files and with the texts of their lines.
type PlacesInFiles = Vec<(RelativePath, Place, String)>;

/// The result of [`find`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Findings {
    /// The incidents in the order of the rules, then of the files, then of the lines.
    pub incidents: Vec<Incident>,
    /// The number of files that the patterns of the workspace select.
    pub files: usize,
    /// Files and folders that were not searched, or of which only the path was searched.
    pub problems: Vec<WorkspaceError>,
    /// The number of binary files, of which only the paths were searched.
    pub binary_files: usize,
}

/// Finds the incidents of all rules in the files that the patterns of the workspace select. A rule has one incident for
/// each line and message. If a file is binary or is not UTF-8, only its path is searched. This function blocks, and
/// uses several threads.
///
/// # Errors
/// If the root of the workspace cannot be read.
pub fn find(rules: &RuleSet, workspace: &Workspace) -> Result<Findings, WorkspaceError> {
    let (mut problems, mut binary_files) = (Vec::new(), 0);
    let files = workspace.files(&mut problems)?;
    let scans = scan_files(rules, workspace, &files, |path, text, hits| {
        let line_of = |place: &Place| text.map_or("", |text| line_at(text, place.range.start)).to_owned();
        let described = hits.into_iter().map(|(id, places)| {
            // The messages of most rules have no variables.
            let has_variables = rules.rule(id.rule).is_some_and(|rule| !rule.variables.is_empty());
            let places = places.into_iter().map(|place| {
                let line = if has_variables { line_of(&place) } else { String::new() };
                (place, line)
            });
            (id, places.collect::<Vec<_>>())
        });
        Some((path.clone(), described.collect::<Vec<_>>()))
    });
    // The places of each rule by its searches, with the texts of their lines.
    let mut found: Vec<BTreeMap<usize, PlacesInFiles>> = Vec::new();
    found.resize_with(rules.rules().len(), BTreeMap::new);
    for scan in scans {
        match scan {
            Ok((path, hits)) => {
                for (id, places) in hits {
                    let Some(searches) = found.get_mut(id.rule) else { continue };
                    let places = places.into_iter().map(|(place, line)| (path.clone(), place, line));
                    searches.entry(id.search).or_default().extend(places);
                }
            }
            Err(problem) if problem.kind() == ErrorKind::Binary => binary_files += 1,
            Err(problem) => problems.push(problem),
        }
    }
    let mut incidents = Vec::new();
    let mut counts = BTreeMap::new();
    for (rule, mut searches) in rules.rules().zip(found) {
        let has_places = |index| searches.contains_key(&index);
        if !rule.condition.is_true(&has_places) {
            continue;
        }
        let reported: BTreeSet<_> = rule.condition.reported(&has_places).into_iter().collect();
        let mut places: Vec<_> = reported.iter().filter_map(|index| searches.remove(index)).flatten().collect();
        places.sort_by(|(path, place, _), (other, second, _)| {
            (path, place.range.start, place.range.end).cmp(&(other, second.range.start, second.range.end))
        });
        places.dedup_by(|(path, place, _), (other, second, _)| path == other && place == second);
        let mut known = BTreeSet::new();
        for (path, place, line) in places {
            let mut incident = Incident::new(rule, workspace.uri(&path), path, place.line, &line);
            // Several matches on one line are one incident, as in the reports of analyzer-lsp.
            if known.insert((incident.path.clone(), incident.line_number, incident.message.clone())) {
                let count: &mut usize = counts.entry(rule.id().to_owned()).or_default();
                *count += 1;
                incident.set_number(*count);
                incidents.push(incident);
            }
        }
    }
    Ok(Findings { incidents, files: files.len(), problems, binary_files })
}

/// Scans the files on several threads. `collect` gets the path, the text (if it was read) and the hits of each file
/// with hits. Returns the results of `collect` in the order of `files`. A file whose text cannot be read has an error,
/// and also a result if its path has hits.
pub(crate) fn scan_files<T: Send>(
    rules: &RuleSet,
    workspace: &Workspace,
    files: &[RelativePath],
    collect: impl Fn(&RelativePath, Option<&str>, Hits) -> Option<T> + Sync,
) -> Vec<Result<T, WorkspaceError>> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(files.len().max(1));
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut own = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = files.get(index) else { break };
                    let scanned = scan_file(rules, workspace, path).unwrap_or_else(Scanned::failed);
                    own.extend(scanned.problem.map(|problem| (index, Err(problem))));
                    if !scanned.hits.is_empty() {
                        let collected = collect(path, scanned.text.as_deref(), scanned.hits);
                        own.extend(collected.map(|result| (index, Ok(result))));
                    }
                }
                results.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own);
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The result of the searches in one file.
#[derive(Default)]
struct Scanned {
    /// The text, if a search needs it and it can be read.
    text: Option<String>,
    hits: Hits,
    /// The reason why the text was not searched.
    problem: Option<WorkspaceError>,
}

impl Scanned {
    fn failed(problem: WorkspaceError) -> Self {
        Self { problem: Some(problem), ..Self::default() }
    }
}

/// Runs all searches on a file. If the text cannot be read, only the path is searched.
fn scan_file(rules: &RuleSet, workspace: &Workspace, path: &RelativePath) -> Result<Scanned, WorkspaceError> {
    let matcher = rules.matcher();
    let interest = matcher.interest(rules, path);
    let (text, problem) = match interest.needs_text().then(|| workspace.read_text(path)) {
        None => (None, None),
        Some(Ok(text)) => (Some(text), None),
        // The file was deleted after the search for files.
        Some(Err(error)) if error.kind() == ErrorKind::NotFound => return Ok(Scanned::default()),
        Some(Err(error)) => (None, Some(error)),
    };
    let hits = matcher.hits(rules, &interest, text.as_deref()).map_err(|rule| too_slow(path, &rule))?;
    Ok(Scanned { text, hits, problem })
}

/// Returns the line with the offset `offset`, without its end.
fn line_at(text: &str, offset: usize) -> &str {
    let (before, after) = text.split_at_checked(offset).unwrap_or((text, ""));
    let start = before.rfind('\n').map_or(0, |position| position + 1);
    let end = after.find('\n').map_or(text.len(), |position| before.len() + position);
    text.get(start..end).unwrap_or_default().trim_end_matches('\r')
}

/// Returns the error of a file in which the search of a rule takes too long.
pub(crate) fn too_slow(path: &RelativePath, rule: &str) -> WorkspaceError {
    let message = format!("the search of the rule {rule} takes too long, so the file is skipped");
    WorkspaceError::new(ErrorKind::TooSlow, path.as_str(), message)
}

/// Returns the places of some searches of one rule in one file. With `line`, places on other lines may be omitted.
///
/// # Errors
/// If a search takes too long.
pub(crate) fn places_of_rule(
    rule: &Rule,
    searches: &[usize],
    path: &RelativePath,
    text: &str,
    line: Option<u32>,
    cache: &ImportCache,
) -> Result<Vec<Place>, TooSlow> {
    let mut places = Vec::new();
    for search in searches.iter().filter_map(|index| rule.searches.get(*index)) {
        places.append(&mut search_places(search, path, text, line, cache)?);
    }
    places.sort_by_key(|place| (place.range.start, place.range.end));
    places.dedup();
    Ok(places)
}
