//! The arguments of `portway tap`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use portway::Limits;
use portway::tap::Direction;

use super::address::Address;
use crate::arguments::DecodeFraming;

#[derive(Debug, Args)]
#[command(override_usage = TAP_USAGE, after_help = TAP_NOTES)]
pub(crate) struct TapArguments {
    /// Listen on this address, and connect each connection to the address of --to: a path, HOST:PORT or ws://HOST:PORT/
    #[arg(long, value_name = "ADDRESS", value_parser = Address::parse, requires = "to", conflicts_with = "program")]
    pub(crate) listen: Option<Address>,

    /// The address of the server: a path, HOST:PORT or ws://HOST:PORT/PATH
    #[arg(long, value_name = "ADDRESS", value_parser = Address::parse, requires = "listen")]
    pub(crate) to: Option<Address>,

    /// Write the records to a file, one JSON object a line; docs/tap.md describes them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) to_file: Option<PathBuf>,

    /// Show the messages in a page on 127.0.0.1, and print its address on standard error
    #[arg(long)]
    pub(crate) inspect: bool,

    /// Print a line for each message on standard error. It is the default without --to-file and --inspect
    #[arg(long)]
    pub(crate) print: bool,

    /// Print only the messages that the client sent, or received
    #[arg(long, value_enum, value_name = "DIRECTION")]
    pub(crate) direction: Option<PrintedDirection>,

    /// Print only these kinds of messages
    #[arg(long, value_enum, value_name = "KINDS", value_delimiter = ',')]
    pub(crate) only: Vec<PrintedKind>,

    /// Print only messages of these methods, and their responses: * is any text, ? is any character
    #[arg(long = "method", value_name = "GLOB")]
    pub(crate) methods: Vec<String>,

    /// The framing of messages, which affects only the records
    #[arg(long, value_enum, default_value_t, value_name = "FRAMING")]
    pub(crate) framing: DecodeFraming,

    /// Maximum length of a recorded message, in bytes. A longer message passes, and is recorded as invalid
    #[arg(long, default_value_t = Limits::DEFAULT.message_bytes, value_name = "BYTES")]
    pub(crate) max_bytes: usize,

    /// Start a program, and pass standard input and output to it
    #[arg(last = true, value_name = "PROGRAM", value_hint = ValueHint::CommandName, required_unless_present = "listen")]
    pub(crate) program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrintedDirection {
    /// From standard input, or from the connecting program
    Sent,
    /// From the started program, or from the server
    Received,
}

impl From<PrintedDirection> for Direction {
    fn from(direction: PrintedDirection) -> Self {
        match direction {
            PrintedDirection::Sent => Self::Sent,
            PrintedDirection::Received => Self::Received,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrintedKind {
    /// Requests
    Requests,
    /// Results and errors
    Responses,
    /// Notifications
    Notifications,
    /// Errors
    Errors,
    /// Messages that are not JSON-RPC, and bytes that are not messages
    Invalid,
}

pub(crate) const TAP_USAGE: &str = "\
portway tap [OPTIONS] -- PROGRAM [ARGUMENT]...
       portway tap [OPTIONS] --listen ADDRESS --to ADDRESS";

pub(crate) const TAP_NOTES: &str = "\
Every byte passes as it is, also bytes that are not messages. The command
decodes a copy. If a reader of the copy is slow, messages are left out of the
copy, and counted there. The programs are not delayed.

With a program, the command takes the place of the program: it passes standard
input and output, the end of either, and the exit status. The program inherits
standard error from this command.

With --listen, each connection opens its own connection to --to. ws:// must be
on both sides or on neither. Then Host and Origin of the request are those of
the server, and compression is not offered to the server. Any program and any
web page of this machine can connect to a port; a socket file is private.

--inspect serves a page until the command ends. The printed address has a random
token, without which the server refuses all requests. A page that is opened
later shows the messages of the last 32 MiB.

--print writes one line for each message, and for each message of a batch:
  seconds, arrow (→ sent, ← received), kind, method, #id, and for a response the
  time since its request. NO_COLOR disables colours.

Exit codes:
  the exit code of the program; 128 plus the number of the signal that ended it
  0  a signal ended --listen
  2  the command line is invalid, or --to-file cannot be written
  3  the program could not be started, or the socket could not be opened
  130, 143, 129  Ctrl-C, SIGTERM or SIGHUP: the input of the program is closed.
     After two seconds, SIGTERM is sent to it and to its processes

Examples:
  portway tap --to-file lsp.jsonl -- pylsp
  portway tap --inspect -- pylsp
  portway tap --method 'textDocument/*' --only requests,errors -- pylsp
  portway tap --listen 127.0.0.1:4001 --to 127.0.0.1:4000
  portway tap --listen ws://127.0.0.1:8081/ --to ws://127.0.0.1:8080/";
