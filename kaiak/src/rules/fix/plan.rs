//! Plans the fixes of a workspace: of one rule, or of all rules.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::{self, Display};

use super::Risk;
use super::edit::{self, EditError, Fixed, Subject};
use super::proposal::Proposal;
use crate::limits::{MAX_FILE_BYTES, MAX_PASSES};
use crate::rules::finder::{scan_files, too_slow};
use crate::rules::java_imports::ImportCache;
use crate::rules::ruleset::{Rule, RuleSet};
use crate::workspace::{ErrorKind, RelativePath, Workspace, WorkspaceError};

/// The places to fix: those of one rule in all files, in one file, or on one line.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The id of the rule.
    pub rule_id: &'a str,
    /// The path or the `file` URI of the only file that is fixed. If it is `None`, all files are fixed.
    pub uri: Option<&'a str>,
    /// The number of the only line that is fixed, from 1. If it is `None`, all lines are fixed.
    pub line: Option<u32>,
}

impl<'a> Target<'a> {
    /// Returns the target with all places of a rule.
    #[must_use]
    pub fn rule(rule_id: &'a str) -> Self {
        Self { rule_id, uri: None, line: None }
    }
}

/// Options of fixes.
#[derive(Clone, Copy, Debug, Default)]
pub struct FixOptions {
    /// Whether wildcard imports of a package are renamed if only some of its classes move. By default, such imports
    /// stay.
    pub mixed_wildcards: bool,
}

/// A place that a rule has found and its fix has not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftPlace {
    /// The id of the rule.
    pub rule_id: String,
    /// The file.
    pub path: RelativePath,
    /// The number of the line, from 1.
    pub line: Option<u32>,
    /// The reason.
    pub reason: String,
}

impl Display for LeftPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}: {}", self.rule_id, self.reason)
    }
}

/// The changes that fix a workspace.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FixPlan {
    /// One proposal for each file that changes, in the order of the paths.
    pub proposals: Vec<Proposal>,
    /// The places that the fixes do not change.
    pub left: Vec<LeftPlace>,
    /// Files and folders that were not searched, or of which only the path was searched.
    pub problems: Vec<WorkspaceError>,
    /// Files whose fix cannot be written, for example because the file is read-only. They have no proposal.
    pub blocked: Vec<WorkspaceError>,
    /// The number of files that the patterns select.
    pub files: usize,
    /// The number of binary files, of which only the paths were searched.
    pub binary_files: usize,
}

/// The reason for which no fix was planned.
#[derive(Debug)]
#[non_exhaustive]
pub enum FixError {
    /// No rule with this id was loaded.
    UnknownRule(String),
    /// The rule has no mechanical fix.
    NoMechanicalFix(String),
    /// The workspace or the file cannot be read.
    Workspace(WorkspaceError),
}

impl Display for FixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownRule(id) => write!(f, "the rule must be in a loaded rule set, got {id}"),
            Self::NoMechanicalFix(id) => write!(f, "the rule {id} has no mechanical fix"),
            Self::Workspace(error) => error.fmt(f),
        }
    }
}

impl Error for FixError {}

impl From<WorkspaceError> for FixError {
    fn from(error: WorkspaceError) -> Self {
        Self::Workspace(error)
    }
}

/// Plans the fixes of one rule. The plan has no proposals if the rule finds no place. This function blocks.
///
/// # Errors
/// If the rule is unknown or has no mechanical fix, or if the workspace cannot be read. A file of the target must be a
/// regular file in the workspace that the patterns include. If the rule searches the text of the file, the text must
/// be readable.
pub fn plan_fix(
    rules: &RuleSet,
    workspace: &Workspace,
    target: Target<'_>,
    options: FixOptions,
) -> Result<FixPlan, FixError> {
    let selected = SelectedRule::new(rules, target.rule_id)?;
    let only = target.uri.map(|uri| workspace.resolve(uri)).transpose()?;
    selected.plan(workspace, only.as_ref(), target.line, options, &ImportCache::default())
}

/// A rule with a fix. Its patterns are compiled once for all plans.
#[derive(Debug)]
pub(crate) struct SelectedRule {
    /// The set with only this rule.
    rules: RuleSet,
}

impl SelectedRule {
    /// Selects a rule.
    ///
    /// # Errors
    /// If the rule is unknown or has no mechanical fix.
    pub(crate) fn new(rules: &RuleSet, id: &str) -> Result<Self, FixError> {
        let selected = rules.select(|rule| rule.id() == id);
        if selected.rules().len() == 0 {
            return Err(FixError::UnknownRule(id.to_owned()));
        }
        if !selected.rules().any(Rule::has_fix) {
            return Err(FixError::NoMechanicalFix(id.to_owned()));
        }
        Ok(Self { rules: selected })
    }

