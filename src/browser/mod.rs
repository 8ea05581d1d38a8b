//! The Rust API in browsers: typed clients and servers for programs that are compiled to wasm.
//!
//! Only this module converts values. It uses serde. The JavaScript driver passes values of JavaScript without
//! conversion.
//!
//! A call is a future without a promise of JavaScript. Rust assigns a number to each call: the token of the call.
//! JavaScript reports the events of a call, with the token, to one callback of the client.

mod call;
mod client;
mod connect;
mod context;
mod conversion_limits;
mod convert;
mod deserializer;
mod error;
mod limits;
mod parts;
mod peer;
mod response_stream;
mod running_request;
mod server;
mod transport;
mod trap_guard;

pub use self::call::Call;
pub use self::client::Client;
pub use self::connect::Connect;
pub use self::context::{Cancelled, Context};
pub(crate) use self::error::JsData;
pub use self::peer::Peer;
pub use self::response_stream::Items;
pub use self::server::Server;
pub use self::transport::{Origin, Transport, TransportError};
