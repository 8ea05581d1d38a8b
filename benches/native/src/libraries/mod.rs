//! One module for each library. All have the same tasks: count the messages in a stream, and serve a method `echo` with
//! typed params on a socket.

pub(crate) mod async_lsp;
pub(crate) mod lsp_server;
pub(crate) mod portway;
pub(crate) mod serde_alone;

use serde::{Deserialize, Serialize};

/// The params of `echo`, and its result.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Echo {
    pub(crate) text: String,
    pub(crate) number: u64,
}

impl Echo {
    pub(crate) fn new(number: u64) -> Self {
        Self { text: String::from("hello"), number }
    }
}
