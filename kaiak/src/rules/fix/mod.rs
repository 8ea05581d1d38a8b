//! Mechanical fixes of the places that a rule finds.

mod diff;
mod edit;
mod plan;
mod proposal;
mod template;

use regex::Regex;
use serde::{Deserialize, Serialize};

pub(crate) use self::plan::SelectedRule;
pub use self::plan::{FixError, FixOptions, FixPlan, LeftPlace, Target, plan_fix};
pub use self::proposal::{Operation, Proposal};
pub(crate) use self::template::Template;

/// The risk of a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// The fix only renames classes or text that have moved as a whole.
    Low,
    /// The fix may require changes elsewhere.
    Medium,
    /// The fix changes the behaviour.
    High,
    /// The fix may lose data.
    Critical,
}

/// One fix of a rule.
#[derive(Clone, Debug)]
pub(crate) struct Fix {
    pub(crate) action: Action,
    pub(crate) risk: Risk,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Renames the imports that the rule has found.
    RenameImport(Vec<Move>),
    /// Replaces text in the lines that the rule has found.
    ReplaceInLines { pattern: Regex, with: Template },
    /// Replaces `text` within each text that the rule has found.
    ReplaceInMatches { text: String, with: String },
    /// Deletes the lines that the rule has found.
    DeleteLines,
    /// Renames the file. The pattern is for the name of the file without its folders.
    RenameFile { pattern: Regex, with: Template },
}

/// The move of a class, or of a package with all packages below it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Move {
    pub(crate) from: String,
    pub(crate) to: String,
    /// The classes and packages directly in `from` that move, by their names without `from`. If the list is empty, all
    /// classes and packages in `from` move.
    #[serde(default)]
    pub(crate) only: Vec<String>,
    /// The classes and packages in `from` that stay, by their names without `from`, or by their whole names.
    #[serde(default)]
    pub(crate) except: Vec<String>,
}