    /// Plans the fix of the rule in one file or in all files, see [`plan_fix`]. All rules of a request share one cache,
    /// which bounds its memory.
    ///
    /// # Errors
    /// If the workspace or the file cannot be read.
    pub(crate) fn plan(
        &self,
        workspace: &Workspace,
        only: Option<&RelativePath>,
        line: Option<u32>,
        options: FixOptions,
        cache: &ImportCache,
    ) -> Result<FixPlan, FixError> {
        if let Some(path) = only {
            workspace.check_included(path)?;
            workspace.check_file(path)?;
        }
        Ok(plan(&self.rules, workspace, only, line, options, cache)?)
    }
}

impl FixPlan {
    /// Plans the fixes of all rules. Rules without a mechanical fix are ignored. The fixes of one file become one
    /// proposal. This function blocks.
    ///
    /// # Errors
    /// If the root of the workspace cannot be read.
    pub fn of_all_rules(rules: &RuleSet, workspace: &Workspace, options: FixOptions) -> Result<Self, WorkspaceError> {
        plan(rules, workspace, None, None, options, &ImportCache::default())
    }
}

/// A file in which rules have found places, with its text before the fixes.
struct Found {
    path: RelativePath,
    text: String,
    rules: BTreeSet<usize>,
}

fn plan(
    rules: &RuleSet,
    workspace: &Workspace,
    only: Option<&RelativePath>,
    line: Option<u32>,
    options: FixOptions,
    cache: &ImportCache,
) -> Result<FixPlan, WorkspaceError> {
    // A condition such as `and` depends on all files.
    let is_local = rules.rules().all(|rule| rule.condition.is_alternative());
    if let Some(path) = only.filter(|_| is_local) {
        return plan_file(rules, workspace, path, line, options, cache);
    }
    let mut plan = FixPlan::default();
    let files = workspace.files(&mut plan.problems)?;
    plan.files = files.len();
    let scans = scan_files(rules, workspace, &files, |path, text, hits| {
        let searches: BTreeSet<_> = hits.into_iter().map(|(id, _)| (id.rule, id.search)).collect();
        Some((path.clone(), text.map(str::to_owned), searches))
    });
    let mut scanned = Vec::new();
    let mut searches: BTreeSet<(usize, usize)> = BTreeSet::new();
    for scan in scans {
        match scan {
            Ok(found) => {
                searches.extend(&found.2);
                scanned.push(found);
            }
            Err(error) if only.is_some_and(|path| error.path() == path.as_str()) => return Err(error),
            Err(error) if error.kind() == ErrorKind::Binary => plan.binary_files += 1,
            Err(error) => plan.problems.push(error),
        }
    }
    // A rule that needs only one of its searches is active even without a place, because the fix of another rule may
    // create a place. Any other rule is active only if its condition is true before the fixes.
    let active: BTreeMap<usize, Vec<usize>> = rules
        .rules()
        .enumerate()
        .filter(|(_, rule)| rule.has_fix())
        .filter_map(|(index, rule)| {
            let has_places = |search| rule.condition.is_alternative() || searches.contains(&(index, search));
            rule.condition.is_true(&has_places).then(|| (index, rule.condition.reported(&has_places)))
        })
        .collect();
    for (path, text, searches) in scanned {
        let found: BTreeSet<_> =
            searches.into_iter().map(|(rule, _)| rule).filter(|rule| active.contains_key(rule)).collect();
        if found.is_empty() || only.is_some_and(|only| *only != path) {
            continue;
        }
        let text = match text.map_or_else(|| workspace.read_text(&path), Ok) {
            Ok(text) => text,
            Err(error) => {
                // The scan may have reported the file already.
                plan.problems.retain(|known| known.path() != error.path());
                plan.problems.push(error);
                continue;
            }
        };
        fix_file(rules, Found { path, text, rules: found }, &active, line, options, cache, &mut plan);
    }
    check_proposals(workspace, &mut plan);
    Ok(plan)
}

/// Plans the fixes of rules whose conditions depend only on one file.
fn plan_file(
    rules: &RuleSet,
    workspace: &Workspace,
    path: &RelativePath,
    line: Option<u32>,
    options: FixOptions,
    cache: &ImportCache,
) -> Result<FixPlan, WorkspaceError> {
    let mut plan = FixPlan { files: 1, ..FixPlan::default() };
    let matcher = rules.matcher();
    let interest = matcher.interest(rules, path);
    // Rules that search only paths may find a file whose text cannot be read.
    let has_places = interest.needs_text() || matcher.hits(rules, &interest, None).is_ok_and(|hits| !hits.is_empty());
    if !has_places {
        return Ok(plan);
    }
    let text = match workspace.read_text(path) {
        Ok(text) => text,
        // The file was deleted after its check.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(plan),
        Err(error) => return Err(error),
    };
    let active: BTreeMap<usize, Vec<usize>> = rules
        .rules()
        .enumerate()
        .filter(|(_, rule)| rule.has_fix())
        .map(|(index, rule)| (index, rule.condition.reported(&|_| true)))
        .collect();
    let found = Found { path: path.clone(), text, rules: active.keys().copied().collect() };
    fix_file(rules, found, &active, line, options, cache, &mut plan);
    if let Some(problem) = plan.problems.pop() {
        return Err(problem);
    }
    check_proposals(workspace, &mut plan);
    Ok(plan)
}

