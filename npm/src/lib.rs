//! The module of the npm package: portway without the standard library, which keeps it small.
//!
//! It is a crate of its own since only a crate that is nothing but a `cdylib` is optimised across crates (LTO).
#![no_std]
#![cfg(all(target_family = "wasm", target_os = "unknown"))]

// Keeps the exports of portway in the link.
extern crate portway as _;
