//! What the command line says, and what `--help` says of it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use portway::{Framing, Limits};

#[derive(Debug, Parser)]
#[command(
    name = "portway",
    version,
    about = "Talk JSON-RPC 2.0 at a shell prompt: call a peer, look into a byte stream, check messages",
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
    /// Read a byte stream, and print what is in it, one JSON object a line
    Decode(DecodeArguments),
    /// Check messages by the letter of JSON-RPC 2.0
    Validate(ValidateArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
}

const EXAMPLES: &str = "\
Examples:
  portway call add '[1, 2]' -- ./my-server --stdio    start and call a program
  portway call status --unix /run/my.sock             call a server on a socket
  portway call tools/list --tcp 127.0.0.1:4000 | jq .
  portway decode < traffic.log | jq 'select(.event == \"error\")'
  echo '{\"jsonrpc\": \"2.0\", \"method\": \"ping\"}' | portway validate

`portway help COMMAND` says more of each command.";

// Call.

#[derive(Debug, Args)]
#[command(override_usage = CALL_USAGE, after_help = CALL_NOTES)]
pub(crate) struct CallArguments {
    /// The method, for example `initialize`
    pub(crate) method: String,

    /// The params: a JSON array or object. `-` reads them from standard input, `@FILE` from a file
    #[arg(value_hint = ValueHint::Other)]
    pub(crate) params: Option<OsString>,

    #[command(flatten)]
    pub(crate) target: Target,

    /// How messages are told apart
    #[arg(long, value_enum, default_value_t, value_name = "FRAMING")]
    pub(crate) framing: CallFraming,

    /// How long to wait for the connection, and then for the answer, in seconds; 0 waits for ever
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = timeout)]
    pub(crate) timeout: Timeout,

    /// Send a notification: there is no answer, and none is waited for
    #[arg(long, conflicts_with = "progress")]
    pub(crate) notify: bool,

    /// Show on standard error how far the peer is (its notifications `$/progress`)
    #[arg(long)]
    pub(crate) progress: bool,

    /// Print JSON on one line, an error of the peer too. A result is on one line anyway, except on a terminal
    #[arg(long)]
    pub(crate) json: bool,

    /// The longest message that is taken, in bytes; with wipc, also the longest that is sent
    #[arg(long, default_value_t = Limits::DEFAULT.message_bytes, value_name = "BYTES")]
    pub(crate) max_bytes: usize,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Target {
    /// Connect to a Unix domain socket; `@NAME` is one in the abstract namespace of Linux
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) unix: Option<PathBuf>,

    /// Connect over TCP
    #[arg(long, value_name = "HOST:PORT", value_parser = address, value_hint = ValueHint::Hostname)]
    pub(crate) tcp: Option<String>,

    /// Start a program, and talk to its standard input and output. It has 2 seconds to end by itself afterwards, then
    /// it gets SIGTERM, and so do the processes that it has started. It cannot read from the terminal
    #[arg(last = true, value_name = "PROGRAM", value_hint = ValueHint::CommandName)]
    pub(crate) program: Vec<OsString>,
}

/// How messages are told apart on the way to a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CallFraming {
    /// Send what both kinds of peers can read, and see what the answer is
    #[default]
    Auto,
    /// `Content-Length: N`, a blank line and N bytes, as language servers do
    ContentLength,
    /// One message a line, as MCP and ACP do
    Newline,
    /// One message in each CALL frame, as guests of WIPC do. It has to be asked for
    Wipc,
}

impl CallFraming {
    /// The framing that was asked for, if one was.
    pub(crate) const fn fixed(self) -> Option<Framing> {
        match self {
            Self::Auto => None,
            Self::ContentLength => Some(Framing::ContentLength),
            Self::Newline => Some(Framing::Newline),
            Self::Wipc => Some(Framing::Wipc),
        }
    }
}

/// How long to wait; `None` is for ever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timeout(pub(crate) Option<Duration>);

fn timeout(text: &str) -> Result<Timeout, String> {
    let seconds: f64 = text.parse().map_err(|_| "it has to be a number of seconds, such as 2.5".to_owned())?;
    if seconds == 0.0 || seconds == f64::INFINITY {
        return Ok(Timeout(None));
    }
    let duration = Duration::try_from_secs_f64(seconds).map_err(|problem| problem.to_string())?;
    Ok(Timeout(Some(duration)))
}

fn address(text: &str) -> Result<String, String> {
    if let Some((scheme, _)) = text.split_once("://") {
        return Err(format!("it has to be HOST:PORT without {scheme}://, such as 127.0.0.1:4000"));
    }
    let is_host = |host: &str| !host.is_empty() && !host.contains(['/', ' ']);
    let is_address = text
        .rsplit_once(':')
        .is_some_and(|(host, port)| is_host(host) && port.parse::<u16>().is_ok_and(|port| port > 0));
    if is_address { Ok(text.to_owned()) } else { Err("it has to be HOST:PORT, such as 127.0.0.1:4000".to_owned()) }
}

