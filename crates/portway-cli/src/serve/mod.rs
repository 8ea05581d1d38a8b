//! `portway serve`: a program, or a demonstration, on standard streams, sockets and WebSockets.

mod arguments;
mod demo;
mod mcp;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use portway::{Admission, Closed, Framing, Limits, Listener, Refusal, Service, Transport, WebSocketPolicy};
use portway_cli_support::signals::Signals;
use tokio::process::Command;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

pub(crate) use self::arguments::ServeArguments;
#[cfg(test)]
pub(crate) use self::arguments::{SERVE_NOTES, SERVE_USAGE};
use crate::accept::RETRY_INTERVAL;
use crate::limits::{LINK_GRACE, MAX_PROCESSES};
use crate::output::{Failure, USAGE_OR_IO_FAILED, print_message};
use crate::program::UNREACHABLE;

pub(crate) fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    let failure = |error: io::Error| Failure::new(UNREACHABLE, error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failure)?;
    let outcome = runtime.block_on(serve(arguments));
    // A thread may still be reading standard input. The command exits without waiting for this thread.
    runtime.shutdown_background();
    outcome.map(|()| ExitCode::SUCCESS)
}

async fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    let failure = |error: io::Error| Failure::new(UNREACHABLE, error.to_string());
    let mut signals = Signals::listen().map_err(failure)?;
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = arguments.max_bytes;
    if let Some(address) = &arguments.endpoints.mcp_http {
        return mcp::serve(arguments, address, limits, signals).await;
    }
    let framing = Framing::from(arguments.socket_framing.unwrap_or(arguments.framing));
    let configure = move |transport: Transport| transport.with_limits(limits).with_grace(LINK_GRACE);
    let listeners = listeners(arguments, framing).await?;
    let stdio =
        if arguments.endpoints.stdio { Some(Transport::stdio(framing).map(configure).map_err(failure)?) } else { None };
    let shutdown = async move {
        signals.next().await;
    };
    if arguments.service.demo {
        let mut service = Service::new(demo::set_up);
        for listener in listeners {
            service = service.listen(listener.with(configure));
        }
        if let Some(stdio) = stdio {
            service = service.connect(stdio);
        }
        let served = service.serve_until(shutdown).await;
        return served.map_err(|error| Failure::new(UNREACHABLE, format!("cannot serve: {error}")));
    }
    let (stop, _) = watch::channel(false);
    let program = Arc::new(Program {
        command: arguments.service.program.clone(),
        framing: arguments.framing.into(),
        limits,
        stop,
        permits: Arc::new(Semaphore::new(MAX_PROCESSES)),
    });
    program.serve(listeners.into_iter().map(|listener| listener.with(configure)).collect(), stdio, shutdown).await;
    Ok(())
}

/// Opens the sockets, and prints the address of each socket.
async fn listeners(arguments: &ServeArguments, framing: Framing) -> Result<Vec<Listener>, Failure> {
    let failure = |error: io::Error| Failure::new(UNREACHABLE, format!("cannot listen on {error}"));
    let mut listeners = Vec::new();
    if let Some(path) = &arguments.endpoints.unix {
        listeners.push(Listener::unix(path, framing).await.map_err(failure)?);
        print_message(format_args!("listening on {}", path.display()));
    }
    if let Some(address) = &arguments.endpoints.tcp {
        let listener = Listener::tcp(address, framing).await.map_err(failure)?;
        if let Some(address) = listener.address() {
            print_message(format_args!("listening on tcp://{address}"));
        }
        listeners.push(listener);
    }
    if let Some(address) = &arguments.endpoints.ws {
        let listener = Listener::websocket_with(address, policy(arguments)?).await.map_err(failure)?;
        if let Some(address) = listener.address() {
            print_message(format_args!("listening on ws://{address}/"));
        }
        listeners.push(listener);
    }
    Ok(listeners)
}

