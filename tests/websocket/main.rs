//! WebSockets over real sockets: clients, servers, and clients by hand that break the rules.
#![cfg(unix)]
#![allow(clippy::indexing_slicing, reason = "a JSON value gives null for a member that it has not")]

mod admission;
mod axum_router;
mod clients;
mod framing_faults;
mod heads;
mod killed;
mod liveness;
mod many;
mod processes;
mod raw;
mod tls;
