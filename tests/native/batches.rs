//! Notifications of the protocol in a batch: cancellations, progress, items and credit. Each must have the same effect
//! in a batch as alone. The notifications and requests of a batch are handled in their order.

use std::error::Error;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use portway::connection::Config;
use portway::connection::Connection;
use portway::message::{Fault, Id, Incoming, Message, Response};
use portway::profile::{Ordering, Profile};
use portway::{Client, Context, Diagnostic, Framing, RpcError, Server, Transport};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::wire::{TEST_TIMEOUT, transport_with_remote_end, transport_with_remote_end_of};

type Test = Result<(), Box<dyn Error>>;

/// Serves three methods: `hang` never ends, `echo` returns its params, and `count` is a stream of numbers.
fn serve(transport: Transport) {
    let server = Server::new(transport);
    server.method("hang", |_: Option<Value>, _: Context| async {
        std::future::pending::<()>().await;
        Ok::<_, RpcError>(())
    });
    server.method("echo", |value: Value, _: Context| async move { Ok::<_, RpcError>(value) });
    server.stream_method("count", |(below,): (u32,), _: Context| stream::iter((0..below).map(Ok::<_, RpcError>)));
    server.forget();
}

/// Returns the replies of a batch, sorted by id. Each reply is its id, and its result or the code of its error.
fn replies(batch: &Value) -> Vec<(String, Value)> {
    let mut replies: Vec<_> = batch.as_array().map_or(&[][..], Vec::as_slice).iter().map(reply).collect();
    replies.sort_by(|one, other| one.0.cmp(&other.0));
    replies
}

fn reply(message: &Value) -> (String, Value) {
    let outcome = match message.get("result") {
        Some(result) => result,
        None => &message["error"]["code"],
    };
    (message["id"].to_string(), outcome.clone())
}

const HANG: &str = r#"{"jsonrpc":"2.0","id":"a","method":"hang"}"#;
const ECHO: &str = r#"{"jsonrpc":"2.0","id":"b","method":"echo","params":[1]}"#;

/// Four texts of one notification, which cancels the request [`HANG`]. Three texts escape characters. The last text
/// also has a nested `id`, which must be ignored.
const CANCELS: [&str; 4] = [
    r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"a"}}"#,
    r#"{"jsonrpc":"2.0","\u006dethod":"$/cancelReques\u0074","par\u0061ms":{"id":"a"}}"#,
    r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"\u0069d":"a"}}"#,
    r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"mo\u0072e":{"id":1},"id":"\u0061"}}"#,
];

#[tokio::test]
async fn a_single_cancellation_is_read_if_its_text_contains_escaped_characters() -> Test {
    for cancel in CANCELS {
        let (transport, mut there) = transport_with_remote_end()?;
        serve(transport);
        there.send(HANG).await?;
        there.send(cancel).await?;
        let answer = there.receive().await.map_err(|problem| format!("{cancel}: {problem}"))?;
        assert_eq!(reply(&answer), ("\"a\"".into(), json!(-32_800)), "{cancel}");
    }
    Ok(())
}

