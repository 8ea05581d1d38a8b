//! A temporary project with rules.

use std::fs;
use std::path::{Path, PathBuf};

use kaiak::rules::{FixOptions, FixPlan, Incident, RuleSet, Warning, find};
use kaiak::workspace::Workspace;
use tempfile::TempDir;

/// A folder with rules and a folder with files.
pub(crate) struct Project {
    folder: TempDir,
}

impl Project {
    /// Creates a project whose rules are in `rules.yaml`.
    pub(crate) fn new(rules: &str) -> Self {
        let project = Self { folder: TempDir::new().unwrap() };
        fs::create_dir(project.rules()).unwrap();
        fs::create_dir(project.root()).unwrap();
        fs::write(project.rules().join("rules.yaml"), rules).unwrap();
        project
    }

    /// Adds the table `fixes.yaml`.
    pub(crate) fn with_fixes(self, fixes: &str) -> Self {
        fs::write(self.rules().join("fixes.yaml"), fixes).unwrap();
        self
    }

    /// Adds a file to the workspace.
    pub(crate) fn with(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn rules(&self) -> PathBuf {
        self.folder.path().join("rules")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn load(&self) -> (RuleSet, Vec<Warning>) {
        RuleSet::load(&[self.rules()]).unwrap()
    }

    pub(crate) fn workspace(&self) -> Workspace {
        Workspace::open_default(&self.root()).unwrap()
    }

    pub(crate) fn incidents(&self) -> Vec<Incident> {
        find(&self.load().0, &self.workspace()).unwrap().incidents
    }

    /// Returns the rule, the path and the line of each incident.
    pub(crate) fn places(&self) -> Vec<(String, String, Option<u32>)> {
        let place = |incident: Incident| (incident.rule_id, incident.path.to_string(), incident.line_number);
        self.incidents().into_iter().map(place).collect()
    }

    pub(crate) fn plan(&self) -> FixPlan {
        FixPlan::of_all_rules(&self.load().0, &self.workspace(), FixOptions::default()).unwrap()
    }

    /// Applies the fixes of all rules. Returns the places that are not fixed, with the reasons.
    pub(crate) fn fix(&self) -> Vec<String> {
        let (plan, workspace) = (self.plan(), self.workspace());
        for proposal in &plan.proposals {
            workspace.apply(proposal).unwrap();
        }
        plan.left.iter().map(ToString::to_string).collect()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }
}

/// Returns the path and the content of each file below a folder.
pub(crate) fn snapshot(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(snapshot(&path));
        } else {
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

/// Returns a rule that searches for text in all files.
pub(crate) fn content_rule(id: &str, pattern: &str) -> String {
    format!("- ruleID: {id}\n  message: m\n  when:\n    builtin.filecontent: {{pattern: '{pattern}'}}\n")
}

/// Returns a rule that searches for imports.
pub(crate) fn import_rule(id: &str, pattern: &str) -> String {
    format!("- ruleID: {id}\n  message: m\n  when:\n    java.referenced: {{location: IMPORT, pattern: '{pattern}'}}\n")
}
