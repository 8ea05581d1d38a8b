//! WebSockets over real sockets. Some tests write the bytes of one end without the library, to violate RFC 6455.
#![cfg(unix)]
#![allow(clippy::indexing_slicing, reason = "indexing a JSON value returns null for a missing member")]

mod admission;
mod axum_router;
mod clients;
mod framing_faults;
mod heads;
mod killed;
mod liveness;
mod many;
mod many_messages;
mod processes;
mod raw;
mod slow_readers;
mod taps;
mod tls;
