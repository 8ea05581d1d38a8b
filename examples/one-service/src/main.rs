//! Serves the methods of the crate `one_service` on a Unix socket.

use std::env;
use std::ffi::OsStr;
use std::process::ExitCode;

use portway::{Framing, Listener};

const USAGE: &str = "usage: one-service PATH\n\
    Creates the Unix socket PATH and counts primes for its clients, until Ctrl-C.\n\
    Messages are JSON-RPC 2.0, each after a header Content-Length.";

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    match (arguments.next(), arguments.next()) {
        (Some(help), None) if help == "--help" || help == "-h" => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        (Some(path), None) if !path.is_empty() => match serve(&path).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("one-service: {}: {error}", path.display());
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

async fn serve(path: &OsStr) -> std::io::Result<()> {
    let listener = Listener::unix(path, Framing::ContentLength).await?;
    println!("listening on {}", path.display());
    tokio::select! {
        ended = listener.serve(|peer| one_service::add_methods(peer.server())) => ended,
        // Dropping the listener removes the file of the socket.
        interrupted = tokio::signal::ctrl_c() => interrupted,
    }
}
