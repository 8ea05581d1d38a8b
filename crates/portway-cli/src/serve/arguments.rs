//! The arguments of `portway serve`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum, ValueHint};
use portway::{Framing, Limits};

/// The endpoints whose options differ from those of `--mcp-http`.
const OTHER_ENDPOINTS: [&str; 4] = ["stdio", "unix", "tcp", "ws"];

#[derive(Debug, Args)]
#[command(override_usage = SERVE_USAGE, after_help = SERVE_NOTES)]
#[command(group(ArgGroup::new("http").args(["ws", "mcp_http"]).multiple(true)))]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) endpoints: Endpoints,

    /// Also admit pages of this origin, for example https://app.example.org. By default, only programs and pages of the
    /// server's own origin may connect
    #[arg(long = "origin", value_name = "ORIGIN", value_parser = origin, requires = "ws")]
    pub(crate) origins: Vec<String>,

    /// A further host of the server, for example rpc.example.org. Requests for other hosts are refused. The IP address
    /// to which the client has connected is always a host. If it is a loopback address, localhost is also a host. With
    /// --mcp-http, only localhost, 127.0.0.1 and [::1] are always hosts
    #[arg(long = "host", value_name = "NAME", requires = "http")]
    pub(crate) hosts: Vec<String>,

    /// Admit only WebSockets that send the token of this file. A program sends the header
    /// `Authorization: Bearer TOKEN`. A page offers the subprotocols jsonrpc-2.0 and ticket.TOKEN. For pages, the token
    /// must not contain / or =
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "ws")]
    pub(crate) token_file: Option<PathBuf>,

    /// The framing of the program
    #[arg(long, value_enum, default_value_t, value_name = "FRAMING")]
    pub(crate) framing: ServeFraming,

    /// The framing on --stdio, --unix and --tcp. Default: the framing of the program
    #[arg(long, value_enum, value_name = "FRAMING")]
    pub(crate) socket_framing: Option<ServeFraming>,

    /// With --mcp-http, the maximum number of sessions, each of which has a process. Default: 64
    #[arg(long, value_name = "N", conflicts_with_all = OTHER_ENDPOINTS)]
    pub(crate) max_sessions: Option<usize>,

    /// With --mcp-http, the time after which a session ends if it has no running request and no open stream.
    /// Default: 1800
    #[arg(long, value_name = "SECONDS", conflicts_with_all = OTHER_ENDPOINTS)]
    pub(crate) session_idle: Option<u64>,

    /// Maximum length of a message in either direction, in bytes
    #[arg(long, default_value_t = Limits::DEFAULT.message_bytes, value_name = "BYTES")]
    pub(crate) max_bytes: usize,

    #[command(flatten)]
    pub(crate) service: ServedProgram,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Endpoints {
    /// Serve standard input and output
    #[arg(long)]
    pub(crate) stdio: bool,

    /// Listen on a Unix domain socket, to which only this user can connect
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) unix: Option<PathBuf>,

    /// Listen on a TCP port; with port 0, the system selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listen_address, value_hint = ValueHint::Hostname)]
    pub(crate) tcp: Option<String>,

    /// Listen on a TCP port for WebSockets; with port 0, the system selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listen_address, value_hint = ValueHint::Hostname)]
    pub(crate) ws: Option<String>,

    /// Listen on a TCP port for clients of the Model Context Protocol over Streamable HTTP. The program is a server of
    /// this protocol on standard streams. Without an address, 127.0.0.1 is used
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = mcp_address, value_hint = ValueHint::Hostname)]
    #[arg(conflicts_with_all = OTHER_ENDPOINTS.into_iter().chain(["demo", "framing", "socket_framing"]))]
    // clap does not check `requires = "ws"` of an option if `ws` conflicts with another option.
    #[arg(conflicts_with_all = ["origins", "token_file"])]
    pub(crate) mcp_http: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ServedProgram {
    /// Instead of a program, serve the methods ping, echo, slow and count, and send stream.heartbeat notifications
    #[arg(long)]
    pub(crate) demo: bool,

    /// The program. Each connection starts a separate process, which ends with the connection
    #[arg(last = true, value_name = "PROGRAM", value_hint = ValueHint::CommandName)]
    pub(crate) program: Vec<OsString>,
}

/// The framing of a program or a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServeFraming {
    /// `Content-Length: N`, a blank line and N bytes, as language servers do
    #[default]
    ContentLength,
    /// One message a line, as MCP and ACP do
    Newline,
}

