//! Runs the searches of many rules on one file. Sets of patterns select the searches that find something, so that the
//! time does not grow with each rule.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use regex::{RegexSet, RegexSetBuilder};

use super::{Hits, Place, SearchId};
use crate::limits::{MAX_SEARCH_TIME, MAX_SET_BYTES};
use crate::rules::java_imports::{self, Import, ImportCache, imports};
use crate::rules::ruleset::condition::Search;
use crate::rules::ruleset::pattern::Pattern;
use crate::rules::ruleset::{Rule, RuleSet};
use crate::workspace::RelativePath;

/// The number of matches between two readings of the clock.
const MATCHES_PER_READING: usize = 16;

/// The error of a search that has taken longer than [`MAX_SEARCH_TIME`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooSlow;

/// The searches of all rules.
#[derive(Debug)]
pub(crate) struct Matcher {
    /// Searches for text, in groups by their patterns of paths.
    contents: Vec<Group>,
    files: Set,
    imports: Set,
}

/// Searches for text in the files with the same pattern of paths.
#[derive(Debug)]
struct Group {
    /// A search whose pattern of paths is that of the group, or `None` if the group searches all files.
    files: Option<SearchId>,
    set: Set,
}

/// Searches with a set of their patterns.
#[derive(Debug, Default)]
struct Set {
    ids: Vec<SearchId>,
    /// `None` if the set is too large. Each search then runs on each file.
    set: Option<RegexSet>,
}

impl Set {
    fn new(searches: Vec<(SearchId, &str)>) -> Self {
        let (ids, patterns): (Vec<_>, Vec<_>) = searches.into_iter().unzip();
        let set = RegexSetBuilder::new(patterns).size_limit(MAX_SET_BYTES).dfa_size_limit(MAX_SET_BYTES).build().ok();
        Self { ids, set }
    }

    /// Returns the searches whose patterns match `text`.
    fn matches(&self, text: &str) -> Vec<SearchId> {
        match &self.set {
            _ if self.ids.is_empty() => Vec::new(),
            Some(set) => set.matches(text).into_iter().filter_map(|index| self.ids.get(index).copied()).collect(),
            None => self.ids.clone(),
        }
    }
}

/// The searches that apply to a file by its path.
#[derive(Debug)]
pub(crate) struct Interest<'a> {
    path: &'a RelativePath,
    /// Indices of groups in the member `contents` of the matcher.
    contents: Vec<usize>,
    has_imports: bool,
}

impl Interest<'_> {
    /// Returns whether a search needs the text of the file.
    pub(crate) fn needs_text(&self) -> bool {
        self.has_imports || !self.contents.is_empty()
    }
}

impl Matcher {
    pub(crate) fn new(rules: &[Arc<Rule>]) -> Self {
        let mut contents: BTreeMap<Option<&str>, Vec<(SearchId, &str)>> = BTreeMap::new();
        let (mut files, mut imports) = (Vec::new(), Vec::new());
        for (rule_index, rule) in rules.iter().enumerate() {
            for (search_index, search) in rule.searches.iter().enumerate() {
                let id = SearchId { rule: rule_index, search: search_index };
                match search {
                    Search::Content { pattern, files, .. } => {
                        let files = files.as_ref().map(|files| files.text());
                        contents.entry(files).or_default().push((id, pattern.text()));
                    }
                    Search::File(pattern) => files.push((id, pattern.text())),
                    Search::Import { pattern, .. } => imports.push((id, pattern.text())),
                }
            }
        }
        let group = |(files, searches): (Option<&str>, Vec<(SearchId, &str)>)| Group {
            files: files.and_then(|_| searches.first().map(|(id, _)| *id)),
            set: Set::new(searches),
        };
        Self { contents: contents.into_iter().map(group).collect(), files: Set::new(files), imports: Set::new(imports) }
    }

