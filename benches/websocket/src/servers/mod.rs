//! One module for each server. A server has the method `echo`, which returns its params, and the method `flood`, which
//! sends notifications named `tick`. A server prints its port as the first line.

pub(crate) mod bare;
pub(crate) mod by_hand;
pub(crate) mod jsonrpsee;
pub(crate) mod mirror;
pub(crate) mod portway;

use std::net::SocketAddr;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The address of every server. The system chooses the port.
const ADDRESS: &str = "127.0.0.1:0";

/// The number of connections that a server must accept.
const MAX_CONNECTIONS: u32 = 20_000;

/// The params and the result of `echo`, and the params of `tick`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Echo {
    text: String,
    number: u64,
}

/// The params of `flood`.
#[derive(Debug, Deserialize)]
struct Flood {
    count: u64,
}

fn print_port(address: SocketAddr) {
    println!("{{\"port\":{}}}", address.port());
}

/// Returns a notification as text, without a library.
fn tick(number: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"tick","params":{{"text":"hello","number":{number}}}}}"#)
}

/// Returns the number of notifications that a call of `flood` asks for, or `None` for any other message.
fn flood_count(text: &str) -> Result<Option<u64>> {
    let Some((_, params)) = text.split_once(r#""method":"flood","params":"#) else { return Ok(None) };
    let params = params.strip_suffix('}').context("the message must end with }")?;
    Ok(Some(serde_json::from_str::<Flood>(params)?.count))
}