/// Removes the proposals that cannot be executed.
fn check_proposals(workspace: &Workspace, plan: &mut FixPlan) {
    let mut new_paths = BTreeSet::new();
    for proposal in std::mem::take(&mut plan.proposals) {
        let is_taken = proposal.new_path.as_ref().is_some_and(|path| !new_paths.insert(path.clone()));
        match workspace.check(&proposal) {
            Err(error) => plan.blocked.push(error),
            Ok(()) if is_taken => {
                let message = "the file must get a path of its own, got the new path of another file";
                plan.blocked.push(WorkspaceError::new(ErrorKind::Exists, proposal.file_path.as_str(), message));
            }
            Ok(()) => plan.proposals.push(proposal),
        }
    }
}

/// Applies the rules to one file until nothing changes.
fn fix_file(
    rules: &RuleSet,
    found: Found,
    active: &BTreeMap<usize, Vec<usize>>,
    line: Option<u32>,
    options: FixOptions,
    cache: &ImportCache,
    plan: &mut FixPlan,
) {
    let (mut path, mut text) = (found.path.clone(), found.text.clone());
    let mut risk: Option<Risk> = None;
    let mut indices = found.rules;
    let mut left: BTreeMap<(usize, Option<u32>), String> = BTreeMap::new();
    let mut fixed: BTreeSet<(usize, u32)> = BTreeSet::new();
    for pass in 1.. {
        left.clear();
        let mut has_changed = false;
        for index in &indices {
            let (Some(rule), Some(searches)) = (rules.rule(*index), active.get(index)) else { continue };
            let subject = Subject { rule, searches, line, options, cache };
            let result = match edit::fix(subject, &path, &text) {
                Ok(result) => result,
                Err(EditError::TooSlow) => {
                    plan.problems.push(too_slow(&found.path, rule.id()));
                    return;
                }
                Err(EditError::TooLarge) => {
                    let message = format!("the new content must have at most {MAX_FILE_BYTES} bytes, got more");
                    plan.blocked.push(WorkspaceError::new(ErrorKind::TooLarge, found.path.as_str(), message));
                    return;
                }
            };
            let Fixed { text: new_text, path: new_path, risk: new_risk, changed, left: lines } = result;
            for (line, reason) in lines {
                let is_changed = line.is_some_and(|line| fixed.contains(&(*index, line)));
                let reason = if is_changed { "the rule finds this place again after its fix" } else { &reason };
                left.insert((*index, line), reason.to_owned());
            }
            fixed.extend(changed.into_iter().map(|line| (*index, line)));
            if new_risk.is_some() {
                (text, path, has_changed) = (new_text, new_path, true);
                risk = risk.max(new_risk);
            }
        }
        // With a line, only one pass is made. Before a second pass, another place may have moved to this line.
        if !has_changed || line.is_some() {
            break;
        }
        if pass == MAX_PASSES {
            let reason = "the file was not changed, because its rules change the results of each other again and again";
            (path, text, risk) = (found.path.clone(), found.text.clone(), None);
            left = fixed.iter().map(|(index, _)| ((*index, None), reason.to_owned())).collect();
            break;
        }
        let matcher = rules.matcher();
        let hits = match matcher.hits(rules, &matcher.interest(rules, &path), Some(&text)) {
            Ok(hits) => hits,
            Err(rule) => {
                plan.problems.push(too_slow(&found.path, &rule));
                return;
            }
        };
        indices = hits.into_iter().map(|(id, _)| id.rule).filter(|index| active.contains_key(index)).collect();
    }
    let left = left.into_iter().filter_map(|((index, line), reason)| {
        let rule_id = rules.rule(index)?.id().to_owned();
        Some(LeftPlace { rule_id, path: found.path.clone(), line, reason })
    });
    plan.left.extend(left);
    let (before, after) = (found.text.into_bytes(), text.into_bytes());
    let proposal = Proposal::new(found.path, Some(path), Some(before), Some(after), risk.unwrap_or(Risk::Low));
    plan.proposals.extend(proposal);
}
