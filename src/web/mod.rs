//! Browsers and Node: the driver of a [`Connection`](crate::Connection) over windows, workers and ports.
//!
//! JavaScript (`link.js` and its modules) owns the values: it reads envelopes, posts messages, keeps resolvers and
//! handlers in arrays, and runs user code. Rust (`abi.rs`) owns the rules, and gets only small integers from a message.
//! So a payload is never copied into wasm memory, and no lock or borrow of wasm is held while user code runs.

mod abi;
#[cfg(feature = "typed")]
pub(crate) mod api;
mod js_modules;
mod js_payload;
mod validator;

pub use self::abi::run;
