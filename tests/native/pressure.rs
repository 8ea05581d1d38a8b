//! Who does not read, or sends too much, harms nobody, and loses nothing.

use std::error::Error;
use std::time::Duration;

use portway::limits::Limits;
use portway::{CallError, Client, Context, Framing, RpcError, Server};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::wire::{PATIENCE, frame, limits, wire_of};

type Test = Result<(), Box<dyn Error>>;

#[tokio::test]
async fn reading_goes_on_while_replies_wait_to_be_written_up_to_the_limit() -> Test {
    let (transport, mut there) = wire_of(4_096, Framing::ContentLength)?;
    let limits = limits(|limits: &mut Limits| limits.unwritten_bytes = 300_000);
    let server = Server::new(transport.with_limits(limits));
    server.method_sync("big", |(): (), _: Context| Ok::<_, RpcError>("x".repeat(100_000)));
    server.forget();
    // Three replies fit; after the fourth nothing more is read, until they have been taken.
    let request = |id: u32| frame(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"big"}}"#));
    let mut sent = 0;
    while timeout(Duration::from_millis(200), there.send_bytes(&request(sent))).await.is_ok() {
        sent += 1;
        assert!(sent < 1_000, "reading never paused");
    }
    assert!(sent >= 4, "{sent}");
    // The one that was cut short is sent again by nobody: all others are answered, in order.
    for id in 0..sent {
        let answer = there.receive().await?;
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"].as_str().map(str::len), Some(100_000));
    }
    Ok(())
}

#[tokio::test]
async fn notifications_to_who_does_not_read_are_refused_and_none_is_lost() -> Test {
    let (transport, mut there) = wire_of(4_096, Framing::ContentLength)?;
    let limits = limits(|limits: &mut Limits| limits.unwritten_bytes = 100_000);
    let client = Client::new(transport.with_limits(limits));
    let mut sent = 0;
    loop {
        match client.notify("line", &(sent, "x".repeat(1_000))) {
            Ok(()) => sent += 1,
            Err(error) => {
                assert_eq!(error, CallError::Congested);
                break;
            }
        }
        assert!(sent < 1_000, "it was never refused");
    }
    let reader = tokio::spawn(async move {
        for number in 0..=sent {
            let message = there.receive().await?;
            assert_eq!(message["params"][0], number);
        }
        Ok::<_, std::io::Error>(())
    });
    timeout(PATIENCE, client.ready()).await?;
    client.notify("line", &(sent, "and one more"))?;
    timeout(PATIENCE, reader).await???;
    Ok(())
}

#[tokio::test]
async fn a_cancel_does_not_wait_for_the_other_side_to_read() -> Test {
    let (transport, there) = wire_of(64, Framing::ContentLength)?;
    let client = Client::new(transport);
    let call = client.call::<()>("big", &["x".repeat(100_000)]).start();
    tokio::task::yield_now().await;
    drop(call);
    assert_eq!(client.pending(), 0);
    drop(there);
    Ok(())
}

#[tokio::test]
async fn a_large_reply_through_a_small_pipe_is_complete() -> Test {
    let (transport, mut there) = wire_of(4_096, Framing::ContentLength)?;
    let server = Server::new(transport);
    server.method("echo", |value: Value, _: Context| async move { Ok::<_, RpcError>(value) });
    server.forget();
    let large = json!(["é€😀".repeat(1_000_000)]);
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "echo", "params": large }).to_string();
    there.send(&request).await?;
    let answer = there.receive().await?;
    assert_eq!(answer["result"], large);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_of_many_writers_never_mix() -> Test {
    let (transport, mut there) = wire_of(100, Framing::ContentLength)?;
    let client = Client::new(transport);
    for writer in 0..8 {
        let client = client.clone();
        tokio::spawn(async move {
            for number in 0..200 {
                let sent = client.notify("line", &(writer, number, "x".repeat(number % 37)));
                assert_eq!(sent, Ok(()));
            }
        });
    }
    let mut next = [0_u64; 8];
    for _ in 0..1_600 {
        let message = there.receive().await?;
        let writer = message["params"][0].as_u64().and_then(|writer| next.get_mut(writer as usize));
        let Some(expected) = writer else { return Err("no such writer".into()) };
        assert_eq!(message["params"][1], *expected);
        *expected += 1;
    }
    assert_eq!(next, [200; 8]);
    Ok(())
}

#[tokio::test]
async fn requests_beyond_the_limit_are_refused_and_the_others_are_answered() -> Test {
    let (transport, mut there) = wire_of(64 * 1024, Framing::ContentLength)?;
    let limits = limits(|limits: &mut Limits| limits.in_flight = 2);
    let server = Server::new(transport.with_limits(limits));
    server.method("wait", |(): (), _: Context| async {
        std::future::pending::<()>().await;
        Ok::<_, RpcError>(())
    });
    server.forget();
    for id in 1..=3 {
        there.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"wait"}}"#)).await?;
    }
    let refused = there.receive().await?;
    assert_eq!((&refused["id"], &refused["error"]["data"]["reason"]), (&json!(3), &json!("too-many-requests")));
    Ok(())
}
