//! The core of the inspector: decides which rows the page shows, and everything about them except their texts.
//!
//! The core does no IO, reads no clock and stores no texts. The page in `www/inspector` passes the records of a tap
//! (`docs/tap.md`), and stores their texts by the sequence numbers of the rows. `api.d.ts` describes the interface of
//! the page.
//!
//! - [`record`]: the records of a tap;
//! - [`classify`]: the kind of a message, and the findings of the validator about it;
//! - [`buffer`]: the bounded history of rows;
//! - [`limits`]: the limits, which are generated from `limits.toml`;
//! - [`links`]: links, pending calls, batches and figures;
//! - [`filter`]: the filter of the list;
//! - [`rows`]: the places of rows in the list, and the scroll position;
//! - [`inspector`]: all of these together;
//! - [`export`]: the names of exports;
//! - [`import`]: reads files of recorded messages;
//! - [`mask`]: the secrets in texts;
//! - [`text`]: the lengths of texts, and the whitespace in them.
#![no_std]

extern crate alloc;
#[cfg(all(feature = "wasm", target_family = "wasm", target_os = "unknown"))]
extern crate std;

pub mod buffer;
pub mod classify;
pub mod export;
pub mod filter;
pub mod import;
pub mod inspector;
pub mod limits;
pub mod links;
pub mod mask;
pub mod record;
pub mod rows;
pub mod text;
#[cfg(all(feature = "wasm", target_family = "wasm", target_os = "unknown"))]
pub mod wasm;
