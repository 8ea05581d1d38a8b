//! The arguments of `portway mcp`: the server and the action.

use std::ffi::OsString;

use clap::{Args, ValueHint};
use portway::Limits;

use crate::arguments::{Timeout, timeout};
use crate::headers::HeaderArgument;
use crate::output::{Failure, USAGE_OR_IO_FAILED};

#[derive(Debug, Args)]
#[command(override_usage = MCP_USAGE, after_help = MCP_NOTES, arg_required_else_help = true)]
pub(crate) struct McpArguments {
    /// The URL of the server, which begins with http:// or https://, and the action. With a program, only the action,
    /// which may also stand after the arguments of the program
    #[arg(value_name = "URL ACTION", num_args = 0..=4, value_hint = ValueHint::Url)]
    pub(crate) words: Vec<OsString>,

    /// A header of each HTTP request, for example `Authorization: Bearer TOKEN`. With NAME:@FILE, the value is read
    /// from a file, so that a secret does not occur in the list of processes
    #[arg(long = "header", value_name = "NAME:VALUE", value_parser = HeaderArgument::parse)]
    pub(crate) headers: Vec<HeaderArgument>,

    /// Seconds to wait for the handshake, and again for each answer; 0 disables the timeout
    #[arg(long, default_value = "30", value_name = "SECONDS", value_parser = timeout)]
    pub(crate) timeout: Timeout,

    /// Print the progress of a tool on standard error
    #[arg(long)]
    pub(crate) progress: bool,

    /// Print the whole answer of the server as JSON on one line. By default, the answer is printed as text
    #[arg(long)]
    pub(crate) json: bool,

    /// Print the version of MCP and its era, log messages of the server, and faults of its messages on standard error
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Maximum length of a received message, in bytes
    #[arg(long, default_value_t = Limits::DEFAULT.message_bytes, value_name = "BYTES")]
    pub(crate) max_bytes: usize,

    /// Start a server, and use its standard input and output. The last arguments are the action, unless the action
    /// stands before `--`. After the action, the server has 2 seconds to exit. Then SIGTERM is sent to the server and
    /// to the processes that it has started
    #[arg(last = true, value_name = "PROGRAM", value_hint = ValueHint::CommandName)]
    pub(crate) program: Vec<OsString>,
}

/// The server and the action.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) target: Target,
    pub(super) action: Action,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    Url(String),
    Program(Vec<OsString>),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action {
    List,
    Call { name: String, arguments: Option<OsString> },
    Read { uri: String },
    Get { name: String, arguments: Option<OsString> },
}

/// The forms of actions, for errors.
const FORMS: &str = "list, call NAME [JSON], read URI or get NAME [JSON]";

/// The names of the actions.
const NAMES: [&str; 4] = ["list", "call", "read", "get"];

/// The longest action: `call NAME JSON`.
const MAX_WORDS: usize = 3;

impl Request {
    pub(super) fn read(words: &[OsString], program: &[OsString]) -> Result<Self, Failure> {
        let first = words.first().and_then(|word| word.to_str());
        let is_url = first.is_some_and(|word| word.starts_with("http://") || word.starts_with("https://"));
        match (words, program) {
            (_, [_, ..]) if is_url => Err(usage("the server must be a URL or a program, got both")),
            ([], [_, ..]) => Self::split(program),
            (_, [_, ..]) => match Action::read(words) {
                Some(action) => Ok(Self { target: Target::Program(program.to_vec()), action }),
                None => Err(usage(format!("the arguments before -- must be an action: {FORMS}"))),
            },
            ([_, action @ ..], []) if is_url => match Action::read(action) {
                Some(action) => Ok(Self { target: Target::Url(first.unwrap_or_default().to_owned()), action }),
                None => Err(usage(format!("the arguments after the URL must be an action: {FORMS}"))),
            },
            _ if first.is_some_and(|word| NAMES.contains(&word)) => {
                Err(usage("an action must have a server: a URL before it, or -- PROGRAM after it"))
            }
            // The first argument is not repeated, because it may be a URL with a secret.
            _ => Err(usage("the server must be a URL that begins with http:// or https://, or a program after --")),
        }
    }

    /// Finds the action at the end of the arguments of a program. If these arguments can be read in several ways,
    /// returns an error.
    fn split(words: &[OsString]) -> Result<Self, Failure> {
        let starts = words.len().saturating_sub(MAX_WORDS).max(1)..words.len();
        let actions: Vec<(&[OsString], Action)> = starts
            .filter_map(|start| {
                let (program, action) = words.split_at_checked(start)?;
                Some((program, Action::read(action).filter(Action::is_plausible)?))
            })
            .collect();
        match <[_; 1]>::try_from(actions) {
            Ok([(program, action)]) => Ok(Self { target: Target::Program(program.to_vec()), action }),
            Err(actions) if actions.is_empty() => {
                let problem = format!("the arguments after -- must end with an action: {FORMS}");
                Err(usage(problem)
                    .with_hint("JSON must be an object, @FILE or -. The action may also stand before --."))
            }
            Err(_) => Err(usage("the arguments after -- can be read as several actions")
                .with_hint("Write the action before --: portway mcp call NAME -- PROGRAM [ARGUMENT]...")),
        }
    }
}

fn usage(problem: impl Into<String>) -> Failure {
    Failure::new(USAGE_OR_IO_FAILED, problem)
}

