//! The backend that fixes incidents by rules, without a model.

mod order;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use self::order::order;
use crate::backend::{
    Agent, Backend, BoxFuture, Cleanup, FailedFiles, Fixed, Outcome, blocking, cancelled, check_request, listed,
    open_workspace, sync,
};
use crate::config::ConfigureRequest;
use crate::fault::Fault;
use crate::limits::MAX_LISTED;
use crate::permission::{Permission, tool};
use crate::protocol::Incident;
use crate::rules::{FixError, FixOptions, FixPlan, ImportCache, Proposal, Risk, RuleSet, SelectedRule};
use crate::run::{Answer, Run};
use crate::stream::{Content, InteractionKind, Level, ToolResult, ToolStatus, check_size, cut_output};
use crate::workspace::{RelativePath, Workspace, WorkspaceError};

/// The members of the configuration that have no effect on rules.
const WITHOUT_EFFECT: [&str; 8] = [
    "model.provider",
    "model.model",
    "model.temperature",
    "model.max_tokens",
    "tools.enabled_extensions",
    "tools.custom_tools",
    "tools.planning_mode",
    "session.retry_config",
];

/// Fixes incidents by the rules of a rule set.
#[derive(Debug)]
pub(crate) struct RulesBackend {
    rules: Arc<RuleSet>,
}

impl RulesBackend {
    pub(crate) fn new(rules: RuleSet) -> Self {
        Self { rules: Arc::new(rules) }
    }
}

impl Backend for RulesBackend {
    fn warnings(&self, request: &ConfigureRequest) -> Vec<String> {
        let is_set = |path: &str| request.set.iter().any(|set| set == path);
        let ignored = WITHOUT_EFFECT.iter().filter(|path| is_set(path));
        let mut warnings: Vec<String> = ignored
            .map(|path| format!("{path} has no effect: the backend `rules` uses no model and no extension"))
            .collect();
        if is_set("tools.max_tool_calls") {
            warnings
                .push("tools.max_tool_calls has no effect: the backend `rules` calls no tools in a loop".to_owned());
        }
        if is_set("permissions.tool_permissions") {
            let used = [tool::READ_FILE, tool::WRITE_FILE];
            let permissions = request.configuration.permissions.tool_permissions.0.keys();
            let unused = permissions.filter(|name| !used.contains(&name.as_str()) && !is_unused_default(name));
            warnings.extend(unused.map(|name| {
                format!("permissions.tool_permissions.{name} has no effect: the backend `rules` has no such tool")
            }));
        }
        warnings
    }

    fn start<'a>(&'a self, _: &'a Run) -> BoxFuture<'a, Result<Box<dyn Agent>, Fault>> {
        let agent: Box<dyn Agent> = Box::new(RulesAgent { rules: Arc::clone(&self.rules) });
        Box::pin(async move { Ok(agent) })
    }
}

/// Returns whether a tool is one of the defaults, but not a tool of this backend. A client that sends all default
/// permissions needs no warning.
fn is_unused_default(name: &str) -> bool {
    matches!(name, tool::SHELL_COMMAND | tool::WEB_SEARCH)
}

#[derive(Debug)]
struct RulesAgent {
    rules: Arc<RuleSet>,
}

impl Agent for RulesAgent {
    fn run<'a>(&'a mut self, run: &'a Run) -> BoxFuture<'a, Result<Outcome, Fault>> {
        Box::pin(async move { RulesRun::open(run, Arc::clone(&self.rules)).await?.run().await })
    }

    fn close(self: Box<Self>, _: bool) -> BoxFuture<'static, Cleanup> {
        Box::pin(async { Cleanup::default() })
    }
}

