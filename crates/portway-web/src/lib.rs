//! Portway in browsers and in Node: the driver of a `Connection` over windows, workers and ports, and the source of the
//! npm package.
//!
//! This crate has no interface for applications. In Rust, depend on `portway`; in JavaScript, on the npm package, which
//! is built from `npm` in the repository. The crate is empty on other targets than `wasm32-unknown-unknown`.
//!
//! JavaScript owns the values: `js/driver/link.js` and its modules read envelopes, post messages, keep resolvers and
//! handlers in arrays, and run user code. Rust (`abi.rs`) owns the rules, and gets only small integers from a message.
//! So a payload is never copied into wasm memory, and no lock or borrow of wasm is held while user code runs.
//!
//! The JavaScript has layers: `js/driver` below `js/transport` below `js/session`, `js/wipc` and `js/rust`, below the
//! classes of the API in `js`. `js/entry` has the modules of the package.
//!
//! # Features
//!
//! - **`exports`**: exports the JavaScript API from the wasm module.
//! - **`bindings`**: the JavaScript that the Rust API of `portway` uses.
#![no_std]
#![cfg(all(target_family = "wasm", target_os = "unknown"))]

extern crate alloc;

mod abi;
#[cfg(feature = "bindings")]
#[doc(hidden)]
pub mod bindings;
#[cfg(feature = "exports")]
#[doc(hidden)]
pub mod exports;
mod js_modules;
mod js_payload;
mod validator;

#[doc(hidden)]
pub use self::abi::run;
