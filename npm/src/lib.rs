//! The wasm module of the npm package: portway without the standard library, to keep the module small.
//!
//! It is a crate of its own, since LTO across crates needs a crate whose only type is `cdylib`.
#![no_std]
#![cfg(all(target_family = "wasm", target_os = "unknown"))]

// Keeps the exports of portway in the link.
extern crate portway as _;
