//! The example `axum-server`: a router of axum hands its sockets to Portway.

#[path = "../../examples/axum-server.rs"]
#[allow(dead_code, reason = "the test does not use the `main` of the example")]
mod example;

use portway::{Client, Transport};

use crate::raw::{RawClient, Test, frame, within};

#[tokio::test]
async fn a_router_of_axum_hands_over_its_sockets() -> Test {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, example::router()).await });
    for path in ["messages", "upgraded"] {
        let client = Client::new(within(Transport::websocket(&format!("ws://{address}/{path}"))).await??);
        let calls = (0..100).map(|number: i64| {
            let client = client.clone();
            async move { client.call::<i64>("add", &(number, 1)).await }
        });
        for (number, sum) in within(futures_util::future::join_all(calls)).await?.into_iter().enumerate() {
            assert_eq!(sum, Ok(number as i64 + 1), "{path}");
        }
        // A message that is not JSON is answered, and the link stays open.
        let request = crate::raw::request(&address.to_string(), "").replace("/rpc", &format!("/{path}"));
        let (mut raw, head) = RawClient::ask(address, &request).await?;
        assert!(head.starts_with("HTTP/1.1 101 "), "{path}: {head}");
        raw.send(&frame(0x81, b"{")).await?;
        assert_eq!(raw.message().await?["error"]["code"], -32700, "{path}");
    }
    Ok(())
}
