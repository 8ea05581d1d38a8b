//! Portway in browsers and in Node: the driver over windows, workers and ports, and the source of the npm package. The
//! driver posts messages and runs handlers. It applies the decisions of a `Connection`, the state machine of
//! `portway-proto`.
//!
//! This crate has no interface for applications. In Rust, depend on `portway`; in JavaScript, on the npm package, which
//! is built from `npm` in the repository. The crate is empty on other targets than `wasm32-unknown-unknown`.
//!
//! JavaScript owns the values. `js/driver/link.js` and its modules read the envelopes of messages, post messages, keep
//! resolvers and handlers in arrays, and run user code. Rust (`abi.rs`) owns the rules, and receives only numbers. So a
//! payload is never copied into wasm memory, and no lock or borrow of wasm is held while user code runs.
//!
//! The JavaScript has layers. The lowest layer is `js/driver`, and the next is `js/transport`. Above these two layers
//! are `js/session`, `js/wipc` and `js/rust`. The classes of the API, in `js`, are the highest layer. `js/entry` has
//! the modules of the package. The glossary in CONTRIBUTING.md explains the terms.
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
