//! A program that depends on portway and needs none of its features.

use portway::Limits;
use portway::codec::json;
use portway::connection::{Config, Connection, Event};
use portway::profile::Profile;

fn main() {
    let mut connection = Connection::new(Config::new(Profile::GENERIC));
    let text = br#"{"jsonrpc":"2.0","method":"ping","id":1}"#;
    connection.handle(json::decode(text, &Profile::GENERIC, &Limits::DEFAULT));
    let requests = std::iter::from_fn(|| connection.poll_event());
    println!("{} request", requests.filter(|event| matches!(event, Event::Request { .. })).count());
}
