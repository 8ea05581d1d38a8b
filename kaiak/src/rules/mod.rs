//! Rules in the YAML of Konveyor, the places that they find, and mechanical fixes of these places.

mod finder;
mod fix;
mod java_imports;
mod java_names;
mod ruleset;

pub use self::finder::{Findings, Incident, Severity, find};
pub(crate) use self::fix::SelectedRule;
pub use self::fix::{FixError, FixOptions, FixPlan, LeftPlace, Operation, Proposal, Risk, Target, plan_fix};
pub(crate) use self::java_imports::ImportCache;
pub use self::ruleset::{LoadError, NoRules, Rule, RuleSet, Warning};
