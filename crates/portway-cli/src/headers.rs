//! The headers of HTTP requests, from the option `--header`. Their values may be secrets, so no error contains a value.

use core::convert::Infallible;
use core::fmt;
use std::fs;

use crate::output::{Failure, USAGE_OR_IO_FAILED};

/// The text of an option `--header`. The debug output omits the text, which may contain a secret.
#[derive(Clone)]
pub(crate) struct HeaderArgument(String);

impl HeaderArgument {
    /// Accepts any text. `clap` repeats a text that its parser refuses, so [`read`] checks the text.
    #[allow(clippy::unnecessary_wraps, reason = "clap needs a result")]
    pub(crate) fn parse(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for HeaderArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeaderArgument")
    }
}

/// A header of a request.
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Reads the headers: `NAME:VALUE`, or `NAME:@FILE` for a value in a file.
pub(crate) fn read(arguments: &[HeaderArgument]) -> Result<Vec<Header>, Failure> {
    arguments.iter().map(|HeaderArgument(text)| read_one(text)).collect()
}

fn read_one(text: &str) -> Result<Header, Failure> {
    let usage = |problem: String| Failure::new(USAGE_OR_IO_FAILED, problem);
    let form = || usage("--header must be NAME:VALUE, such as Cookie:id=1".to_owned());
    let (name, value) = text.split_once(':').ok_or_else(form)?;
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(form());
    }
    let value = value.trim();
    let value = match value.strip_prefix('@') {
        Some(file) => {
            fs::read_to_string(file).map_err(|error| usage(format!("cannot read {file}: {error}")))?.trim().to_owned()
        }
        None => value.to_owned(),
    };
    if value.contains(|character: char| !matches!(character, ' '..='~' | '\t')) {
        return Err(usage(format!("the value of the header {name} must be visible ASCII on one line")));
    }
    Ok(Header { name: name.to_owned(), value })
}
