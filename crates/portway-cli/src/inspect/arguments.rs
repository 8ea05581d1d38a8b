//! The arguments of `portway inspect`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
#[command(after_help = INSPECT_NOTES)]
pub(crate) struct InspectArguments {
    /// The port on 127.0.0.1; with 0, the system selects a free port
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub(crate) port: u16,

    /// Show the messages of a file: records of a tap, one JSON object a line; a HAR with WebSocket messages; or lines
    /// of lsp-devtools
    #[arg(long = "open", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    /// Listen on a Unix domain socket, to which programs of this user send the records of their taps, one JSON object
    /// a line
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) listen_records: Option<PathBuf>,
}

pub(crate) const INSPECT_NOTES: &str = "\
The command prints the address of the page, and serves the page until Ctrl-C.
The address has a random token, without which the server refuses all requests.
Other users and other machines cannot open the page, unless they know the
address; the server listens on 127.0.0.1 only.

The page connects to WebSockets, sends messages, opens files, and reads the taps
of other pages of its address. `portway tap --inspect` shows the messages of two
programs instead.

Exit codes:
  0  a signal ended the command
  2  the command line is invalid, or a file cannot be read
  3  the port or the socket cannot be opened

Examples:
  portway inspect
  portway inspect --open lsp.jsonl --open traffic.har
  portway inspect --port 8090 --listen-records /run/user/1000/records.sock";