impl From<ServeFraming> for Framing {
    fn from(framing: ServeFraming) -> Self {
        match framing {
            ServeFraming::ContentLength => Self::ContentLength,
            ServeFraming::Newline => Self::Newline,
        }
    }
}

fn listen_address(text: &str) -> Result<String, String> {
    if let Some((scheme, _)) = text.split_once("://") {
        return Err(format!("it must be ADDRESS:PORT without {scheme}://, such as 127.0.0.1:8080"));
    }
    let is_address = text
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && !host.contains(['/', ' ']) && port.parse::<u16>().is_ok());
    if is_address { Ok(text.to_owned()) } else { Err("it must be ADDRESS:PORT, such as 127.0.0.1:8080".to_owned()) }
}

fn mcp_address(text: &str) -> Result<String, String> {
    if text.parse::<u16>().is_ok() { Ok(format!("127.0.0.1:{text}")) } else { listen_address(text) }
}

fn origin(text: &str) -> Result<String, String> {
    let is_origin = text.split_once("://").is_some_and(|(scheme, host)| {
        !scheme.is_empty() && !host.is_empty() && !host.contains(['/', '@', ' ', '*', '?', '#'])
    });
    if is_origin || text == "null" {
        return Ok(text.to_owned());
    }
    Err("it must be an origin as browsers write it, such as https://app.example.org, or null".to_owned())
}

pub(crate) const SERVE_USAGE: &str = "\
portway serve [OPTIONS] [--stdio] [--unix PATH] [--tcp ADDRESS:PORT]
              [--ws ADDRESS:PORT] -- PROGRAM [ARGUMENT]...
       portway serve [OPTIONS] [--stdio] [--unix PATH] [--tcp ADDRESS:PORT]
              [--ws ADDRESS:PORT] --demo
       portway serve [OPTIONS] --mcp-http [ADDRESS:]PORT
              -- PROGRAM [ARGUMENT]...";

pub(crate) const SERVE_NOTES: &str = "\
Each connection starts a separate process of the program. Messages between the
connection and the process are not changed. When the connection ends, the input
of the process is closed. After two seconds, SIGTERM is sent to the process and
to the processes that it has started. The program inherits standard error from
this command. Its standard input and output carry the messages. At most 64
processes run at a time. A further WebSocket is refused with 503, and any other
connection waits until a process has ended.

With --demo, `slow` takes `[N]` and answers after N ms, and `count` takes
`[N]` and returns a stream of the numbers from 1 to N.

With --mcp-http, each session of MCP to 2025-11-25 has a process, which ends
after DELETE, or when the session is idle. Requests of MCP 2026-07-28 have no
sessions, so one process serves all of them. Without a free session,
`initialize` is answered with 503. The HTTP server checks no tokens.

When the command listens, it prints one line for each socket on standard error,
such as `listening on ws://127.0.0.1:8080/`. After SIGINT, SIGTERM or SIGHUP,
the command accepts no more connections, and closes all open connections;
WebSockets are closed with code 1001. With --demo, running requests have two
seconds to end.

Exit codes:
  0  a signal ended the command; or, with --stdio alone, the connection on
     standard input and output has ended
  2  the command line is invalid, or the token file cannot be used
  3  a socket cannot be opened; or with --demo, a listening socket has failed,
     or standard input or output cannot be read or written

Examples:
  portway serve --ws 127.0.0.1:8080 -- pylsp
  portway serve --ws 127.0.0.1:8080 --origin https://app.example.org \\
    --token-file token --framing newline -- ./my-mcp-server
  portway serve --mcp-http 8000 -- ./my-mcp-server
  portway serve --stdio --unix /run/my.sock --demo";

#[cfg(test)]
mod tests {
    use super::{listen_address, mcp_address, origin};

    #[test]
    fn addresses_and_origins_are_checked() {
        for text in ["127.0.0.1:0", "[::1]:8080", "localhost:1"] {
            assert!(listen_address(text).is_ok(), "{text}");
        }
        for text in ["8080", ":8080", "localhost", "ws://localhost:1", "localhost:65536"] {
            assert!(listen_address(text).is_err(), "{text}");
        }
        assert_eq!(mcp_address("8000").as_deref(), Ok("127.0.0.1:8000"));
        assert_eq!(mcp_address("0.0.0.0:0").as_deref(), Ok("0.0.0.0:0"));
        assert!(mcp_address("65536").is_err());
        for text in ["https://app.example.org", "http://localhost:5173", "null"] {
            assert!(origin(text).is_ok(), "{text}");
        }
        for text in ["app.example.org", "https://app.example.org/", "*", "https://*.example.org", "https://"] {
            assert!(origin(text).is_err(), "{text}");
        }
    }
}
