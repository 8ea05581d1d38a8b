//! WebSockets (RFC 6455): clients, and servers that check each request.
//!
//! `tungstenite` does the framing, without IO. `socket` makes a channel of whole messages from `tungstenite` and a byte
//! stream. A server does not mask its frames, so `socket` writes the data frames of a server without `tungstenite`.
//! `head` reads the heads of HTTP messages within limits, `client` and `server` do the handshakes, and `policy` decides
//! which requests are admitted.

mod client;
mod frame_tracker;
mod head;
mod identity;
mod policy;
mod server;
mod socket;
mod stream;
mod tcp_progress;

pub use self::client::WebSocketOptions;
pub use self::identity::{Admission, Refusal, RequestHead};
pub use self::policy::WebSocketPolicy;
pub(super) use self::server::WebSocketListener;
