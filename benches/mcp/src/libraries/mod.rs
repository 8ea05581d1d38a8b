//! The clients.

pub(crate) mod portway;
pub(crate) mod rmcp;

use std::future::Future;

use anyhow::Result;
use tokio::runtime::{Builder, Runtime};

/// The name and the version of each client.
const CLIENT: (&str, &str) = ("benchmark", "1.0.0");

pub(crate) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    runtime()?.block_on(work)
}
