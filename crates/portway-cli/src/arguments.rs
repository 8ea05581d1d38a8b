//! The command line and its help texts.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use portway::{Framing, Limits};

use crate::headers::HeaderArgument;
use crate::inspect::InspectArguments;
use crate::mcp::McpArguments;
use crate::serve::ServeArguments;
use crate::tap::TapArguments;

#[derive(Debug, Parser)]
#[command(
    name = "portway",
    version,
    about = "Use JSON-RPC 2.0 at a shell prompt: call a peer, watch two programs, decode a byte stream, check messages",
    after_help = EXAMPLES,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call a method of a program or a server, and print the result
    Call(CallArguments),
    /// Use an MCP server: list its tools, resources and prompts, call a tool, read a resource, get a prompt
    Mcp(McpArguments),
    /// Serve a program on sockets: a process for each connection
    Serve(ServeArguments),
    /// Stand between two programs, and record or print their messages
    Tap(TapArguments),
    /// Open a page that shows messages, pending calls and faults
    Inspect(InspectArguments),
    /// Read a byte stream, and print its messages as one JSON object a line
    Decode(DecodeArguments),
    /// Check messages against the JSON-RPC 2.0 specification
    Validate(ValidateArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
}

const EXAMPLES: &str = "\
Examples:
  portway call add '[1, 2]' -- ./my-server --stdio    start and call a program
  portway call status --unix /run/my.sock             call a server on a socket
  portway call tools/list --tcp 127.0.0.1:4000 | jq .
  portway mcp -- python server.py list          the tools of an MCP server
  portway serve --ws 127.0.0.1:8080 -- pylsp    a language server for a page
  portway tap --to-file lsp.jsonl -- pylsp      record the messages of pylsp
  portway tap --inspect -- pylsp                show them in a browser
  portway inspect --open lsp.jsonl              show recorded messages
  portway decode < traffic.log | jq 'select(.event == \"error\")'
  echo '{\"jsonrpc\": \"2.0\", \"method\": \"ping\"}' | portway validate

`portway help COMMAND` describes one command.";

// Call.

#[derive(Debug, Args)]
#[command(override_usage = CALL_USAGE, after_help = CALL_NOTES)]
pub(crate) struct CallArguments {
    /// The method, for example `initialize`
    pub(crate) method: String,

    /// The params: a JSON array or object. `-` reads the params from standard input, `@FILE` from a file
    #[arg(value_hint = ValueHint::Other)]
    pub(crate) params: Option<OsString>,

    #[command(flatten)]
    pub(crate) target: Target,

    /// The framing of messages
    #[arg(long, value_enum, default_value_t, value_name = "FRAMING", conflicts_with = "ws")]
    pub(crate) framing: CallFraming,

    /// Seconds to wait for the connection, and again for the answer; 0 disables the timeout
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = timeout)]
    pub(crate) timeout: Timeout,

    /// Send a notification, and do not wait for an answer
    #[arg(long, conflicts_with = "progress")]
    pub(crate) notify: bool,

    /// Print the `$/progress` notifications of the peer on standard error
    #[arg(long)]
    pub(crate) progress: bool,

    /// Print a result or an error as JSON on one line. By default, an error is printed as text, and a result is
    /// indented on a terminal
    #[arg(long)]
    pub(crate) json: bool,

    /// A header of the request that opens the WebSocket, for example `Authorization: Bearer TOKEN`. With NAME:@FILE,
    /// the value is read from a file, so that a secret does not occur in the list of processes
    #[arg(long = "header", value_name = "NAME:VALUE", value_parser = HeaderArgument::parse)]
    pub(crate) headers: Vec<HeaderArgument>,

    /// Maximum length of a received message, in bytes; with wipc, also of a sent message
    #[arg(long, default_value_t = Limits::DEFAULT.message_bytes, value_name = "BYTES")]
    pub(crate) max_bytes: usize,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Target {
    /// Connect to a Unix domain socket; `@NAME` is a socket in the abstract namespace of Linux
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) unix: Option<PathBuf>,

    /// Connect over TCP
    #[arg(long, value_name = "HOST:PORT", value_parser = address, value_hint = ValueHint::Hostname)]
    pub(crate) tcp: Option<String>,

    /// Connect to a WebSocket: ws://HOST:PORT/PATH, or wss:// with TLS. Messages on a WebSocket have no framing
    #[arg(long, value_name = "URL", value_parser = websocket_url, value_hint = ValueHint::Url)]
    pub(crate) ws: Option<String>,

    /// Start a program, and use its standard input and output. After the call, the program has 2 seconds to exit. Then
    /// SIGTERM is sent to the program and to the processes that it has started. The program cannot read from the
    /// terminal
    #[arg(last = true, value_name = "PROGRAM", value_hint = ValueHint::CommandName)]
    pub(crate) program: Vec<OsString>,
}