impl Action {
    /// Reads the words of an action. Returns `None` if they are not an action.
    fn read(words: &[OsString]) -> Option<Self> {
        let (action, rest) = words.split_first()?;
        let (name, arguments) = match rest {
            [] => (None, None),
            [name] => (Some(name), None),
            [name, arguments] => (Some(name), Some(arguments.clone())),
            _ => return None,
        };
        let name = match name {
            Some(name) => Some(name.to_str().filter(|name| !name.is_empty())?.to_owned()),
            None => None,
        };
        match (action.to_str()?, name, arguments) {
            ("list", None, None) => Some(Self::List),
            ("call", Some(name), arguments) => Some(Self::Call { name, arguments }),
            ("read", Some(uri), None) => Some(Self::Read { uri }),
            ("get", Some(name), arguments) => Some(Self::Get { name, arguments }),
            _ => None,
        }
    }

    /// Returns whether the words of the action have the usual form: the name does not look like JSON, and the arguments
    /// look like JSON.
    fn is_plausible(&self) -> bool {
        let (name, arguments) = match self {
            Self::List => return true,
            Self::Read { uri } => (uri, None),
            Self::Call { name, arguments } | Self::Get { name, arguments } => (name, arguments.as_ref()),
        };
        let is_json = |text: &str| text == "-" || text.trim_start().starts_with(['{', '@']);
        !is_json(name) && arguments.is_none_or(|arguments| is_json(&arguments.to_string_lossy()))
    }
}

pub(crate) const MCP_USAGE: &str = "\
portway mcp [OPTIONS] URL ACTION
       portway mcp [OPTIONS] -- PROGRAM [ARGUMENT]... ACTION
       portway mcp [OPTIONS] ACTION -- PROGRAM [ARGUMENT]...";

pub(crate) const MCP_NOTES: &str = "\
Actions:
  list              list the tools, resources, resource templates and prompts
  call NAME [JSON]  call a tool, with an object of arguments
  read URI          read a resource
  get NAME [JSON]   get a prompt, with an object of arguments
JSON may be `-` for standard input, or @FILE.

Exit codes:
  0  the server answered with a result
  1  the server answered with an error, or the tool has failed
  2  the command line or the JSON is invalid
  3  the server could not be reached or started, has denied the request, or has
     no version of MCP in common with this command
  4  the timeout has passed
  5  the connection was lost, or the answer violates the protocol
  130, 143, 129  Ctrl-C, SIGTERM or SIGHUP: the request was cancelled

The answer is written to standard output: the text of a tool, a resource or a
prompt. If standard output is not a terminal, a binary resource is written as
its bytes. Everything else is written to standard error.

Examples:
  portway mcp -- python server.py list
  portway mcp -- python server.py call add '{\"a\":2,\"b\":3}'
  portway mcp https://mcp.example.org/mcp list --header Authorization:@token
  portway mcp read file:///notes.txt -- npx -y my-mcp-server ~/notes";

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    fn read(before: &str, after: &str) -> Result<(String, Action), String> {
        let request = Request::read(&words(before), &words(after)).map_err(|failure| format!("{failure:?}"))?;
        let target = match request.target {
            Target::Url(url) => url,
            Target::Program(program) => program.join(" ".as_ref()).to_string_lossy().into_owned(),
        };
        Ok((target, request.action))
    }

    fn call(name: &str, arguments: Option<&str>) -> Action {
        Action::Call { name: name.into(), arguments: arguments.map(Into::into) }
    }

    #[test]
    fn the_action_is_after_the_url_or_before_or_after_the_program() {
        let get = |name: &str| Action::Get { name: name.into(), arguments: None };
        for (before, after, target, action) in [
            ("http://h/mcp list", "", "http://h/mcp", Action::List),
            ("https://h call add {}", "", "https://h", call("add", Some("{}"))),
            ("https://h call list", "", "https://h", call("list", None)),
            ("", "python server.py call add {\"a\":2}", "python server.py", call("add", Some("{\"a\":2}"))),
            ("", "python server.py call add", "python server.py", call("add", None)),
            ("", "server call add -", "server", call("add", Some("-"))),
            ("", "server call add @file", "server", call("add", Some("@file"))),
            ("", "server call get {}", "server", call("get", Some("{}"))),
            ("", "server list", "server", Action::List),
            ("", "server --root / read file:///a", "server --root /", Action::Read { uri: "file:///a".into() }),
            ("", "server get greeting", "server", get("greeting")),
            ("", "call get greeting", "call", get("greeting")),
            ("", "server get read a://b", "server get", Action::Read { uri: "a://b".into() }),
            ("list", "server call", "server call", Action::List),
            ("call list", "server", "server", call("list", None)),
        ] {
            assert_eq!(read(before, after), Ok((target.to_owned(), action)), "{before} -- {after}");
        }
    }

    #[test]
    fn invalid_arguments_are_an_error_that_says_what_to_write() {
        for (before, after, expected) in [
            ("", "server", "must end with an action"),
            ("", "list", "must end with an action"),
            ("", "server call", "must end with an action"),
            ("", "server call add 5", "must end with an action"),
            ("", "server read", "must end with an action"),
            ("", "server call list", "several actions"),
            ("http://h", "", "after the URL must be an action"),
            ("http://h add {}", "", "after the URL must be an action"),
            ("http://h list all", "", "after the URL must be an action"),
            ("http://h list", "server", "got both"),
            ("server", "server list", "before -- must be an action"),
            ("list", "", "must have a server"),
            ("server list", "", "a program after --"),
            ("htps://h?key=secret list", "", "a program after --"),
        ] {
            let problem = read(before, after).err().unwrap_or_default();
            assert!(problem.contains(expected) && !problem.contains("secret"), "{before} -- {after}: {problem}");
        }
    }
}
