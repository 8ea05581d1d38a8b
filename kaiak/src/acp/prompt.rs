//! The prompt of a turn.

use crate::protocol::{FixRequest, Incident};
use crate::workspace::Workspace;

/// Returns the prompt for an incident.
pub(super) fn prompt(request: &FixRequest, incident: &Incident, workspace: &Workspace) -> String {
    let mut lines = vec![
        "Fix one incident of a code migration in the files of the working directory.".to_owned(),
        format!("Rule: {}", incident.rule_id),
        format!("Incident: {}", incident.message),
    ];
    let mut add = |name: &str, text: &str| {
        if !text.is_empty() {
            lines.push(format!("{name}: {text}"));
        }
    };
    add("Description", &incident.description);
    add("Severity", &incident.severity);
    add("Effort", &incident.effort);
    if let Some(path) = incident.uri.as_deref().and_then(|uri| workspace.resolve(uri).ok()) {
        add("File", path.as_str());
        add("Line", &incident.line_number.map_or_else(String::new, |line| line.to_string()));
    }
    if let Some(context) = &request.context {
        add("Source technology", context.source_technology.as_deref().unwrap_or_default());
        add("Target technology", context.target_technology.as_deref().unwrap_or_default());
        add("Hints", &context.migration_hints.join("; "));
        add("Constraints", &context.constraints.join("; "));
        if context.preferences.as_object().is_some_and(|preferences| !preferences.is_empty()) {
            add("Preferences", &context.preferences.to_string());
        }
    }
    lines.push("Change only what this incident needs.".to_owned());
    if !request.options.include_explanations {
        lines.push("Do not explain the changes.".to_owned());
    }
    lines.join("\n")
}
