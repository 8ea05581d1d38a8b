//! Browsers (and Node): the driver of a [`Connection`](crate::Connection) over message boundaries.
//!
//! The work is shared. JavaScript (`link.js` and its neighbours) owns the values: it reads envelopes, posts messages,
//! keeps resolvers and handlers in arrays, and runs user code. Rust (`core.rs`) owns the rules, and sees of a message
//! nothing but small integers. So a payload is never copied into wasm memory, and no call into wasm holds anything
//! while user code runs.

#[cfg(feature = "typed")]
pub(crate) mod api;
mod commands;
mod core;
mod modules;
mod token;
mod validator;
mod words;

pub use self::core::run;