/// The framing of messages to and from a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CallFraming {
    /// Send messages that are valid in both framings, and detect the framing of the answer
    #[default]
    Auto,
    /// `Content-Length: N`, a blank line and N bytes, as language servers do
    ContentLength,
    /// One message a line, as MCP and ACP do
    Newline,
    /// One message in each CALL frame, as guests of WIPC do. `auto` never detects this framing
    Wipc,
}

impl CallFraming {
    /// Returns the framing that the user named, or `None` for `auto`.
    pub(crate) const fn fixed(self) -> Option<Framing> {
        match self {
            Self::Auto => None,
            Self::ContentLength => Some(Framing::ContentLength),
            Self::Newline => Some(Framing::Newline),
            Self::Wipc => Some(Framing::Wipc),
        }
    }
}

/// A timeout. `None` disables the timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timeout(pub(crate) Option<Duration>);

pub(crate) fn timeout(text: &str) -> Result<Timeout, String> {
    let seconds: f64 = text.parse().map_err(|_| "it must be a number of seconds, such as 2.5".to_owned())?;
    if seconds == 0.0 || seconds == f64::INFINITY {
        return Ok(Timeout(None));
    }
    let duration = Duration::try_from_secs_f64(seconds).map_err(|problem| problem.to_string())?;
    Ok(Timeout(Some(duration)))
}

fn address(text: &str) -> Result<String, String> {
    if let Some((scheme, _)) = text.split_once("://") {
        return Err(format!("it must be HOST:PORT without {scheme}://, such as 127.0.0.1:4000"));
    }
    let is_host = |host: &str| !host.is_empty() && !host.contains(['/', ' ']);
    let is_address = text
        .rsplit_once(':')
        .is_some_and(|(host, port)| is_host(host) && port.parse::<u16>().is_ok_and(|port| port > 0));
    if is_address { Ok(text.to_owned()) } else { Err("it must be HOST:PORT, such as 127.0.0.1:4000".to_owned()) }
}

fn websocket_url(text: &str) -> Result<String, String> {
    if text.starts_with("ws://") || text.starts_with("wss://") {
        Ok(text.to_owned())
    } else {
        Err("it must begin with ws:// or wss://, such as ws://127.0.0.1:8080/".to_owned())
    }
}

const CALL_USAGE: &str = "\
portway call [OPTIONS] METHOD [PARAMS] -- PROGRAM [ARGUMENT]...
       portway call [OPTIONS] METHOD [PARAMS] --unix PATH
       portway call [OPTIONS] METHOD [PARAMS] --tcp HOST:PORT
       portway call [OPTIONS] METHOD [PARAMS] --ws URL";

const CALL_NOTES: &str = "\
Exit codes:
  0  the peer answered with a result, or the notification was sent
  1  the peer answered with an error
  2  the command line or the params are invalid
  3  the connection failed, or the program could not be started
  4  the timeout has passed
  5  the connection was lost, the peer violated the protocol, or the answer is
     not JSON or too long
  130, 143, 129  Ctrl-C, SIGTERM or SIGHUP: the call was cancelled

The result is written to standard output. Everything else is written to standard
error: an error of the peer (unless --json is used), the standard error of the
program, and its output between the messages.

Examples:
  portway call add '[1, 2]' -- ./my-server --stdio
  portway call search '{\"text\": \"ä\"}' --unix /run/my.sock --progress
  portway call import @rows.json --tcp localhost:4000
  portway call status --ws wss://rpc.example.org/ --header Authorization:@auth
  portway call exit --notify --unix /run/my.sock";

// Decode.

#[derive(Debug, Args)]
#[command(after_help = DECODE_NOTES)]
pub(crate) struct DecodeArguments {
    /// The framing of messages
    #[arg(long, value_enum, default_value_t, value_name = "FRAMING")]
    pub(crate) framing: DecodeFraming,

    /// Maximum length of a decoded message, in bytes. Default: 10 MiB; with wipc, 2^32 - 1
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_bytes: Option<usize>,
}

/// The framing of standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DecodeFraming {
    /// Detect the framing from the first message, which is a line of JSON with a member `jsonrpc`, or begins with a
    /// header
    #[default]
    Auto,
    /// `Content-Length: N`, a blank line and N bytes, as language servers do
    ContentLength,
    /// One message a line, as MCP and ACP do
    Newline,
    /// Frames of WIPC, with any payload. `auto` never detects this framing
    Wipc,
}

