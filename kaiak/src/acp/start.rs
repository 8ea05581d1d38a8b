//! The start of an agent: its initialization, and its session.

use portway::{CallError, Client};
use serde_json::{Value, json};

use super::client::AgentProcess;
use super::copy::PrivateCopy;
use super::mcp;
use super::wire::{self, Initialized};
use crate::run::Run;
use crate::stream::Level;

/// The reason why an agent did not start.
pub(super) enum StartError {
    Exited,
    /// The member `reason`, and the details.
    Other(&'static str, String),
}

impl StartError {
    fn from_call(error: CallError, initialized: &Initialized) -> Self {
        match error {
            CallError::Remote(error) if error.code.value() == wire::AUTHENTICATION_REQUIRED => {
                let mut details = format!("{}; log in with the agent itself", error.message.trim_end_matches('.'));
                if !initialized.auth_methods.is_empty() {
                    details.push_str(&format!(": {}", initialized.auth_methods.join(", ")));
                }
                Self::Other("login-required", details)
            }
            CallError::Remote(error) => Self::Other("agent-error", error.to_string()),
            _ => Self::Exited,
        }
    }
}

/// Initializes the agent, and creates its session.
pub(super) async fn start_session(
    process: &AgentProcess,
    copy: &PrivateCopy,
    run: &Run,
) -> Result<(Initialized, String), StartError> {
    // The caller limits the time of the whole start.
    let client = process.client.clone().with_timeout(None);
    let none = Initialized::default();
    let initialized = client.call::<Value>("initialize", &wire::initialize()).await;
    let initialized = initialized.map_err(|error| StartError::from_call(error, &none))?;
    let initialized = Initialized::read(&initialized);
    let mut servers = Vec::new();
    for server in run.configuration.tools.custom_tools.iter().filter_map(|tool| mcp::server(tool).ok()) {
        // Only servers of the type `sse` have the member `type`.
        if initialized.has_sse || server.get("type").is_none() {
            servers.push(server);
            continue;
        }
        let name = wire::text(&server, "name").unwrap_or_default();
        let message = format!("the custom tool {name} has no effect: the agent supports no tools of the type sse");
        run.stream.system(Level::Warning, "acp", message).await;
    }
    let params = json!({ "cwd": copy.root(), "mcpServers": servers });
    let session = client.call::<Value>("session/new", &params).await;
    let session = session.map_err(|error| StartError::from_call(error, &initialized))?;
    let no_id = || StartError::Other("agent-error", "session/new returned no sessionId".to_owned());
    let session_id = wire::text(&session, "sessionId").ok_or_else(no_id)?;
    if let Some(model) = &run.configuration.model.model {
        select_model(&client, &session, &session_id, model, run).await;
    }
    Ok((initialized, session_id))
}

/// Selects the configured model, if the agent offers it.
async fn select_model(client: &Client, session: &Value, session_id: &str, model: &str, run: &Run) {
    let option = wire::model_option(session).filter(|option| option.values.iter().any(|value| value == model));
    let problem = match option {
        None => Some("the agent does not offer it".to_owned()),
        Some(option) => {
            let params = json!({ "sessionId": session_id, "configId": option.id, "value": model });
            client.call::<Value>("session/set_config_option", &params).await.err().map(|error| error.to_string())
        }
    };
    if let Some(problem) = problem {
        run.stream.system(Level::Warning, "acp", format!("model.model has no effect: {problem}")).await;
    }
}