/// A request of the backend `rules`.
struct RulesRun<'a> {
    run: &'a Run,
    rules: Arc<RuleSet>,
    /// The selected rules by their ids. Many incidents may have the same rule, so each rule is selected once.
    selected: HashMap<String, Arc<SelectedRule>>,
    imports: Arc<ImportCache>,
    workspace: Arc<Workspace>,
    outcome: Outcome,
    /// The files that the rules have changed in this request, by the ids of the rules.
    changed: HashMap<String, BTreeSet<RelativePath>>,
    /// The answer to the question whether files may be read.
    may_read: Option<bool>,
    failed_files: FailedFiles,
    /// The paths that were reported as not searched.
    skipped: BTreeSet<String>,
}

impl<'a> RulesRun<'a> {
    /// Opens the workspace, and checks the request.
    async fn open(run: &'a Run, rules: Arc<RuleSet>) -> Result<Self, Fault> {
        let workspace = open_workspace(&run.configuration).await?;
        check_request(run, &workspace).await?;
        Ok(Self {
            run,
            rules,
            selected: HashMap::new(),
            imports: Arc::default(),
            workspace,
            outcome: Outcome::default(),
            changed: HashMap::new(),
            may_read: None,
            failed_files: FailedFiles::default(),
            skipped: BTreeSet::new(),
        })
    }

    /// Fixes all incidents. Sends the summary, even if the request is stopped or fails.
    async fn run(mut self) -> Result<Outcome, Fault> {
        let fixed = self.fix_all().await;
        sync(&self.workspace, &mut self.failed_files).await?;
        self.outcome.send_summary(self.run, "rules").await;
        fixed?;
        self.failed_files.result(self.run, self.outcome)
    }

    async fn fix_all(&mut self) -> Result<(), Fault> {
        let run = self.run;
        let total = run.request.incidents.len();
        if run.request.options.parallel_processing {
            let message = "parallel_processing has no effect: incidents are fixed one after the other";
            run.stream.system(Level::Warning, "rules", message).await;
        }
        for (done, index) in order(&run.request.incidents).into_iter().enumerate() {
            let Some(incident) = run.request.incidents.get(index) else { continue };
            if run.is_stopped() {
                return Err(cancelled());
            }
            self.progress(
                done,
                total,
                "fixing",
                format!("Fixing the incident {} of {}", incident.id, incident.rule_id),
            )
            .await;
            let fixed = self.fix(incident).await?;
            self.outcome.count(fixed);
        }
        self.progress(total, total, "completed", "All incidents are processed".to_owned()).await;
        Ok(())
    }

    async fn progress(&self, done: usize, total: usize, phase: &'static str, description: String) {
        let current = (done + 1).min(total);
        let content = Content::Progress {
            percentage: (done * 100 / total.max(1)) as u64,
            phase,
            description,
            current_step: format!("Processing incident {current} of {total}"),
            total_steps: total,
        };
        self.run.stream.send(content).await;
    }

    async fn fix(&mut self, incident: &Incident) -> Result<Fixed, Fault> {
        if !self.may_read(incident).await? {
            return Ok(Fixed::No);
        }
        let Some((plan, only)) = self.plan(incident).await? else { return Ok(Fixed::No) };
        let FixPlan { proposals, left, problems, blocked, .. } = plan;
        let rest = if proposals.is_empty() { Rest::All } else { Rest::Some };
        if !left.is_empty() {
            let left: Vec<String> = left.iter().map(ToString::to_string).collect();
            let action = "Fix these places by hand, or use the backend `acp`";
            self.error_of("NO_MECHANICAL_FIX", incident, rest, &cut_output(&left.join("\n")), action).await;
        }
        for error in &blocked {
            self.error_of("FILE_MODIFICATION_FAILED", incident, rest, &error.to_string(), error.remedy()).await;
        }
        if !proposals.is_empty() {
            self.report_skipped(&problems).await;
            let fixed = self.write(incident, proposals).await?;
            let is_whole = left.is_empty() && blocked.is_empty();
            return Ok(if fixed == Fixed::Yes && !is_whole { Fixed::InPart } else { fixed });
        }
        if !left.is_empty() || !blocked.is_empty() {
            self.report_skipped(&problems).await;
            return Ok(Fixed::No);
        }
        if let Some(first) = problems.first() {
            self.skipped.extend(problems.iter().map(|problem| problem.path().to_owned()));
            self.error("FILE_ACCESS_FAILED", incident, &listed(&problems), first.remedy()).await;
            return Ok(Fixed::No);
        }
        // An earlier incident of this rule may have had the same place.
        let is_fixed =
            self.changed.get(&incident.rule_id).is_some_and(|paths| only.is_none_or(|only| paths.contains(&only)));
        if is_fixed {
            return Ok(Fixed::Yes);
        }
        let message = format!("the rule {} finds no place for the incident {}", incident.rule_id, incident.id);
        self.run.stream.system(Level::Info, "rules", message).await;
        Ok(Fixed::WithoutPlace)
    }

