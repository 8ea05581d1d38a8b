//! Text ↔ messages, for boundaries that carry text or bytes. No IO here: whole messages in, whole messages out.
//!
//! Not in the browser build: there the engine has a decoder of its own, and payloads stay JavaScript values.

pub mod json;
