//! Clients, servers and peers over byte streams, sockets and processes, on tokio.
//!
//! `driver` is the only place that does IO. A link is shared by the handles of the application and its driver (`link`);
//! what comes in goes by way of `inbox` to the connection, and from there to handlers (`running`) or to calls.

mod browsers;
mod call;
mod cancel;
pub(crate) mod child;
mod client;
mod connect;
mod context;
mod convert;
mod diagnostic;
mod driver;
mod error;
mod frames;
mod handlers;
mod inbox;
mod items;
pub(crate) mod limits;
mod link;
mod listener;
mod members;
mod outflow;
mod peer;
mod process;
mod process_tree;
mod progress;
mod running;
mod server;
mod socket_file;
mod start;
mod state;
pub(crate) mod stdin;
pub(crate) mod stdout;
mod streams;
mod transport;
mod waiters;

pub use self::call::Call;
pub use self::client::Client;
pub use self::context::{Cancelled, Context};
pub use self::diagnostic::Diagnostic;
pub use self::error::{CallError, Closed};
pub use self::items::Items;
pub use self::listener::Listener;
pub use self::peer::Peer;
pub use self::process::{Process, RunningProcess};
pub use self::server::{Server, Stopper};
pub use self::transport::Transport;
pub use crate::text::RpcError;

use crate::text::Text;