    /// Reports files that could not be searched. Each file is reported once in a request.
    async fn report_skipped(&mut self, problems: &[WorkspaceError]) {
        let is_new = |problem: &&WorkspaceError| self.skipped.insert(problem.path().to_owned());
        let new: Vec<String> = problems.iter().filter(is_new).map(ToString::to_string).collect();
        if !new.is_empty() {
            let message = format!("not searched: {}", cut_output(&new.join("\n")));
            self.run.stream.system(Level::Warning, "rules", message).await;
        }
    }

    /// Returns whether files may be read. Asks the client once for each request.
    async fn may_read(&mut self, incident: &Incident) -> Result<bool, Fault> {
        let permission = self.permission(tool::READ_FILE);
        let (parameters, operation) = (read_parameters(incident), "search");
        let may_read = match (permission, self.may_read) {
            (Permission::Allow, _) => true,
            (Permission::Deny, _) => false,
            (Permission::Approve, Some(answer)) => answer,
            (Permission::Approve, None) => {
                self.tool(tool::READ_FILE, operation, &parameters, ToolStatus::Pending, None).await;
                let prompt = "Read the files of the workspace to find the places of the incidents?".to_owned();
                match self.run.ask(InteractionKind::ToolPermission, prompt).await {
                    Answer::Stopped => return Err(cancelled()),
                    answer => *self.may_read.insert(answer == Answer::Approved),
                }
            }
        };
        if !may_read {
            self.tool(tool::READ_FILE, operation, &parameters, ToolStatus::Denied, None).await;
            self.error("TOOL_DENIED", incident, "read_file is denied", "Allow the tool read_file").await;
        }
        Ok(may_read)
    }

