//! The configuration of the agent, and the command `kaiak/configure`.

use std::path::{Path, PathBuf, absolute};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::fault::{Fault, echo};
use crate::fields::{Field, Object, Problem};
use crate::limits::{
    DEFAULT_TOOL_CALLS, DEFAULT_TURNS, MAX_CONFIGURATION_BYTES, MAX_CONFIGURED_NUMBER, MAX_LIST_ITEMS,
    MAX_NAME_CHARACTERS, MAX_TOOL_CALLS,
};
use crate::permission::{Permission, Permissions};
use crate::time;
use crate::workspace::{DEFAULT_EXCLUDE, DEFAULT_INCLUDE, MAX_PATH_CHARS, compile_globs};

/// The kinds of custom tools.
const EXTENSION_TYPES: [&str; 4] = ["stdio", "sse", "platform", "frontend"];

/// The whole configuration, in the form of the contract.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Configuration {
    pub(crate) workspace: WorkspaceSection,
    pub(crate) model: ModelSection,
    pub(crate) tools: ToolsSection,
    pub(crate) session: SessionSection,
    pub(crate) permissions: PermissionsSection,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct WorkspaceSection {
    /// An absolute path. In results, it is text.
    #[serde(serialize_with = "as_text")]
    pub(crate) working_dir: PathBuf,
    pub(crate) include_patterns: Vec<String>,
    pub(crate) exclude_patterns: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ModelSection {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) temperature: Option<f64>,
    pub(crate) max_tokens: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ToolsSection {
    pub(crate) enabled_extensions: Vec<String>,
    pub(crate) custom_tools: Vec<Value>,
    pub(crate) planning_mode: bool,
    pub(crate) max_tool_calls: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SessionSection {
    pub(crate) max_turns: u64,
    pub(crate) retry_config: Value,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct PermissionsSection {
    pub(crate) tool_permissions: Permissions,
}

impl Configuration {
    /// Returns the defaults. The workspace is `working_dir`.
    pub(crate) fn defaults(working_dir: PathBuf) -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Self {
            workspace: WorkspaceSection {
                working_dir,
                include_patterns: texts(DEFAULT_INCLUDE),
                exclude_patterns: texts(DEFAULT_EXCLUDE),
            },
            model: ModelSection::default(),
            tools: ToolsSection {
                enabled_extensions: texts(&["developer", "todo", "extensionmanager"]),
                custom_tools: Vec::new(),
                planning_mode: false,
                max_tool_calls: DEFAULT_TOOL_CALLS,
            },
            session: SessionSection { max_turns: DEFAULT_TURNS, retry_config: Value::Null },
            permissions: PermissionsSection::default(),
        }
    }
}

/// A valid request of `kaiak/configure`, merged over the present configuration.
#[derive(Debug)]
pub(crate) struct ConfigureRequest {
    pub(crate) configuration: Configuration,
    /// The paths of the members that the client has set.
    pub(crate) set: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

/// Reads the argument of `kaiak/configure`, and merges it over `present`, or over `defaults` if the client resets the
/// configuration.
///
/// # Errors
/// -32602 for an invalid member of the argument, and -32014 for an invalid value of the configuration.
pub(crate) fn configure(
    argument: &Object<'_>,
    present: &Configuration,
    defaults: Configuration,
) -> Result<ConfigureRequest, Fault> {
    let reset = argument.optional("reset_existing").map_or(Ok(false), |field| field.boolean())?;
    // In errors, the paths of members begin after the member `configuration`.
    let changes = argument.field("configuration").object()?.as_root();
    let base = if reset { defaults } else { present.clone() };
    let mut request = ConfigureRequest { configuration: base, set: Vec::new(), warnings: Vec::new() };
    request.warn_unknown(argument, &["configuration", "reset_existing"]);
    request.merge(&changes).map_err(Problem::into_configuration_fault)?;
    Ok(request)
}

/// Checks the size of a configuration. Each request can add permissions, and each result contains all of them.
///
/// # Errors
/// -32014.
pub(crate) fn check_size(configuration: &Configuration) -> Result<(), Fault> {
    let bytes = serde_json::to_string(configuration).map_or(usize::MAX, |json| json.len());
    if bytes <= MAX_CONFIGURATION_BYTES {
        return Ok(());
    }
    let details = format!("the whole configuration must have at most {MAX_CONFIGURATION_BYTES} bytes, got {bytes}");
    Err(Problem { field: "configuration".to_owned(), details }.into_configuration_fault())
}

/// Returns the result of `kaiak/configure`.
pub(crate) fn result(request: &ConfigureRequest, warnings: &[String]) -> Value {
    json!({
        "status": "success",
        "message": "Agent configured successfully",
        "configuration_applied": request.configuration,
        "warnings": warnings,
        "timestamp": time::now(),
    })
}

impl ConfigureRequest {
    fn merge(&mut self, changes: &Object<'_>) -> Result<(), Problem> {
        self.warn_unknown(changes, &["workspace", "model", "tools", "session", "permissions"]);
        for (name, field) in changes.members() {
            match name.as_str() {
                "workspace" => self.workspace(&field.object()?)?,
                "model" => self.model(&field.object()?)?,
                "tools" => self.tools(&field.object()?)?,
                "session" => self.session(&field.object()?)?,
                "permissions" => self.permissions(&field.object()?)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn workspace(&mut self, section: &Object<'_>) -> Result<(), Problem> {
        self.warn_unknown(section, &["working_dir", "include_patterns", "exclude_patterns"]);
        if let Some(field) = self.set(section, "working_dir") {
            self.configuration.workspace.working_dir = working_dir(&field)?;
        }
        if let Some(field) = self.set(section, "include_patterns") {
            self.configuration.workspace.include_patterns = patterns(&field, 1)?;
        }
        if let Some(field) = self.set(section, "exclude_patterns") {
            self.configuration.workspace.exclude_patterns = patterns(&field, 0)?;
        }
        Ok(())
    }

    fn model(&mut self, section: &Object<'_>) -> Result<(), Problem> {
        self.warn_unknown(section, &["provider", "model", "temperature", "max_tokens"]);
        let name =
            |field: Field<'_>| nullable(&field, |field| field.string(1..=MAX_NAME_CHARACTERS).map(str::to_owned));
        if let Some(field) = self.set(section, "provider") {
            self.configuration.model.provider = name(field)?;
        }
        if let Some(field) = self.set(section, "model") {
            self.configuration.model.model = name(field)?;
        }
        if let Some(field) = self.set(section, "temperature") {
            self.configuration.model.temperature = nullable(&field, |field| field.number(0.0..=2.0))?;
        }
        if let Some(field) = self.set(section, "max_tokens") {
            self.configuration.model.max_tokens = nullable(&field, |field| field.integer(1..=MAX_CONFIGURED_NUMBER))?;
        }
        Ok(())
    }

    fn tools(&mut self, section: &Object<'_>) -> Result<(), Problem> {
        self.warn_unknown(section, &["enabled_extensions", "custom_tools", "planning_mode", "max_tool_calls"]);
        if let Some(field) = self.set(section, "enabled_extensions") {
            let names = field.array(0..=MAX_LIST_ITEMS)?;
            let names = names.iter().map(|name| name.string(1..=MAX_NAME_CHARACTERS).map(str::to_owned));
            self.configuration.tools.enabled_extensions = names.collect::<Result<_, _>>()?;
        }
        if let Some(field) = self.set(section, "custom_tools") {
            let tools = field.array(0..=MAX_LIST_ITEMS)?;
            self.configuration.tools.custom_tools = tools.iter().map(custom_tool).collect::<Result<_, _>>()?;
        }
        if let Some(field) = self.set(section, "planning_mode") {
            self.configuration.tools.planning_mode = field.boolean()?;
        }
        if let Some(field) = self.set(section, "max_tool_calls") {
            self.configuration.tools.max_tool_calls = field.integer(1..=MAX_TOOL_CALLS)?;
        }
        Ok(())
    }

    fn session(&mut self, section: &Object<'_>) -> Result<(), Problem> {
        self.warn_unknown(section, &["max_turns", "retry_config"]);
        if let Some(field) = self.set(section, "max_turns") {
            self.configuration.session.max_turns = field.integer(1..=MAX_CONFIGURED_NUMBER)?;
        }
        if let Some(field) = self.set(section, "retry_config") {
            nullable(&field, Field::object)?;
            self.configuration.session.retry_config = field.value.cloned().unwrap_or_default();
        }
        Ok(())
    }

    fn permissions(&mut self, section: &Object<'_>) -> Result<(), Problem> {
        self.warn_unknown(section, &["tool_permissions"]);
        let Some(field) = self.set(section, "tool_permissions") else { return Ok(()) };
        let permissions = field.object()?;
        if permissions.members().next().is_none() {
            return Err(field.problem("must name at least one tool, got none"));
        }
        for (name, permission) in permissions.members() {
            if !(1..=MAX_NAME_CHARACTERS).contains(&name.chars().count()) {
                let details = format!("names of tools must have 1 to {MAX_NAME_CHARACTERS} characters");
                return Err(field.problem(details));
            }
            let parsed = permission.one_of(&Permission::NAMES)?;
            let permission = Permission::parse(parsed).unwrap_or(Permission::Approve);
            self.configuration.permissions.tool_permissions.0.insert(name.clone(), permission);
        }
        Ok(())
    }

    /// Returns a member that the client has set, and records its path.
    fn set<'a>(&mut self, section: &Object<'a>, name: &str) -> Option<Field<'a>> {
        let field = section.present(name)?;
        self.set.push(field.path.clone());
        Some(field)
    }

    fn warn_unknown(&mut self, object: &Object<'_>, names: &[&str]) {
        self.warnings.extend(object.unknown(names).into_iter().map(|path| format!("{path}: unknown member, ignored")));
    }
}

/// Returns `None` for the value null.
fn nullable<'a, T>(
    field: &Field<'a>,
    read: impl FnOnce(&Field<'a>) -> Result<T, Problem>,
) -> Result<Option<T>, Problem> {
    if field.value.is_some_and(Value::is_null) { Ok(None) } else { read(field).map(Some) }
}

fn working_dir(field: &Field<'_>) -> Result<PathBuf, Problem> {
    let text = field.string(1..=MAX_PATH_CHARS)?;
    let problem = |problem: &str| field.problem(format!("Directory '{}' {problem}", echo(text)));
    // An absolute path does not depend on the working directory of this process.
    let path = absolute(text).map_err(|_| problem("is not a valid path"))?;
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(path),
        Ok(_) => Err(problem("is not a directory")),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err(problem("cannot be accessed")),
        Err(_) => Err(problem("does not exist")),
    }
}

fn patterns(field: &Field<'_>, min: usize) -> Result<Vec<String>, Problem> {
    let patterns = field.array(min..=MAX_LIST_ITEMS)?;
    let pattern = |pattern: &Field<'_>| {
        let text = pattern.string(1..=MAX_PATH_CHARS)?;
        compile_globs(&[text]).map_err(|error| pattern.problem(format!("must be a glob pattern: {}", error.kind())))?;
        Ok(text.to_owned())
    };
    let patterns: Vec<String> = patterns.iter().map(pattern).collect::<Result<_, _>>()?;
    compile_globs(&patterns).map_err(|error| field.problem(format!("must be simpler patterns: {}", error.kind())))?;
    Ok(patterns)
}

/// Serializes a path. Bytes that are not UTF-8 are replaced.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Checks a custom tool: `{ name, extension_type, config }`.
fn custom_tool(field: &Field<'_>) -> Result<Value, Problem> {
    let tool = field.object()?;
    tool.field("name").string(1..=MAX_NAME_CHARACTERS)?;
    tool.field("extension_type").one_of(&EXTENSION_TYPES)?;
    tool.field("config").object()?;
    Ok(field.value.cloned().unwrap_or_default())
}

/// Returns the working directory of this process, or `/` if it was removed.
pub(crate) fn current_dir() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_path_buf())
}
