//! The six methods of the daemon.

use serde::Serialize;
use serde_json::value::RawValue;
use tracing::{error, info};

use portway::{Context, RpcError, Server, Stopper};

use crate::diagnostics::DisplayId;
use crate::logging::LevelHandle;
use crate::params;

/// Version of JSON-RPC.
const PROTOCOL: &str = "2.0";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The description of a method, for `listMethods` and `describeMethods`.
struct Method {
    name: &'static str,
    description: &'static str,
    params: &'static [&'static str],
    returns: &'static str,
}

const METHODS: [Method; 6] = [
    Method {
        name: "initialize",
        description: "Returns the name and version of the server, and the version of the protocol",
        params: &[],
        returns: "{serverInfo: {name: string, version: string}, protocolVersion: string}",
    },
    Method {
        name: "listMethods",
        description: "Lists the methods with a description of each",
        params: &[],
        returns: "[{name: string, description: string}]",
    },
    Method {
        name: "describeMethods",
        description: "Lists the methods with the parameters and the result of each",
        params: &[],
        returns: "[{name: string, params: [string], returns: string}]",
    },
    Method {
        name: "version",
        description: "Returns the version of the server",
        params: &[],
        returns: "{version: string}",
    },
    Method {
        name: "setLogLevel",
        description: "Sets the least severity that is logged: debug, info, warn or error",
        params: &["level: string"],
        returns: "{level: string, success: boolean}",
    },
    Method {
        name: "shutdown",
        description: "Ends the server after the answer to this request",
        params: &[],
        returns: "{message: string}",
    },
];

/// Params as JSON text. Each method parses its params, so that an error can name the invalid param.
type Params = Option<Box<RawValue>>;

/// Registers all methods, each for requests and for notifications.
pub(crate) fn register(server: &Server, level: &LevelHandle, stopper: &Stopper) {
    add(server, "initialize", without_params(initialize));
    add(server, "listMethods", without_params(list_methods));
    add(server, "describeMethods", without_params(describe_methods));
    add(server, "version", without_params(|| Version { version: VERSION }));
    let level = level.clone();
    add(server, "setLogLevel", move |params, _| set_log_level(params, &level));
    let stopper = stopper.clone();
    add(server, "shutdown", move |params, context| shut_down(params, context, &stopper));
}

fn add<R, F>(server: &Server, name: &'static str, run: F)
where
    R: Serialize,
    F: Fn(&Params, &Context) -> Result<R, RpcError> + Clone + Send + Sync + 'static,
{
    let for_notification = run.clone();
    server.method_sync(name, move |params: Params, context: Context| run(&params, &context)).on_notify(
        name,
        move |params: Params, context: Context| {
            // The client receives no response to a notification, so only the log reports the error.
            if let Err(problem) = for_notification(&params, &context) {
                error!(method = name, "notification failed: {problem}");
            }
        },
    );
}

fn without_params<R>(
    run: impl Fn() -> R + Clone + Send + Sync + 'static,
) -> impl Fn(&Params, &Context) -> Result<R, RpcError> + Clone + Send + Sync + 'static {
    move |params, _| params::expect_none(params.as_deref()).map(|()| run())
}

// Results.

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    server_info: ServerInfo,
    protocol_version: &'static str,
}

#[derive(Serialize)]
struct ServerInfo {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Version {
    version: &'static str,
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    description: &'static str,
}

#[derive(Serialize)]
struct Described {
    name: &'static str,
    params: &'static [&'static str],
    returns: &'static str,
}

#[derive(Serialize)]
struct LevelSet {
    level: &'static str,
    success: bool,
}

#[derive(Serialize)]
struct ShuttingDown {
    message: &'static str,
}

fn initialize() -> Initialized {
    Initialized { server_info: ServerInfo { name: "duet-rpc", version: VERSION }, protocol_version: PROTOCOL }
}

fn list_methods() -> Vec<Listed> {
    METHODS.iter().map(|&Method { name, description, .. }| Listed { name, description }).collect()
}

fn describe_methods() -> Vec<Described> {
    METHODS.iter().map(|&Method { name, params, returns, .. }| Described { name, params, returns }).collect()
}

fn set_log_level(params: &Params, handle: &LevelHandle) -> Result<LevelSet, RpcError> {
    let level = params::level(params.as_deref())?;
    handle.set(level).map_err(|_| RpcError::internal("Internal error"))?;
    info!("the level of the log is {}", level.name());
    Ok(LevelSet { level: level.name(), success: true })
}

/// Stops the server. The response to this request is still sent.
fn shut_down(params: &Params, context: &Context, stopper: &Stopper) -> Result<ShuttingDown, RpcError> {
    params::expect_none(params.as_deref())?;
    let id = context.id();
    let id = id.as_ref().map(|id| tracing::field::display(DisplayId(id)));
    info!(method = "shutdown", id, "shutdown requested, shutting down gracefully");
    stopper.stop();
    Ok(ShuttingDown { message: "Shutting down gracefully" })
}