    /// Plans the fix of an incident. Returns the plan and the file that the incident names, if it names one. If the
    /// incident cannot be fixed, reports the reason and returns `None`.
    async fn plan(&mut self, incident: &Incident) -> Result<Option<(FixPlan, Option<RelativePath>)>, Fault> {
        let (rules, workspace) = (Arc::clone(&self.rules), Arc::clone(&self.workspace));
        let imports = Arc::clone(&self.imports);
        let known = self.selected.get(&incident.rule_id).cloned();
        let (rule_id, uri, line) = (incident.rule_id.clone(), incident.uri.clone(), incident.line_number);
        let parameters = read_parameters(incident);
        self.tool(tool::READ_FILE, "search", &parameters, ToolStatus::Executing, None).await;
        let start = Instant::now();
        let planned = blocking(move || {
            let selected = match known {
                Some(known) => known,
                None => Arc::new(SelectedRule::new(&rules, &rule_id)?),
            };
            let only = uri.as_deref().map(|uri| workspace.resolve(uri)).transpose()?;
            let mut plan = selected.plan(&workspace, only.as_ref(), line, FixOptions::default(), &imports)?;
            plan.proposals.retain(|proposal| match check_size(proposal) {
                Ok(()) => true,
                Err(error) => {
                    plan.blocked.push(error);
                    false
                }
            });
            Ok((plan, only, selected))
        });
        let planned = planned.await?.map(|(plan, only, selected)| {
            self.selected.entry(incident.rule_id.clone()).or_insert(selected);
            (plan, only)
        });
        let (status, result) = match &planned {
            Ok((plan, _)) => {
                let paths: Vec<&str> = plan.proposals.iter().map(|proposal| proposal.file_path.as_str()).collect();
                (ToolStatus::Completed, success(start, paths.join("\n")))
            }
            Err(FixError::NoMechanicalFix(_)) => (ToolStatus::Completed, success(start, String::new())),
            Err(error) => (ToolStatus::Failed, failure(start, error.to_string())),
        };
        self.tool(tool::READ_FILE, "search", &parameters, status, Some(result)).await;
        match planned {
            Ok(planned) => Ok(Some(planned)),
            Err(FixError::Workspace(error)) => {
                self.error("FILE_ACCESS_FAILED", incident, &error.to_string(), error.remedy()).await;
                Ok(None)
            }
            Err(error @ FixError::UnknownRule(_)) => {
                let action = "Start `kaiak serve` with the rules of this incident, or use the backend `acp`";
                self.error("NO_MECHANICAL_FIX", incident, &error.to_string(), action).await;
                Ok(None)
            }
            Err(error @ FixError::NoMechanicalFix(_)) => {
                let action = "Fix the incident by hand, or use the backend `acp`";
                self.error("NO_MECHANICAL_FIX", incident, &error.to_string(), action).await;
                Ok(None)
            }
        }
    }

    /// Proposes the changes, asks for approval where it is needed, and applies the approved changes.
    async fn write(&mut self, incident: &Incident, proposals: Vec<Proposal>) -> Result<Fixed, Fault> {
        let paths: Vec<&str> = proposals.iter().take(MAX_LISTED).map(|proposal| proposal.file_path.as_str()).collect();
        let parameters = json!({ "incident_id": incident.id, "files": paths });
        let permission = self.permission(tool::WRITE_FILE);
        if permission == Permission::Deny {
            self.tool(tool::WRITE_FILE, "modify", &parameters, ToolStatus::Denied, None).await;
            self.error("TOOL_DENIED", incident, "write_file is denied", "Allow the tool write_file").await;
            return Ok(Fixed::No);
        }
        self.tool(tool::WRITE_FILE, "modify", &parameters, ToolStatus::Pending, None).await;
        let mut approved = Vec::new();
        let total = proposals.len();
        for proposal in proposals {
            if self.approve(&proposal, permission).await? {
                approved.push(proposal);
            }
        }
        if approved.is_empty() {
            self.tool(tool::WRITE_FILE, "modify", &parameters, ToolStatus::Denied, None).await;
            return Ok(Fixed::No);
        }
        self.tool(tool::WRITE_FILE, "modify", &parameters, ToolStatus::Approved, None).await;
        self.tool(tool::WRITE_FILE, "modify", &parameters, ToolStatus::Executing, None).await;
        let start = Instant::now();
        let (applied, errors) = self.apply(incident, approved).await?;
        let changed = format!("{applied} of {total} files changed");
        let is_stopped = self.run.is_stopped();
        let (status, result) = if errors.is_empty() && !is_stopped {
            (ToolStatus::Completed, success(start, changed))
        } else {
            (ToolStatus::Failed, failure(start, format!("{changed}\n{}", listed(&errors)).trim_end().to_owned()))
        };
        self.tool(tool::WRITE_FILE, "modify", &parameters, status, Some(result)).await;
        let fixed = match applied {
            0 => Fixed::No,
            applied if applied == total => Fixed::Yes,
            _ => Fixed::InPart,
        };
        if is_stopped {
            self.outcome.count(fixed);
            return Err(cancelled());
        }
        Ok(fixed)
    }