#[tokio::test]
async fn a_cancellation_in_a_batch_cancels_an_earlier_request_of_the_batch() -> Test {
    let mut sequential = Profile::GENERIC;
    sequential.ordering = Ordering::Sequential;
    for profile in [Profile::GENERIC, sequential] {
        for cancel in CANCELS {
            for batch in [format!("[{HANG},{cancel},{ECHO}]"), format!("[{HANG},{ECHO},{cancel}]")] {
                let (transport, mut there) = transport_with_remote_end()?;
                serve(transport.with_profile(profile));
                there.send(&batch).await?;
                let answer = there.receive().await.map_err(|problem| format!("{batch}: {problem}"))?;
                let expected = [("\"a\"".into(), json!(-32_800)), ("\"b\"".into(), json!([1]))];
                assert_eq!(replies(&answer), expected, "{batch}");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_cancellation_in_a_batch_does_not_cancel_a_later_request_of_the_batch() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    serve(transport);
    let cancel = CANCELS[0];
    there.send(&format!("[{cancel},{HANG}]")).await?;
    there.send(ECHO).await?;
    assert_eq!(there.receive().await?["id"], "b");
    there.send(cancel).await?;
    assert_eq!(replies(&there.receive().await?), [("\"a\"".into(), json!(-32_800))]);
    Ok(())
}

#[tokio::test]
async fn a_cancellation_in_the_last_batch_of_the_input_is_read() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::Newline)?;
    serve(transport);
    there.send_bytes(format!("[{HANG},{ECHO},{}]", CANCELS[0]).as_bytes()).await?;
    there.finish().await?;
    let answer: Value = serde_json::from_str(&there.receive_line().await?)?;
    assert_eq!(replies(&answer), [("\"a\"".into(), json!(-32_800)), ("\"b\"".into(), json!([1]))]);
    Ok(())
}

#[tokio::test]
async fn the_responses_in_a_refused_batch_end_their_calls() -> Test {
    for (profile, reason) in [
        (Profile::GENERIC, "batch-too-large"),
        (Profile::LSP, "batch-not-supported"),
        (Profile::ACP, "batch-not-supported"),
        (Profile::DAEMON, "batch-not-supported"),
        (Profile::KAIAK, "batch-not-supported"),
    ] {
        let (transport, mut there) = transport_with_remote_end()?;
        let (sender, mut diagnostics) = mpsc::unbounded_channel();
        let limits = crate::wire::limits(|limits| limits.batch_items = 1);
        let transport = transport.with_profile(profile).with_limits(limits).on_diagnostic(move |diagnostic| {
            if let Diagnostic::Rejected { error, .. } = diagnostic {
                let _ = sender.send(error.data::<Value>());
            }
        });
        let client = Client::new(transport);
        let [one_call, other_call] = [(); 2].map(|()| {
            let client = client.clone();
            tokio::spawn(async move { client.call::<u32>("a", &()).await })
        });
        let [first, second] = [there.receive().await?["id"].clone(), there.receive().await?["id"].clone()];
        let responses =
            format!(r#"{{"jsonrpc":"2.0","id":{first},"result":7}},{{"jsonrpc":"2.0","id":{second},"result":8}}"#);
        there.send(&format!("[{ECHO},5,{responses},{ECHO}]")).await?;
        let results = (timeout(TEST_TIMEOUT, one_call).await???, timeout(TEST_TIMEOUT, other_call).await???);
        assert!(matches!(results, (7, 8) | (8, 7)), "{reason}: {results:?}");
        let data = json!({ "reason": reason });
        assert_eq!(there.receive().await?["error"]["data"], data);
        // Only the refusal of the whole batch is reported.
        assert_eq!(diagnostics.try_recv()?, Some(Ok(data)));
        assert!(diagnostics.try_recv().is_err(), "{reason}: an element of the refused batch was reported");
    }
    Ok(())
}

#[tokio::test]
async fn a_refused_batch_that_contains_only_responses_gets_no_answer() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    serve(transport.with_profile(Profile::LSP));
    there.send(r#"[{"jsonrpc":"2.0","id":1,"result":7}]"#).await?;
    there.send(ECHO).await?;
    assert_eq!(there.receive().await?["id"], "b");
    Ok(())
}

#[tokio::test]
async fn a_cancellation_in_a_refused_batch_has_no_effect() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let limits = crate::wire::limits(|limits| limits.batch_items = 2);
    serve(transport.with_limits(limits));
    there.send(HANG).await?;
    there.send(&format!("[{},{ECHO},{ECHO}]", CANCELS[0])).await?;
    assert_eq!(there.receive().await?["error"]["data"]["reason"], "batch-too-large");
    there.send(ECHO).await?;
    assert_eq!(there.receive().await?["id"], "b", "the first request must still be running");
    Ok(())
}

#[tokio::test]
async fn progress_before_the_answer_in_a_batch_is_reported_before_the_call_ends() -> Test {
    for (method, token) in [("method", "token"), (r"\u006dethod", r"t\u006fken")] {
        let (transport, mut there) = transport_with_remote_end()?;
        let client = Client::new(transport);
        let (sender, mut seen) = mpsc::unbounded_channel();
        let listener = move |value: u32| {
            let _ = sender.send(value);
        };
        let call = client.call::<u32>("work", &()).on_progress(listener).start();
        assert_eq!(there.receive().await?["id"], 1);
        let progress = |value: u32| {
            format!(r#"{{"jsonrpc":"2.0","{method}":"$/progress","params":{{"{token}":1,"value":{value}}}}}"#)
        };
        let result = r#"{"jsonrpc":"2.0","id":1,"result":7}"#;
        there.send(&format!("[{},{},{result},{}]", progress(10), progress(20), progress(30))).await?;
        assert_eq!(timeout(TEST_TIMEOUT, call).await??, 7);
        assert_eq!((seen.try_recv(), seen.try_recv()), (Ok(10), Ok(20)));
        assert!(seen.try_recv().is_err(), "progress after the end of the call must be ignored");
    }
    Ok(())
}

#[tokio::test]
async fn items_in_the_batch_that_ends_their_stream_are_returned_before_the_end() -> Test {
    for (method, id) in [("method", "id"), (r"\u006dethod", r"\u0069d")] {
        let (transport, mut there) = transport_with_remote_end()?;
        let client = Client::new(transport);
        let mut items = client.stream::<u32>("count", &());
        let items = tokio::spawn(async move {
            let mut numbers = Vec::new();
            while let Some(number) = items.next().await {
                numbers.push(number);
            }
            numbers
        });
        assert_eq!(there.receive().await?["method"], "rpc.stream");
        let item =
            |value: u32| format!(r#"{{"jsonrpc":"2.0","{method}":"rpc.item","params":{{"{id}":1,"value":{value}}}}}"#);
        there.send(&format!(r#"[{},{},{{"jsonrpc":"2.0","id":1,"result":null}}]"#, item(5), item(6))).await?;
        let numbers = timeout(TEST_TIMEOUT, items).await??;
        assert_eq!(numbers, [Ok(5), Ok(6)]);
    }
    Ok(())
}

#[tokio::test]
async fn credit_in_a_batch_reaches_a_stream_that_the_same_batch_has_requested() -> Test {
    for (method, id) in [("method", "id"), (r"\u006dethod", r"\u0069d")] {
        let (transport, mut there) = transport_with_remote_end()?;
        serve(transport);
        let stream =
            r#"{"jsonrpc":"2.0","id":"s","method":"rpc.stream","params":{"method":"count","params":[9],"credit":1}}"#;
        let credit = format!(r#"{{"jsonrpc":"2.0","{method}":"rpc.credit","params":{{"{id}":"s","count":2}}}}"#);
        there.send(&format!("[{stream},{credit}]")).await?;
        for value in 0..3 {
            assert_eq!(there.receive().await?["params"]["value"], value);
        }
        there.send(ECHO).await?;
        assert_eq!(there.receive().await?["id"], "b", "the server must not send more items than its credit");
    }
    Ok(())
}

/// An error with the id `null` may be the answer to a batch. A hostile peer can send many errors of this kind, so the
/// search for the batch must not visit all pending calls.
#[test]
fn many_pending_calls_do_not_slow_the_handling_of_an_error_with_the_id_null() -> Test {
    let shortest_time = |others: usize| -> Result<Duration, Box<dyn Error>> {
        let mut connection = Connection::<Box<RawValue>>::new(Config::new(Profile::GENERIC));
        for _ in 0..others {
            connection.call("m".into(), None, None).map_err(|_| "a call is refused")?;
        }
        // The error may belong to either of two batches, so it ends no call. Therefore all searches do the same work.
        for batch_number in 1..=2 {
            connection.begin_call(None, NonZeroU32::new(batch_number)).map_err(|_| "a call is refused")?;
        }
        let rounds = (0..5).map(|_| {
            let start = Instant::now();
            for _ in 0..1_000 {
                let outcome = Err(Fault::InvalidRequest.into());
                connection.handle(Incoming::Single(Ok(Message::Response(Response { id: Id::Null, outcome }))));
                while connection.poll_event().is_some() {}
            }
            start.elapsed()
        });
        Ok(rounds.min().unwrap_or_default())
    };
    let (few, many) = (shortest_time(10)?, shortest_time(100_000)?);
    assert!(many < few * 20 + Duration::from_millis(1), "{few:?} beside 10 calls, {many:?} beside 100 000 calls");
    Ok(())
}