const CALL_USAGE: &str = "\
portway call [OPTIONS] METHOD [PARAMS] -- PROGRAM [ARGUMENT]...
       portway call [OPTIONS] METHOD [PARAMS] --unix PATH
       portway call [OPTIONS] METHOD [PARAMS] --tcp HOST:PORT";

const CALL_NOTES: &str = "\
Exit codes:
  0  the peer answered a result, or the notification was sent
  1  the peer answered an error
  2  the command line or the params cannot be used
  3  the peer could not be reached, or the program could not be started
  4  no answer came in time
  5  the peer is gone, broke the protocol, or sent an answer that cannot be
     read: it is not JSON, or too long
  130, 143, 129  Ctrl-C, SIGTERM or SIGHUP: the call was cancelled

The result goes to standard output. All else goes to standard error: an error of
the peer (unless --json is used), the output of the program on its standard
error, and its output between the messages.

Examples:
  portway call add '[1, 2]' -- ./my-server --stdio
  portway call search '{\"text\": \"ä\"}' --unix /run/my.sock --progress
  portway call import @rows.json --tcp localhost:4000
  portway call exit --notify --unix /run/my.sock";

// Decode.

#[derive(Debug, Args)]
#[command(after_help = DECODE_NOTES)]
pub(crate) struct DecodeArguments {
    /// How messages are told apart
    #[arg(long, value_enum, default_value_t, value_name = "FRAMING")]
    pub(crate) framing: DecodeFraming,

    /// The longest message that is taken, in bytes. 10 MiB if left out; with wipc, whatever a frame has room for
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_bytes: Option<usize>,
}

/// What the bytes on standard input are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DecodeFraming {
    /// Detected by the first message: a line of JSON with a member `jsonrpc`, or a header
    #[default]
    Auto,
    /// `Content-Length: N`, a blank line and N bytes, as language servers do
    ContentLength,
    /// One message a line, as MCP and ACP do
    Newline,
    /// Frames of WIPC, whatever is in them. They have to be asked for
    Wipc,
}

const DECODE_NOTES: &str = "\
The stream is read from standard input (portway decode < FILE). Events:
  {\"event\":\"message\",\"text\":…}
      the JSON text of a message
  {\"event\":\"frame\",\"type\":\"CALL\",\"payload\":\"<base64>\"}
      a frame of WIPC
  {\"event\":\"passthrough\",\"bytes\":\"<base64>\"}
      bytes that belong to no message; a run of them may come in pieces
  {\"event\":\"error\",\"code\":-32700,\"reason\":…}
      a message that cannot be read; reading goes on behind it
  {\"event\":\"truncated\",\"bytes\":N}
      the input ended inside of a message, of which N bytes had come

Reasons of errors:
  -32700  parse-error (no JSON), invalid-header
  -32600  oversize, header-too-large, unsupported-content-type, bad-charset

Exit codes:
  0  all that came are messages and passthrough
  1  there was an error, the input was truncated, or it holds no message and
     looks like another framing
  2  the command line cannot be used, or reading or writing failed
If the reader of the output goes away, reading ends. The exit code is for the
input until then.

Example:
  ./my-server --stdio < session.bin | portway decode";

// Validate.

#[derive(Debug, Args)]
#[command(after_help = VALIDATE_NOTES)]
pub(crate) struct ValidateArguments {
    /// Files of one message or batch each. Standard input if there is none, or for `-`
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    /// Take each line of a file for a message of its own
    #[arg(long)]
    pub(crate) lines: bool,

    /// They have to be responses. Otherwise what has a method is a call, and anything else a response
    #[arg(long, conflicts_with = "request")]
    pub(crate) response: bool,

    /// They have to be requests or notifications
    #[arg(long)]
    pub(crate) request: bool,

    /// Let `"params": null` pass, as most peers do; by the specification it is an error
    #[arg(long)]
    pub(crate) null_params: bool,

    /// Print one JSON object for each message: file, line, isValid, errors, warnings
    #[arg(long)]
    pub(crate) json: bool,

    /// The longest message that is checked, in bytes; a longer one is invalid
    #[arg(long, default_value_t = Limits::DEFAULT.message_bytes, value_name = "BYTES")]
    pub(crate) max_bytes: usize,
}

const VALIDATE_NOTES: &str = "\
Exit codes:
  0  all messages are valid; there may be warnings
  1  one is not
  2  a file cannot be read, or the command line cannot be used
If the reader of the output goes away, checking ends. The exit code is for the
input until then.

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

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn no_time_and_endless_time_are_none() {
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

    /// A terminal that breaks longer lines would break the columns.
    #[test]
    fn notes_fit_into_80_columns() {
        for notes in [EXAMPLES, CALL_USAGE, CALL_NOTES, DECODE_NOTES, VALIDATE_NOTES, COMPLETIONS_NOTES] {
            for line in notes.lines() {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
    }
}
