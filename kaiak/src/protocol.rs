//! The requests of the contract.

use serde_json::{Value, json};

use crate::fault::{Code, Fault, echo};
use crate::fields::{Field, Object, Problem};
use crate::limits::{
    DEFAULT_PROCESSING_SECONDS, MAX_DESCRIPTION_CHARACTERS, MAX_EFFORT_CHARACTERS, MAX_ID_CHARACTERS, MAX_INCIDENTS,
    MAX_LIST_ITEMS, MAX_MESSAGE_CHARACTERS, MAX_PROCESSING_SECONDS,
};
use crate::workspace::MAX_PATH_CHARS;

/// The method of all commands.
pub(crate) const EXECUTE_COMMAND: &str = "workspace/executeCommand";
/// The method that answers a question. It is also accepted as a command.
pub(crate) const RESPOND: &str = "kaiak/interaction/respond";
pub(crate) const CONFIGURE: &str = "kaiak/configure";
pub(crate) const GENERATE_FIX: &str = "kaiak/generate_fix";
pub(crate) const DELETE_SESSION: &str = "kaiak/delete_session";

const SEVERITIES: [&str; 4] = ["info", "warning", "error", "critical"];
const RESPONSE_TYPES: [&str; 3] = ["approval", "choice", "input"];

/// The params of `workspace/executeCommand`: a command and its argument.
#[derive(Debug)]
pub(crate) struct Command<'a> {
    pub(crate) name: &'a str,
    arguments: Field<'a>,
}

impl<'a> Command<'a> {
    /// Reads the params.
    ///
    /// # Errors
    /// -32602 if the params have no command.
    pub(crate) fn read(params: &'a Value) -> Result<Self, Fault> {
        let params = Field::new("params".to_owned(), params).object()?.as_root();
        let name = params.field("command").string(0..=usize::MAX)?;
        Ok(Self { name, arguments: params.field("arguments") })
    }

    /// Returns the only argument.
    ///
    /// # Errors
    /// -32602 if the arguments are not an array of one object.
    pub(crate) fn argument(&self) -> Result<Object<'a>, Fault> {
        let arguments = self.arguments.array(1..=1)?;
        let argument = arguments.first().ok_or_else(|| self.arguments.problem("must have one element, got none"))?;
        Ok(argument.object()?.as_root())
    }

    /// Returns the error -32601 for a command that is unknown.
    pub(crate) fn unknown(&self) -> Fault {
        let supported = [CONFIGURE, GENERATE_FIX, DELETE_SESSION];
        let data = json!({ "supported_methods": supported, "requested_method": echo(self.name) });
        Fault::new(Code::MethodNotFound, data).with_detail(echo(self.name))
    }
}

/// Returns the error -32601 for a method with the name of a command.
pub(crate) fn command_as_method(name: &str) -> Fault {
    let details = format!("{name} must be sent as a command, got a method; send it in the params of {EXECUTE_COMMAND}");
    Fault::reason(Code::MethodNotFound, "not-a-method", details).with_detail(name)
}

/// The argument of `kaiak/generate_fix`.
#[derive(Clone, Debug)]
pub(crate) struct FixRequest {
    pub(crate) session_id: SessionId,
    pub(crate) incidents: Vec<Incident>,
    pub(crate) context: Option<MigrationContext>,
    pub(crate) options: Options,
}

/// A place in the workspace that a rule has found.
#[derive(Clone, Debug)]
pub(crate) struct Incident {
    pub(crate) id: String,
    pub(crate) rule_id: String,
    pub(crate) message: String,
    pub(crate) description: String,
    pub(crate) effort: String,
    pub(crate) severity: String,
    /// The file of the incident. This member and the next are extensions of the contract.
    pub(crate) uri: Option<String>,
    /// The line of the incident, from 1. Without a file, a line has no meaning and is ignored.
    pub(crate) line_number: Option<u32>,
}

/// The context of a migration, for agents.
#[derive(Clone, Debug)]
pub(crate) struct MigrationContext {
    pub(crate) source_technology: Option<String>,
    pub(crate) target_technology: Option<String>,
    pub(crate) migration_hints: Vec<String>,
    pub(crate) constraints: Vec<String>,
    pub(crate) preferences: Value,
}

