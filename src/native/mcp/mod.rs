//! A client and a server of the Model Context Protocol (MCP), over standard streams, over Streamable HTTP (with the
//! feature `mcp-http`) or over any other transport.
//!
//! Both speak the versions of two eras: the versions to 2025-11-25 (*legacy*), which begin with `initialize`, and
//! 2026-07-28 (*modern*), whose requests name their version. [`EraDetection`] finds the era of a server. The module
//! brings the wire of MCP, and no types for tools, resources and prompts.
//!
//! [`Profile::MCP`](crate::profile::Profile::MCP) is the profile of links with these rules, for a
//! [`Peer`](crate::Peer) of your own.
//!
//! ```
//! use portway::mcp::{Client, Options};
//! use serde_json::{Value, json};
//! use tokio::process::Command;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # #[cfg(unix)] {
//! # const SERVER: &str = r#"
//! #     read -r discover
//! #     echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'
//! #     read -r initialize
//! #     echo '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'
//! #     read -r initialized; read -r list
//! #     echo '{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"add"}]}}'
//! #     read -r call
//! #     echo '{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"5"}]}}'
//! #     cat > /dev/null"#;
//! # let mut command = Command::new("sh");
//! # command.args(["-c", SERVER]);
//! // For example, `Command::new("my-mcp-server")`.
//! let client = Client::connect(command, Options::new("my-application", "1.0.0")).await?;
//! let tools: Vec<Value> = client.list("tools/list", "tools").await?;
//! let params = json!({ "name": tools[0]["name"], "arguments": { "a": 2, "b": 3 } });
//! let result: Value = client.call("tools/call", &params).await?;
//! assert_eq!(result["content"][0]["text"], "5");
//! client.close().await;
//! # }
//! # Ok(())
//! # }
//! ```

mod call;
mod client;
#[cfg(feature = "mcp-http")]
mod era_cache;
mod error;
mod handshake;
#[cfg(feature = "mcp-http")]
mod http;
mod options;
mod server;
mod updates;

pub use self::call::Call;
pub use self::client::Client;
#[cfg(feature = "mcp-http")]
pub use self::era_cache::EraCache;
pub use self::error::Error;
pub use self::options::Options;
pub use self::server::{Context, Level, Server};
#[cfg(feature = "mcp-http")]
pub use self::server::{HttpBody, HttpProgram, HttpService};
pub use self::updates::{Update, Updates};
pub use portway_proto::mcp::{Era, EraDetection, Failure, LEGACY_VERSIONS, MODERN_VERSIONS, Reply, State};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::codec::json;

/// Returns a member of an object. Returns `None` if the member is missing, or is not of the type `T`.
fn member<T: DeserializeOwned>(object: &RawValue, name: &str) -> Option<T> {
    let [member] = json::members(object.get().as_bytes(), [name])?;
    serde_json::from_str(member?.get()).ok()
}
