//! Tests of the npm package as a WIPC guest. Its handlers fail with errors of libraries. The tests check which parts of
//! these errors the host receives.

use std::time::Duration;

use portway::{Client, ErrorCode, Framing, Transport};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{file, program};

const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Starts the guest. Returns a client that calls the guest, or `None` if Node is not installed.
fn guest() -> Option<Client> {
    let mut command = Command::new(program("PORTWAY_NODE")?);
    Some(Client::new(Transport::child(command.arg(file("node/failing.mjs")), Framing::Wipc).unwrap()))
}

async fn failure(client: &Client, method: &str) -> (ErrorCode, String, Option<Value>) {
    let failure = client.call::<Value>(method, &()).timeout(TEST_TIMEOUT).await.unwrap_err();
    let error = failure.remote().unwrap_or_else(|| panic!("{failure:?}"));
    (error.code, error.message.clone(), error.data().map(Result::unwrap))
}

#[tokio::test]
async fn the_host_receives_no_header_of_an_axios_error() {
    let Some(client) = guest() else { return };
    let message = "Request failed with status code 403".to_owned();
    let data = json!({ "name": "AxiosError", "code": "ERR_BAD_REQUEST" });
    assert_eq!(failure(&client, "axios").await, (ErrorCode::INTERNAL_ERROR, message.clone(), Some(data)));
    let caused = json!({ "cause": { "name": "AxiosError", "message": message, "code": "ERR_BAD_REQUEST" } });
    assert_eq!(failure(&client, "cause").await, (ErrorCode::INTERNAL_ERROR, "no such user".to_owned(), Some(caused)));
}

#[tokio::test]
async fn the_host_receives_the_path_of_an_fs_error_only_in_the_message() {
    let Some(client) = guest() else { return };
    let message = "ENOENT: no such file or directory, open '/home/s3cret'".to_owned();
    let data = json!({ "code": "ENOENT", "errno": -2 });
    assert_eq!(failure(&client, "fs").await, (ErrorCode::INTERNAL_ERROR, message, Some(data)));
}

#[tokio::test]
async fn the_host_receives_the_data_that_the_option_error_data_selects() {
    let Some(client) = guest() else { return };
    let error = failure(&client, "chosen").await;
    assert_eq!(error, (ErrorCode::INTERNAL_ERROR, "x".to_owned(), Some(json!({ "status": 404 }))));
}
