//! The params of a call: from the command line, standard input or a file.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use portway::stdio;
use serde_json::value::RawValue;

use crate::output::{Failure, USAGE_OR_IO_FAILED};

/// The source of the params, for errors.
enum Source {
    Argument,
    /// The name of a file, or `standard input`.
    Stream(String),
}

/// Reads the params of a call: an array or an object. `-` stands for standard input, and `@FILE` for a file.
pub(crate) fn read(argument: Option<&OsString>) -> Result<Option<Box<RawValue>>, Failure> {
    let Some(argument) = argument else { return Ok(None) };
    let (source, params) = read_json(argument)?;
    match params.get().as_bytes() {
        [b'{' | b'[', ..] => Ok(Some(params)),
        b"null" => Ok(None),
        _ => {
            let problem = source.problem("must be an array or an object");
            Err(match source {
                Source::Argument => problem.with_hint(format!("For one positional param: '[{}]'", params.get())),
                Source::Stream(_) => problem,
            })
        }
    }
}

/// Reads params that must be an object.
pub(crate) fn read_object(argument: Option<&OsString>) -> Result<Option<Box<RawValue>>, Failure> {
    let Some(argument) = argument else { return Ok(None) };
    let (source, params) = read_json(argument)?;
    match params.get().as_bytes() {
        [b'{', ..] => Ok(Some(params)),
        _ => Err(source.problem("must be an object, such as '{\"a\": 2}'")),
    }
}

fn read_json(argument: &OsStr) -> Result<(Source, Box<RawValue>), Failure> {
    let (source, bytes) = bytes(argument)?;
    // Some editors and shells write a byte order mark at the beginning of a file.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let text = str::from_utf8(bytes)
        .map_err(|error| source.problem(&format!("must be UTF-8, but byte {} is not", error.valid_up_to())))?;
    let params: Box<RawValue> = serde_json::from_str(text).map_err(|error| {
        let problem = source.problem(&format!("are not JSON: {error}"));
        match source {
            Source::Argument => problem.with_hint(
                "For the shell, put them in single quotes: '[1, \"text\"]' or '{\"name\": 1}'. Or use @FILE.",
            ),
            Source::Stream(_) => problem,
        }
    })?;
    Ok((source, params))
}

/// Returns the source of the params, and the bytes of the params.
fn bytes(argument: &OsStr) -> Result<(Source, Vec<u8>), Failure> {
    let argument = argument.as_bytes();
    let (name, content) = if argument == b"-" {
        let mut bytes = Vec::new();
        ("standard input".to_owned(), stdio::stdin().read_to_end(&mut bytes).map(|_| bytes))
    } else if let Some(file) = argument.strip_prefix(b"@").map(OsStr::from_bytes) {
        (file.display().to_string(), fs::read(file))
    } else {
        return Ok((Source::Argument, argument.to_vec()));
    };
    match content {
        Ok(bytes) => Ok((Source::Stream(name), bytes)),
        Err(error) => Err(Failure::new(USAGE_OR_IO_FAILED, format!("cannot read the params from {name}: {error}"))),
    }
}

impl Source {
    fn problem(&self, problem: &str) -> Failure {
        let message = match self {
            Self::Argument => format!("the params {problem}"),
            Self::Stream(name) => format!("the params from {name} {problem}"),
        };
        Failure::new(USAGE_OR_IO_FAILED, message)
    }
}
