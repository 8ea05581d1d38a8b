//! The core of the inspector: decides which rows the page shows, and everything about them except their texts.
//!
//! The core does no IO, reads no clock and stores no texts. The page in `www/inspector` passes the records of a tap
//! (`docs/tap.md`), and stores their texts by the sequence numbers of the rows. `api.d.ts` describes the interface of
//! the page.
//!
//! - [`export`]: the names of exports.
#![no_std]

extern crate alloc;

pub mod export;