/// Returns the policy that decides which WebSockets are admitted.
fn policy(arguments: &ServeArguments) -> Result<WebSocketPolicy, Failure> {
    let mut policy = WebSocketPolicy::new();
    if !arguments.service.demo {
        policy = policy.max_connections(MAX_PROCESSES).max_connections_per_address(MAX_PROCESSES);
    }
    for origin in &arguments.origins {
        policy = policy.origin(origin);
    }
    for host in &arguments.hosts {
        policy = policy.host(host);
    }
    let Some(file) = &arguments.token_file else { return Ok(policy) };
    let name = file.display();
    let token = fs::read_to_string(file)
        .map_err(|error| Failure::new(USAGE_OR_IO_FAILED, format!("cannot read {name}: {error}")))?;
    let token = Arc::<str>::from(token.trim());
    if token.is_empty() || token.contains(|character: char| !character.is_ascii_graphic()) {
        return Err(Failure::new(
            USAGE_OR_IO_FAILED,
            format!("{name} must have one token of visible ASCII without spaces"),
        ));
    }
    Ok(policy.check(move |head| {
        let is_valid = head.has_token(&token);
        async move { if is_valid { Ok(Admission::anonymous()) } else { Err(Refusal::Unauthorized) } }
    }))
}

/// A program that is started for each connection.
struct Program {
    command: Vec<OsString>,
    framing: Framing,
    limits: Limits,
    /// Whether the processes must end.
    stop: watch::Sender<bool>,
    /// The permits for processes. Each running process has one permit.
    permits: Arc<Semaphore>,
}

impl Program {
    /// Serves until a signal arrives. Without listeners, also ends when the connection on standard input and output has
    /// ended.
    async fn serve(
        self: Arc<Self>,
        listeners: Vec<Listener>,
        stdio: Option<Transport>,
        shutdown: impl Future<Output = ()>,
    ) {
        let mut accepting = JoinSet::new();
        let (sender, mut accepted) = tokio::sync::mpsc::channel(1);
        for listener in listeners {
            let sender = sender.clone();
            accepting.spawn(async move {
                loop {
                    match listener.accept().await {
                        Ok(transport) => {
                            if sender.send(transport).await.is_err() {
                                break;
                            }
                        }
                        // Most errors concern only one connection, so the listener stays open.
                        Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
                    }
                }
            });
        }
        drop(sender);
        let mut relays = JoinSet::new();
        if let Some(stdio) = stdio {
            relays.spawn(Arc::clone(&self).relay(stdio));
        }
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                next = accepted.recv() => match next {
                    Some(transport) => {
                        relays.spawn(Arc::clone(&self).relay(transport));
                    }
                    None => break self.drain(&mut relays, &mut shutdown).await,
                },
                Some(_) = relays.join_next() => {}
            }
        }
        accepting.shutdown().await;
        drop(accepted);
        self.stop.send_replace(true);
        while relays.join_next().await.is_some() {}
    }

    /// Waits until all relays have ended, or until a signal arrives.
    async fn drain(&self, relays: &mut JoinSet<()>, shutdown: &mut (impl Future<Output = ()> + Unpin)) {
        loop {
            tokio::select! {
                () = &mut *shutdown => break,
                next = relays.join_next() => if next.is_none() { break },
            }
        }
    }

    /// Starts a process for a connection. Passes messages between the connection and the process until one of
    /// them ends.
    async fn relay(self: Arc<Self>, connection: Transport) {
        let mut stop = self.stop.subscribe();
        let permit = tokio::select! {
            permit = self.permits.acquire() => permit,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        let Ok(_permit) = permit else { return };
        let Some((program, arguments)) = self.command.split_first() else { return };
        let mut command = Command::new(program);
        command.args(arguments);
        let process = match Transport::child(&mut command, self.framing) {
            Ok(process) => process.with_limits(self.limits).with_grace(LINK_GRACE),
            Err(error) => return print_message(format_args!("cannot start {error}")),
        };
        let shutdown = async move {
            let _ = stop.wait_for(|stop| *stop).await;
        };
        match connection.relay(process, shutdown).await {
            Closed::Exited(status) if !status.success() => {
                print_message(format_args!("the program ended ({status})"));
            }
            closed @ (Closed::Io(..) | Closed::Truncated(_)) => {
                print_message(format_args!("a connection has ended: {closed}"));
            }
            _ => {}
        }
    }
}