/// The options of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) auto_apply_safe_fixes: bool,
    /// The maximum time of the request, in seconds.
    pub(crate) max_processing_time: u64,
    pub(crate) parallel_processing: bool,
    pub(crate) include_explanations: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            auto_apply_safe_fixes: false,
            max_processing_time: DEFAULT_PROCESSING_SECONDS,
            parallel_processing: false,
            include_explanations: false,
        }
    }
}

/// The id of a session: a UUID, in the spelling of the client.
#[derive(Clone, Debug)]
pub(crate) struct SessionId(String);

impl SessionId {
    /// Reads the member `session_id`.
    ///
    /// # Errors
    /// -32602 if the member is not a string. -32003 if the string is not a UUID, because no such session can exist.
    fn read(argument: &Object<'_>) -> Result<Self, Fault> {
        let text = argument.field("session_id").string(0..=usize::MAX)?;
        if is_uuid(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(Fault::session(Code::SessionNotFound, text))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id in the form in which ids are compared (RFC 9562 §4: the case of the digits has no meaning).
    pub(crate) fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// Returns whether a text has the form of a UUID.
fn is_uuid(text: &str) -> bool {
    let has_form = |(index, byte): (usize, u8)| match index {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(has_form)
}

impl FixRequest {
    /// Reads the argument.
    ///
    /// # Errors
    /// -32602 for an invalid member, and -32003 for an id that is not a UUID.
    pub(crate) fn read(argument: &Object<'_>) -> Result<Self, Fault> {
        let incidents = argument.field("incidents").array(1..=MAX_INCIDENTS)?;
        let incidents = incidents.iter().map(Incident::read).collect::<Result<_, _>>()?;
        let context = argument.optional("migration_context").map(|field| MigrationContext::read(&field)).transpose()?;
        let options =
            argument.optional("options").map_or_else(|| Ok(Options::default()), |field| Options::read(&field))?;
        Ok(Self { session_id: SessionId::read(argument)?, incidents, context, options })
    }
}

impl Incident {
    fn read(field: &Field<'_>) -> Result<Self, Problem> {
        let incident = field.object()?;
        let text = |name, lengths| incident.field(name).string(lengths).map(str::to_owned);
        let uri = incident.optional("uri").map(|field| field.string(1..=MAX_PATH_CHARS)).transpose()?;
        let line_number =
            incident.optional("lineNumber").map(|field| field.integer(1..=u32::MAX.into())).transpose()?;
        Ok(Self {
            id: text("id", 1..=MAX_ID_CHARACTERS)?,
            rule_id: text("rule_id", 1..=MAX_ID_CHARACTERS)?,
            message: text("message", 1..=MAX_MESSAGE_CHARACTERS)?,
            description: text("description", 0..=MAX_DESCRIPTION_CHARACTERS)?,
            effort: text("effort", 0..=MAX_EFFORT_CHARACTERS)?,
            severity: incident.field("severity").one_of(&SEVERITIES)?.to_owned(),
            uri: uri.map(str::to_owned),
            line_number: line_number.filter(|_| uri.is_some()).and_then(|number| u32::try_from(number).ok()),
        })
    }
}

impl MigrationContext {
    fn read(field: &Field<'_>) -> Result<Self, Problem> {
        let context = field.object()?;
        let text = |name| {
            let field = context.optional(name);
            field.map(|field| field.string(0..=MAX_DESCRIPTION_CHARACTERS).map(str::to_owned)).transpose()
        };
        let texts = |name| {
            let Some(field) = context.optional(name) else { return Ok(Vec::new()) };
            let texts = field.array(0..=MAX_LIST_ITEMS)?;
            texts.iter().map(|text| text.string(0..=MAX_DESCRIPTION_CHARACTERS).map(str::to_owned)).collect()
        };
        let preferences = context.optional("preferences");
        if let Some(field) = &preferences {
            field.object()?;
        }
        Ok(Self {
            source_technology: text("source_technology")?,
            target_technology: text("target_technology")?,
            migration_hints: texts("migration_hints")?,
            constraints: texts("constraints")?,
            preferences: preferences.and_then(|field| field.value.cloned()).unwrap_or_default(),
        })
    }
}

impl Options {
    fn read(field: &Field<'_>) -> Result<Self, Problem> {
        let options = field.object()?;
        let flag = |name| options.optional(name).map_or(Ok(false), |field| field.boolean());
        let time = options.optional("max_processing_time");
        Ok(Self {
            auto_apply_safe_fixes: flag("auto_apply_safe_fixes")?,
            max_processing_time: time
                .map_or(Ok(DEFAULT_PROCESSING_SECONDS), |field| field.integer(1..=MAX_PROCESSING_SECONDS))?,
            parallel_processing: flag("parallel_processing")?,
            include_explanations: flag("include_explanations")?,
        })
    }
}

/// The argument of `kaiak/delete_session`.
#[derive(Clone, Debug)]
pub(crate) struct DeleteRequest {
    pub(crate) session_id: SessionId,
    pub(crate) force: bool,
    pub(crate) cleanup_files: bool,
}

impl DeleteRequest {
    /// Reads the argument.
    ///
    /// # Errors
    /// -32602 for an invalid member, and -32003 for an id that is not a UUID.
    pub(crate) fn read(argument: &Object<'_>) -> Result<Self, Fault> {
        let flag = |name, default| argument.optional(name).map_or(Ok(default), |field| field.boolean());
        let (force, cleanup_files) = (flag("force", false)?, flag("cleanup_files", true)?);
        Ok(Self { session_id: SessionId::read(argument)?, force, cleanup_files })
    }
}

/// The params of `kaiak/interaction/respond`.
#[derive(Debug)]
pub(crate) struct InteractionResponse<'a> {
    pub(crate) interaction_id: &'a str,
    /// The session of the question, if the client names it.
    pub(crate) session_id: Option<&'a str>,
    response_type: Field<'a>,
    response_data: Field<'a>,
}

impl<'a> InteractionResponse<'a> {
    /// Reads the members that identify the question.
    ///
    /// # Errors
    /// -32602 for an invalid member.
    pub(crate) fn read(params: &Object<'a>) -> Result<Self, Fault> {
        let session_id = params.optional("session_id").map(|field| field.string(0..=usize::MAX)).transpose()?;
        Ok(Self {
            interaction_id: params.field("interaction_id").string(1..=MAX_ID_CHARACTERS)?,
            session_id,
            response_type: params.field("response_type"),
            response_data: params.field("response_data"),
        })
    }

    /// Returns the chosen option.
    ///
    /// # Errors
    /// -32011 if the response is not valid for a question with these options.
    pub(crate) fn option(&self, options: &[&str]) -> Result<&'a str, Fault> {
        let invalid = |problem: Problem| {
            let data = json!({ "field": problem.field, "details": problem.details });
            Fault::new(Code::ResponseValidationFailed, data)
        };
        self.read_option(options).map_err(invalid)
    }

    fn read_option(&self, options: &[&str]) -> Result<&'a str, Problem> {
        let data = || self.response_data.object();
        match self.response_type.one_of(&RESPONSE_TYPES)? {
            "approval" => {
                let approved = data()?.field("approved").boolean()?;
                Ok(if approved { APPROVE } else { DENY })
            }
            "choice" => data()?.field("choice").one_of(options),
            _ => data()?.field("text").one_of(options),
        }
    }
}

/// The option of a question that approves.
pub(crate) const APPROVE: &str = "approve";
/// The option of a question that denies.
pub(crate) const DENY: &str = "deny";

#[cfg(test)]
mod tests {
    use super::is_uuid;

    #[test]
    fn only_the_form_of_a_uuid_is_accepted() {
        assert!(is_uuid("550e8400-e29b-41d4-a716-446655440000"));
        assert!(is_uuid("550E8400-E29B-41D4-A716-446655440000"));
        for text in [
            "",
            "nonexistent-session-id",
            "550e8400-e29b-41d4-a716-44665544000",
            "550e8400-e29b-41d4-a716-4466554400000",
            "550e8400e29b41d4a716446655440000",
            "550e8400-e29b-41d4-a716-44665544000g",
            "{550e8400-e29b-41d4-a716-446655440000}",
            "550e8400-e29b-41d4-a716-44665544000é",
        ] {
            assert!(!is_uuid(text), "{text}");
        }
    }
}