    /// Proposes a change. Returns whether the change is approved.
    async fn approve(&self, proposal: &Proposal, permission: Permission) -> Result<bool, Fault> {
        let run = self.run;
        let is_safe = run.request.options.auto_apply_safe_fixes && proposal.risk == Risk::Low;
        let requires_approval = permission != Permission::Allow && !is_safe;
        let content = Content::proposal(run.next_proposal_id(), proposal, requires_approval);
        run.stream.send(content).await;
        if !requires_approval {
            return Ok(true);
        }
        let prompt = format!("Apply this fix to {}?", proposal.file_path);
        match run.ask(InteractionKind::FileApproval, prompt).await {
            Answer::Stopped => Err(cancelled()),
            answer => Ok(answer == Answer::Approved),
        }
    }

    /// Applies approved changes until the run must end. Returns the number of applied changes, and the errors of those
    /// that could not be applied.
    async fn apply(
        &mut self,
        incident: &Incident,
        approved: Vec<Proposal>,
    ) -> Result<(usize, Vec<WorkspaceError>), Fault> {
        let (mut applied, mut errors) = (0, Vec::new());
        let rest = if approved.len() == 1 { Rest::All } else { Rest::Some };
        for proposal in approved {
            if self.run.is_stopped() {
                break;
            }
            let (workspace, path) = (Arc::clone(&self.workspace), proposal.file_path.clone());
            match blocking(move || workspace.apply(&proposal)).await? {
                Ok(()) => {
                    applied += 1;
                    self.changed.entry(incident.rule_id.clone()).or_default().insert(path);
                }
                Err(error) => {
                    let details = error.to_string();
                    self.error_of("FILE_MODIFICATION_FAILED", incident, rest, &details, error.remedy()).await;
                    self.failed_files.push(error.clone());
                    errors.push(error);
                }
            }
        }
        Ok((applied, errors))
    }

    fn permission(&self, tool: &str) -> Permission {
        self.run.configuration.permissions.tool_permissions.of(None, tool)
    }

    async fn tool(
        &self,
        name: &str,
        operation: &str,
        parameters: &Value,
        status: ToolStatus,
        result: Option<ToolResult>,
    ) {
        let content = Content::ToolCall {
            tool_name: name.to_owned(),
            operation: operation.to_owned(),
            parameters: parameters.clone(),
            status,
            result,
        };
        self.run.stream.send(content).await;
    }

    async fn error(&self, error_code: &'static str, incident: &Incident, details: &str, action: &str) {
        self.error_of(error_code, incident, Rest::All, details, action).await;
    }

    /// Reports that all places or some places of an incident are not fixed.
    async fn error_of(&self, error_code: &'static str, incident: &Incident, rest: Rest, details: &str, action: &str) {
        let (id, rule_id) = (&incident.id, &incident.rule_id);
        let content = Content::Error {
            error_code,
            message: match rest {
                Rest::All => format!("The incident {id} of {rule_id} is not fixed"),
                Rest::Some => format!("Some places of the incident {id} of {rule_id} are not fixed"),
            },
            details: details.to_owned(),
            recoverable: true,
            suggested_action: action.to_owned(),
        };
        self.run.stream.send(content).await;
    }
}

/// The places of an incident that are not fixed.
#[derive(Clone, Copy)]
enum Rest {
    All,
    Some,
}

fn read_parameters(incident: &Incident) -> Value {
    json!({ "rule_id": incident.rule_id, "file_path": incident.uri, "line_number": incident.line_number })
}

fn success(start: Instant, output: String) -> ToolResult {
    ToolResult { success: true, output: Some(cut_output(&output)), error: None, execution_time: milliseconds(start) }
}

fn failure(start: Instant, error: String) -> ToolResult {
    ToolResult { success: false, output: None, error: Some(cut_output(&error)), execution_time: milliseconds(start) }
}

fn milliseconds(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
