//! Serves the service on a Unix socket, to everybody who connects.

use std::env;
use std::ffi::OsStr;
use std::process::ExitCode;

use portway::{Framing, Listener};

const USAGE: &str = "usage: one-service PATH\n\
    Counts primes for everybody who connects to the Unix socket PATH, which it makes, until Ctrl-C.\n\
    Messages are JSON-RPC 2.0, each behind a header Content-Length.";

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
        // The listener is dropped, and takes the file of the socket with it.
        interrupted = tokio::signal::ctrl_c() => interrupted,
    }
}
