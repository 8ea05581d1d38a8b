//! The params of a call, from wherever the command line says.

use std::fs;
use std::io::{self, Read};

use portway::stdio;
use serde_json::value::RawValue;

use crate::output::{Problem, UNUSABLE};

/// Reads them: JSON, `-` for standard input, `@FILE` for a file.
pub(super) fn read(argument: Option<&str>) -> Result<Option<Box<RawValue>>, Problem> {
    let text = match argument {
        None => return Ok(None),
        Some("-") => {
            let mut text = String::new();
            stdio::stdin().read_to_string(&mut text).map_err(|error| unreadable("standard input", &error))?;
            text
        }
        Some(argument) => match argument.strip_prefix('@') {
            Some(file) => fs::read_to_string(file).map_err(|error| unreadable(file, &error))?,
            None => argument.to_owned(),
        },
    };
    let params: Box<RawValue> = serde_json::from_str(&text).map_err(|problem| {
        Problem::new(UNUSABLE, format!("the params are no JSON: {problem}"))
            .with_hint("For the shell, put them in single quotes: '[1, \"text\"]' or '{\"name\": 1}'. Or use @FILE.")
    })?;
    match params.get().as_bytes() {
        [b'{' | b'[', ..] => Ok(Some(params)),
        b"null" => Ok(None),
        _ => Err(Problem::new(UNUSABLE, "the params have to be an array or an object")
            .with_hint(format!("For one positional param: '[{}]'", params.get()))),
    }
}

fn unreadable(name: &str, error: &io::Error) -> Problem {
    Problem::new(UNUSABLE, format!("cannot read the params from {name}: {error}"))
}
