//! The Rust API: typed clients and servers for programs that are compiled to wasm themselves.
//!
//! Values are converted by serde at this edge, and nowhere below it. Calls are futures of our own, without a promise
//! behind them: JavaScript names each call by a number, and one function a client tells how it ended.

mod bridge;
mod call;
mod client;
mod connect;
mod context;
mod convert;
mod deserializer;
mod error;
mod items;
mod limits;
mod parts;
mod peer;
mod request;
mod server;
mod transport;
mod visits;

pub use self::call::Call;
pub use self::client::Client;
pub use self::connect::Connect;
pub use self::context::{Cancelled, Context};
pub use self::error::{CallError, RpcError};
pub use self::items::Items;
pub use self::peer::Peer;
pub use self::server::Server;
pub use self::transport::{Origin, Transport, TransportError};
