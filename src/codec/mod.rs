//! Bytes and text ↔ messages, for boundaries that carry them. No IO here: bytes in, events out; messages in, bytes out.
//!
//! - [`framing`]: which of the byte codecs a stream speaks, and either of them under one name;
//! - [`content_length`]: `Content-Length: N`, a blank line, and N bytes (Language Server Protocol);
//! - [`newline`]: one message a line (MCP on stdio, ACP);
//! - [`wipc`]: frames of WASM guests, among other output;
//! - [`frame`]: what their decoders find;
//! - [`json`]: the text of one message, read and written.
//!
//! In a browser they come with the feature `json` only: most boundaries there carry values, for which the engine has a
//! decoder of its own.

mod beginning;
mod buffer;
pub mod content_length;
pub mod frame;
pub mod framing;
pub mod json;
mod lent;
mod limits;
pub mod newline;
pub mod wipc;
