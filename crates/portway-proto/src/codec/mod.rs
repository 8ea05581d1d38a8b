//! Codecs between bytes, text and messages, without IO. Decoders convert bytes to events, and encoders convert messages
//! to bytes.
//!
//! - [`FrameDecoder`] and [`Recogniser`]: one decoder for all framings, and the detection of the framing of a stream;
//! - [`content_length`]: `Content-Length: N`, a blank line, and N bytes (Language Server Protocol);
//! - [`newline`]: one message per line (MCP on stdio, ACP);
//! - [`sse`]: server-sent events (MCP over HTTP);
//! - [`wipc`]: frames of WASM guests, between other output;
//! - [`frame`]: the events of the decoders;
//! - [`json`]: the text of one message, decoded and encoded.
//!
//! Most transports of browsers transfer JavaScript values, which need no codec. So the feature `codec` is not enabled
//! by default.

mod beginning;
mod buffer;
pub mod content_length;
mod event_bytes;
pub mod frame;
pub(crate) mod framing;
pub mod json;
mod limits;
pub mod newline;
pub mod sse;
pub mod wipc;

pub use framing::{FrameDecoder, Recogniser};