const DECODE_NOTES: &str = "\
The stream is read from standard input (portway decode < FILE). Events:
  {\"event\":\"message\",\"text\":…}
      the JSON text of a message
  {\"event\":\"frame\",\"type\":\"CALL\",\"payload\":\"<base64>\"}
      a frame of WIPC
  {\"event\":\"passthrough\",\"bytes\":\"<base64>\"}
      bytes that belong to no message; a long run is split into several events
  {\"event\":\"error\",\"code\":-32700,\"reason\":…}
      an invalid message; reading continues after it
  {\"event\":\"truncated\",\"bytes\":N}
      the input ended after N bytes of a message

Reasons of errors:
  -32700  parse-error (not JSON), invalid-header
  -32600  oversize, header-too-large, unsupported-content-type, bad-charset

Exit codes:
  0  the input has only messages and passthrough
  1  a message is invalid, the input ended within a message, or the input has
     no message and looks like another framing
  2  the command line is invalid, or reading or writing failed
If the reader of the output closes the pipe, the command stops reading. The exit
code depends only on the input that the command has read.

Example:
  ./my-server --stdio < session.bin | portway decode";

// Validate.

#[derive(Debug, Args)]
#[command(after_help = VALIDATE_NOTES)]
pub(crate) struct ValidateArguments {
    /// Files, each with one message or batch. Without a file, and for `-`, standard input is read
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    /// Check each line of a file as a separate message
    #[arg(long)]
    pub(crate) lines: bool,

    /// Check all messages as responses. By default, a message with a method is checked as a request, and any other
    /// message as a response
    #[arg(long, conflicts_with = "request")]
    pub(crate) response: bool,

    /// Check all messages as requests or notifications
    #[arg(long)]
    pub(crate) request: bool,

    /// Accept `"params": null`, as most peers do; the specification forbids it
    #[arg(long)]
    pub(crate) null_params: bool,

    /// Print one JSON object for each message: file, line, isValid, errors, warnings
    #[arg(long)]
    pub(crate) json: bool,

    /// Maximum length of a message, in bytes; a longer message is invalid
    #[arg(long, default_value_t = Limits::DEFAULT.message_bytes, value_name = "BYTES")]
    pub(crate) max_bytes: usize,
}

const VALIDATE_NOTES: &str = "\
Exit codes:
  0  all messages are valid, possibly with warnings
  1  at least one message is invalid
  2  a file cannot be read, or the command line is invalid
If the reader of the output closes the pipe, the command stops checking. The
exit code depends only on the messages that the command has checked.

Examples:
  portway validate request.json
  portway validate --lines --json < messages.jsonl";

// Completions.

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_NOTES)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

const COMPLETIONS_NOTES: &str = "\
Examples:
  portway completions bash > ~/.local/share/bash-completion/completions/portway
  portway completions zsh > \"${fpath[1]}/_portway\"
  portway completions fish > ~/.config/fish/completions/portway.fish";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::inspect::INSPECT_NOTES;
    use crate::mcp::{MCP_NOTES, MCP_USAGE};
    use crate::serve::{SERVE_NOTES, SERVE_USAGE};
    use crate::tap::{TAP_NOTES, TAP_USAGE};

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn zero_and_infinite_timeouts_mean_no_timeout() {
        assert_eq!(timeout("0"), Ok(Timeout(None)));
        assert_eq!(timeout("inf"), Ok(Timeout(None)));
        assert_eq!(timeout("0.25"), Ok(Timeout(Some(Duration::from_millis(250)))));
        for text in ["-1", "nan", "ten", "", "1e30"] {
            assert!(timeout(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for text in ["localhost:80", "[::1]:4000", "10.0.0.1:65535"] {
            assert!(address(text).is_ok(), "{text}");
        }
        for text in
            ["localhost", ":80", "localhost:", "localhost:x", "localhost:65536", "localhost:0", "a b:1", "a/b:1"]
        {
            assert!(address(text).is_err(), "{text}");
        }
        for text in ["tcp://localhost:80", "http://localhost:80/", "tcp://[::1]:80"] {
            assert!(address(text).is_err_and(|problem| problem.contains("HOST:PORT without ")), "{text}");
        }
    }

    /// A terminal of 80 columns wraps longer lines, which breaks the layout.
    #[test]
    fn notes_fit_into_80_columns() {
        for notes in [
            EXAMPLES,
            CALL_USAGE,
            CALL_NOTES,
            MCP_USAGE,
            MCP_NOTES,
            SERVE_USAGE,
            SERVE_NOTES,
            TAP_USAGE,
            TAP_NOTES,
            INSPECT_NOTES,
            DECODE_NOTES,
            VALIDATE_NOTES,
            COMPLETIONS_NOTES,
        ] {
            for line in notes.lines() {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
    }
}
