//! The commands of the contract.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use portway::{Client, Context, Peer, RpcError};
use serde_json::{Value, json};
use tracing::warn;

use crate::backend::{Backend, Cleanup};
use crate::client::OpenRequests;
use crate::config::{self, Configuration};
use crate::fault::{Code, Fault};
use crate::fields::Field;
use crate::interaction::Interactions;
use crate::limits::{MAX_LISTED, STOP_GRACE};
use crate::protocol::{
    self, CONFIGURE, Command, DELETE_SESSION, DeleteRequest, EXECUTE_COMMAND, FixRequest, GENERATE_FIX,
    InteractionResponse, RESPOND,
};
use crate::run;
use crate::session::{Session, Sessions, Stop};
use crate::time;

/// The state that all connections share.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) sessions: Sessions,
    pub(crate) interactions: Arc<Interactions>,
    pub(crate) options: ServerOptions,
    configuration: Mutex<Arc<Configuration>>,
    is_ending: AtomicBool,
}

/// The options of the command line that apply to all backends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerOptions {
    pub(crate) interaction_timeout: Duration,
    pub(crate) max_sessions: usize,
}

impl Server {
    pub(crate) fn new(backend: Box<dyn Backend>, options: ServerOptions) -> Self {
        let configuration = Mutex::new(Arc::new(Configuration::defaults(config::current_dir())));
        let sessions = Sessions::new(options.max_sessions);
        Self {
            backend,
            sessions,
            interactions: Arc::default(),
            options,
            configuration,
            is_ending: AtomicBool::new(false),
        }
    }

    /// Returns the present configuration. A running request keeps the configuration of its start.
    pub(crate) fn configuration(&self) -> Arc<Configuration> {
        Arc::clone(&self.configuration.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Registers the methods of a connection.
    pub(crate) fn register(self: &Arc<Self>, peer: &Peer) {
        let (server, client) = (Arc::clone(self), peer.client().clone());
        let open = OpenRequests::default();
        let requests = open.clone();
        peer.method(EXECUTE_COMMAND, move |params: Value, context: Context| {
            let (server, client) = (Arc::clone(&server), client.clone());
            let request = requests.begin(&context);
            async move {
                let _request = request?;
                server.execute(&params, context, client).await.map_err(RpcError::from)
            }
        });
        let server = Arc::clone(self);
        peer.method_sync(RESPOND, move |params: Value, context: Context| {
            let _request = open.begin(&context)?;
            server.respond(&params).map_err(RpcError::from)
        });
        for name in [CONFIGURE, GENERATE_FIX, DELETE_SESSION] {
            peer.method_sync(name, move |_: Value, _: Context| {
                Err::<Value, RpcError>(protocol::command_as_method(name).into())
            });
        }
        let server = Arc::clone(self);
        peer.on_notify(EXECUTE_COMMAND, move |params: Value, _: Context| server.execute_notification(&params));
    }

    async fn execute(self: &Arc<Self>, params: &Value, context: Context, client: Client) -> Result<Value, Fault> {
        let command = Command::read(params)?;
        match command.name {
            CONFIGURE => self.configure(&command),
            GENERATE_FIX => {
                let request = FixRequest::read(&command.argument()?)?;
                run::generate_fix(self, request, context, client).await
            }
            DELETE_SESSION => {
                let request = DeleteRequest::read(&command.argument()?)?;
                self.delete_session(request).await
            }
            RESPOND => Ok(self.interactions.respond(&InteractionResponse::read(&command.argument()?)?)?),
            _ => Err(command.unknown()),
        }
    }

    /// Handles a command without an id. Only answers to questions are accepted, because the client would not receive
    /// the result of another command.
    fn execute_notification(&self, params: &Value) {
        let answered = Command::read(params).and_then(|command| match command.name {
            RESPOND => self.interactions.respond(&InteractionResponse::read(&command.argument()?)?),
            _ => Err(Fault::reason(Code::InvalidParams, "no-id", "the command must be a request")),
        });
        if let Err(fault) = answered {
            warn!("a command without an id was ignored: {}", fault.details());
        }
    }

    fn respond(&self, params: &Value) -> Result<Value, Fault> {
        let params = Field::new("params".to_owned(), params).object()?.as_root();
        self.interactions.respond(&InteractionResponse::read(&params)?)
    }

    fn configure(&self, command: &Command<'_>) -> Result<Value, Fault> {
        let argument = command.argument()?;
        let mut present = self.configuration.lock().unwrap_or_else(PoisonError::into_inner);
        let defaults = Configuration::defaults(config::current_dir());
        let request = config::configure(&argument, &present, defaults)?;
        config::check_size(&request.configuration)?;
        let mut warnings = request.warnings.clone();
        warnings.extend(self.backend.warnings(&request));
        // A result that is too long would be an error, although the configuration has changed.
        if warnings.len() > MAX_LISTED {
            let rest = warnings.len() - MAX_LISTED;
            warnings.truncate(MAX_LISTED);
            warnings.push(format!("and {rest} more"));
        }
        *present = Arc::new(request.configuration.clone());
        drop(present);
        Ok(config::result(&request, &warnings))
    }

    async fn delete_session(self: &Arc<Self>, request: DeleteRequest) -> Result<Value, Fault> {
        let id = request.session_id.as_str();
        let Some(session) = self.sessions.get(&request.session_id) else {
            return Err(Fault::session(Code::SessionNotFound, id));
        };
        session.terminate(request.force)?;
        // The deletion runs in a task, so that the session does not remain if the client cancels this request.
        let server = Arc::clone(self);
        let deleted = Arc::clone(&session);
        let task = tokio::spawn(async move {
            let cleanup = close(&deleted, request.cleanup_files).await;
            server.sessions.remove(&deleted);
            cleanup
        });
        let cleanup =
            task.await.map_err(|_| Fault::reason(Code::Internal, "deletion-failed", "the deletion failed"))?;
        Ok(json!({
            "session_id": id,
            "status": "deleted",
            "cleanup_summary": {
                "session_removed": true,
                "messages_cleaned": session.messages.load(Ordering::Relaxed),
                "temp_files_removed": cleanup.temp_files_removed,
                "errors": cleanup.errors,
            },
            "deleted_at": time::now(),
        }))
    }

    /// Stops all runs, so that their requests are answered while the links end. No further run begins.
    pub(crate) fn stop_runs(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
        for session in self.sessions.all() {
            session.stop(Stop::Shutdown);
        }
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Ends all runs and all agents, and removes their files.
    pub(crate) async fn shut_down(&self) {
        self.stop_runs();
        let sessions = self.sessions.all();
        let mut closing = tokio::task::JoinSet::new();
        for session in sessions {
            closing.spawn(async move { close(&session, true).await });
        }
        while let Some(closed) = closing.join_next().await {
            for error in closed.unwrap_or_default().errors {
                warn!("{error}");
            }
        }
    }
}

/// Ends the agent of a session, after its running request has ended.
async fn close(session: &Session, cleanup_files: bool) -> Cleanup {
    let agent = async {
        session.idle().await;
        session.agent.lock().await.take()
    };
    match tokio::time::timeout(STOP_GRACE * 2, agent).await {
        Ok(Some(agent)) => agent.close(cleanup_files).await,
        Ok(None) => Cleanup::default(),
        Err(_) => Cleanup { temp_files_removed: 0, errors: vec!["the running request does not end".to_owned()] },
    }
}
