//! The subjects of commits: `area: imperative summary`, at most 72 characters.

use std::process::Command;

use anyhow::Result;

use crate::process::capture;
use crate::workspace::Workspace;

/// The last commit that is older than these rules. This commit and its ancestors are not checked, since history is not
/// rewritten.
const LAST_UNCHECKED: &str = "c089aba";

const MAX_CHARACTERS: usize = 72;

/// Imperatives that end in `ed`, `ing` or `s`. The check refuses every word with such an ending that is not in this
/// list, except for words that end in `ss` or `us`.
const IMPERATIVES: &[&str] =
    &["alias", "bring", "embed", "exceed", "feed", "need", "ping", "proceed", "seed", "speed", "string"];

/// Returns each breach as `commit: breach`, or `None` if the repository does not have [`LAST_UNCHECKED`].
pub(crate) fn check(workspace: &Workspace) -> Result<Option<Vec<String>>> {
    let git = |arguments: &[&str]| capture(Command::new("git").arg("-C").arg(&workspace.root).args(arguments));
    // An unpacked archive and a shallow clone do not contain LAST_UNCHECKED.
    if git(&["rev-parse", "--quiet", "--verify", &format!("{LAST_UNCHECKED}^{{commit}}")]).is_err() {
        return Ok(None);
    }
    let list = git(&["log", "--no-merges", "--format=%h %s", &format!("{LAST_UNCHECKED}..HEAD")])?;
    let breaches = list.lines().filter_map(|line| {
        let (commit, subject) = line.split_once(' ').unwrap_or((line, ""));
        breach(subject).map(|breach| format!("{commit}: {breach}: {subject}"))
    });
    Ok(Some(breaches.collect()))
}

/// Returns the rule that a subject breaks, or `None` for a valid subject.
fn breach(subject: &str) -> Option<String> {
    let characters = subject.chars().count();
    if characters > MAX_CHARACTERS {
        return Some(format!("a subject must have at most {MAX_CHARACTERS} characters, got {characters}"));
    }
    if subject.ends_with('.') {
        return Some("a subject must not end with a period".to_owned());
    }
    let is_area = |area: &str| {
        !area.is_empty()
            && area.chars().all(|next| next.is_ascii_lowercase() || next.is_ascii_digit() || " ,._-/".contains(next))
    };
    let Some((_, summary)) = subject.split_once(": ").filter(|(area, _)| is_area(area)) else {
        return Some("a subject must be `area: summary` with an area in lower case".to_owned());
    };
    let verb = summary.split(' ').next().unwrap_or_default();
    let is_other_form = ["ed", "ing", "s"].iter().any(|ending| verb.ends_with(ending))
        && !["ss", "us"].iter().any(|ending| verb.ends_with(ending))
        && !IMPERATIVES.contains(&verb);
    if !verb.starts_with(|first: char| first.is_ascii_lowercase()) || is_other_form {
        return Some(format!("a summary must begin with an imperative in lower case, got `{verb}`"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_subjects_are_accepted() {
        for subject in
            ["web: send the message", "bin, web: pass", "tests in src, xtask: bypass it", "js: embed a table"]
        {
            assert_eq!(breach(subject), None, "{subject}");
        }
        assert_eq!(breach(&format!("web: {}", "é".repeat(67)).replacen('é', "a", 1)), None);
    }

    #[test]
    fn invalid_subjects_are_reported() {
        let long = format!("web: {}", "a".repeat(68));
        for (subject, part) in [
            (long.as_str(), "at most 72 characters, got 73"),
            ("web: send the message.", "period"),
            ("send the message", "`area: summary`"),
            ("Web: send the message", "`area: summary`"),
            ("web:send the message", "`area: summary`"),
            ("web: Send the message", "got `Send`"),
            ("web: sends the message", "got `sends`"),
            ("web: sent", ""),
            ("web: added a message", "got `added`"),
            ("web: sending of messages", "got `sending`"),
            ("web: ", "got ``"),
        ] {
            let found = breach(subject);
            // The check cannot recognise a participle with another ending, such as `sent`.
            assert_eq!(found.is_none(), part.is_empty(), "{subject}");
            assert!(found.unwrap_or_default().contains(part), "{subject}");
        }
    }
}
