//! Clients, servers and peers over byte streams, sockets and processes, on tokio.
//!
//! `driver` does all IO. `link` and `state` contain the data that the driver shares with the handles of the
//! application. `frame_handler` passes incoming messages to the connection. `in_flight` runs the handlers of requests
//! and notifications.

mod accept_error;
mod backpressure;
mod browser_guard;
mod call;
pub(crate) mod child;
mod child_tree;
mod client;
#[cfg(unix)]
mod connect;
mod context;
mod diagnostic;
mod driver;
mod frame_handler;
mod handlers;
#[cfg(any(feature = "mcp-http", feature = "websocket"))]
mod http_refusal;
mod identity;
mod in_flight;
pub(crate) mod limits;
mod link;
mod listener;
#[cfg(feature = "mcp")]
pub mod mcp;
mod mcp_dialect;
mod message_channel;
mod outbox;
mod peer;
#[cfg(any(feature = "mcp-http", feature = "websocket"))]
mod places;
mod process;
#[cfg(unix)]
mod process_tree;
#[cfg(windows)]
#[path = "process_tree_windows.rs"]
mod process_tree;
mod relay;
mod response_stream;
mod scratch;
mod server;
#[cfg(any(feature = "mcp-http", feature = "websocket"))]
mod server_url;
mod service;
mod settings;
#[cfg(unix)]
mod socket_file;
mod start;
mod state;
pub(crate) mod stdin;
pub(crate) mod stdout;
mod stream_sender;
pub mod tap;
#[cfg(any(feature = "mcp-http", feature = "websocket"))]
mod tls;
mod transport;
mod waker_set;
#[cfg(feature = "websocket")]
mod websocket;
mod wipc_options;

pub use self::call::Call;
pub use self::child_tree::ChildTree;
pub use self::client::Client;
#[cfg(unix)]
pub use self::connect::connect_unix;
pub use self::context::{Cancelled, Context};
pub use self::diagnostic::Diagnostic;
pub use self::listener::Listener;
pub use self::peer::Peer;
pub use self::process::{Process, RunningProcess};
pub use self::response_stream::Items;
pub use self::server::{Server, Stopper};
pub use self::service::Service;
pub use self::start::spawn_error_reason;
pub use self::transport::Transport;
#[cfg(feature = "websocket")]
pub use self::websocket::{Admission, Refusal, RequestHead, WebSocketOptions, WebSocketPolicy};

use crate::json_value::Text;