    /// Returns the searches that apply to a file by its path. `rules` must be the rules of this matcher.
    pub(crate) fn interest<'a>(&self, rules: &RuleSet, path: &'a RelativePath) -> Interest<'a> {
        let applies = |group: &Group| match group.files {
            None => true,
            Some(id) => match search(rules, id) {
                Some(Search::Content { files: Some(files), .. }) => files.matches_path(path.as_str(), path.file_name()),
                _ => false,
            },
        };
        let contents = self.contents.iter().enumerate().filter(|(_, group)| applies(group)).map(|(index, _)| index);
        let has_imports = !self.imports.ids.is_empty() && java_imports::is_java(path.file_name());
        Interest { path, contents: contents.collect(), has_imports }
    }

    /// Returns the places in a file, by search. Without `text`, only searches by path find places.
    ///
    /// # Errors
    /// The id of a rule whose search takes too long.
    pub(crate) fn hits(&self, rules: &RuleSet, interest: &Interest<'_>, text: Option<&str>) -> Result<Hits, String> {
        let path = interest.path;
        let mut ids = self.files.matches(path.file_name());
        ids.extend(self.files.matches(&format!("/{path}")));
        ids.sort_unstable();
        ids.dedup();
        let (mut hits, cache) = (Hits::new(), ImportCache::default());
        let add = |hits: &mut Hits, id: SearchId, text: &str| {
            let places =
                search(rules, id).map_or_else(|| Ok(Vec::new()), |one| search_places(one, path, text, None, &cache));
            let places = places.map_err(|TooSlow| rules.rule(id.rule).map(Rule::id).unwrap_or_default().to_owned())?;
            if !places.is_empty() {
                hits.push((id, places));
            }
            Ok::<_, String>(())
        };
        for id in ids {
            add(&mut hits, id, "")?;
        }
        let Some(text) = text else { return Ok(hits) };
        for group in interest.contents.iter().filter_map(|index| self.contents.get(*index)) {
            for id in group.set.matches(text) {
                add(&mut hits, id, text)?;
            }
        }
        if interest.has_imports {
            let mut by_search: BTreeMap<SearchId, Vec<Place>> = BTreeMap::new();
            let mut lines = Lines::new(text);
            for import in imports(text) {
                let place = place_of_import(&import, &mut lines);
                let mut ids: Vec<_> = import.names().iter().flat_map(|name| self.imports.matches(name)).collect();
                ids.sort_unstable();
                ids.dedup();
                for id in ids {
                    by_search.entry(id).or_default().push(place.clone());
                }
            }
            for (id, places) in by_search {
                if self.imports.set.is_some() {
                    hits.push((id, places));
                } else {
                    add(&mut hits, id, text)?;
                }
            }
        }
        Ok(hits)
    }
}

fn search(rules: &RuleSet, id: SearchId) -> Option<&Search> {
    rules.rule(id.rule)?.searches.get(id.search)
}

/// Returns the places that one search finds in a file. With `line`, imports on other lines are omitted, which saves the
/// time to compare them.
pub(crate) fn search_places(
    search: &Search,
    path: &RelativePath,
    text: &str,
    line: Option<u32>,
    cache: &ImportCache,
) -> Result<Vec<Place>, TooSlow> {
    let applies = |files: &Pattern| files.matches_path(path.as_str(), path.file_name());
    let mut lines = Lines::new(text);
    let places = match search {
        Search::File(pattern) if applies(pattern) => vec![Place { range: 0..0, line: None }],
        Search::Content { pattern, files, .. } if files.as_ref().is_none_or(applies) => {
            let start = Instant::now();
            let mut places = Vec::new();
            for found in pattern.regex().find_iter(text).filter(|found| !found.is_empty()) {
                places.push(Place { range: found.range(), line: Some(lines.at(found.start())) });
                if places.len() % MATCHES_PER_READING == 0 && start.elapsed() > MAX_SEARCH_TIME {
                    return Err(TooSlow);
                }
            }
            places
        }
        Search::Import { pattern, .. } if java_imports::is_java(path.file_name()) => {
            let found = cache.imports(text);
            let found = found.iter().map(|import| (place_of_import(import, &mut lines), import));
            let found = found.filter(|(place, _)| line.is_none() || place.line == line);
            let matches = |import: &Import| import.names().iter().any(|name| pattern.regex().is_match(name));
            found.filter(|(_, import)| matches(import)).map(|(place, _)| place).collect()
        }
        _ => Vec::new(),
    };
    Ok(places)
}

/// Returns the place of the name of an import.
fn place_of_import(import: &Import, lines: &mut Lines<'_>) -> Place {
    let end = import.parts.last().map_or(0, |part| part.end);
    Place { range: import.start()..end, line: Some(lines.at(import.start())) }
}

/// Counts the lines of a text up to ascending offsets.
struct Lines<'a> {
    text: &'a str,
    offset: usize,
    line: u32,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, offset: 0, line: 1 }
    }

    /// Returns the number of the line with the offset, from 1.
    fn at(&mut self, offset: usize) -> u32 {
        let passed = self.text.as_bytes().get(self.offset..offset).unwrap_or_default();
        let ends = passed.iter().filter(|byte| **byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(ends).unwrap_or(u32::MAX));
        self.offset = self.offset.max(offset);
        self.line
    }
}
