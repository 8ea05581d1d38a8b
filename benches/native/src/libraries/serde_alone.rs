//! The baseline for decoding: `memchr` finds the end of the header, and `serde_json` splits the body into members. The
//! members are neither checked nor stored.
//!
//! The decoder receives the whole stream at once, so no message is split between chunks.

use std::hint::black_box;

use anyhow::{Context, Result};
use memchr::memchr;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[allow(dead_code, reason = "the benchmark only parses them")]
struct Members<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

pub(crate) fn decode(mut stream: &[u8]) -> Result<usize> {
    let mut count = 0;
    while let Some(end) = memchr(b'\r', stream) {
        let (header, rest) = stream.split_at_checked(end).context("no header")?;
        let digits = header.strip_prefix(b"Content-Length: ").context("no length")?;
        let length: usize = str::from_utf8(digits)?.parse()?;
        let rest = rest.get(4..).context("no blank line")?;
        let (body, rest) = rest.split_at_checked(length).context("no body")?;
        black_box(serde_json::from_slice::<Members<'_>>(body)?);
        stream = rest;
        count += 1;
    }
    Ok(count)
}
