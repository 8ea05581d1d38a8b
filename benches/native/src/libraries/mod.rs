//! One module for each library. The tasks are: count the messages in a stream, serve the method `echo` with typed
//! params on a socket, and call `echo`. A module has the tasks that its library supports.

pub(crate) mod async_lsp;
pub(crate) mod lsp_server;
pub(crate) mod portway;
pub(crate) mod serde_alone;

use serde::{Deserialize, Serialize};

/// The params and the result of `echo`.
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
