//! The vectors of `tests/data/streams.json` over a byte stream. `tests/data/README.md` defines the vectors.

use std::error::Error;
use std::pin::Pin;

use futures_util::{FutureExt, Stream, StreamExt, stream};
use portway::profile::Profile;
use portway::{Call, CallError, Context, ErrorCode, Framing, Items, Peer, RpcError};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::timeout;

use crate::wire::{RemoteEnd, TEST_TIMEOUT, transport_with_remote_end_of};

type Test = Result<(), Box<dyn Error>>;

#[derive(Deserialize)]
struct Vector {
    name: String,
    profile: Option<String>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    Receive(Value),
    Send(Value),
    Quiet(bool),
    Call(CallOptions),
    Stream(StreamOptions),
    Item(Value),
    Progress(Value),
    Outcome(Value),
    Cancel(bool),
    Notification(Value),
}

#[derive(Deserialize)]
struct CallOptions {
    method: String,
    params: Option<Value>,
    #[serde(default)]
    progress: bool,
}

#[derive(Deserialize)]
struct StreamOptions {
    method: String,
    params: Option<Value>,
    window: Option<u32>,
}

/// The call or the stream of a vector.
enum Operation {
    None,
    Call(Call<Value>),
    Stream(Items<Value>),
}

#[tokio::test]
async fn a_peer_behaves_as_the_vectors_describe() -> Test {
    let vectors: Vec<Vector> = serde_json::from_str(include_str!("../data/streams.json"))?;
    assert!(!vectors.is_empty());
    let mut failures = Vec::new();
    for Vector { name, profile, steps } in &vectors {
        if let Err(failure) = check(profile.as_deref(), steps).await {
            failures.push(format!("{name}:\n  {failure}"));
        }
    }
    assert!(failures.is_empty(), "{} of {} failed\n{}", failures.len(), vectors.len(), failures.join("\n"));
    Ok(())
}

async fn check(profile: Option<&str>, steps: &[Step]) -> Test {
    let profile = match profile {
        None => Profile::GENERIC,
        Some("acp") => Profile::ACP,
        Some(unknown) => return Err(format!("the profile must be acp, got {unknown}").into()),
    };
    let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::ContentLength)?;
    let peer = Peer::new(transport.with_profile(profile));
    let (notify, mut notifications) = mpsc::unbounded_channel();
    serve(&peer, notify);
    let client = peer.client().clone();
    peer.forget();
    let (report, mut reports) = mpsc::unbounded_channel();
    let mut operation = Operation::None;
    for (index, step) in steps.iter().enumerate() {
        match step {
            Step::Receive(message) => there.send(&message.to_string()).await?,
            Step::Send(expected) => {
                let sent =
                    timeout(TEST_TIMEOUT, there.receive()).await.map_err(|_| format!("step {index}: no message"))??;
                expect_equal(index, canonical(sent), canonical(expected.clone()))?;
            }
            Step::Quiet(quiet) => {
                assert!(*quiet && drain(&mut there).await?.is_empty(), "step {index}: unexpected message")
            }
            Step::Call(CallOptions { method, params, progress }) => {
                let call = client.call(method, params);
                let call = if *progress { with_reported_progress(call, report.clone()) } else { call };
                operation = Operation::Call(call.start());
            }
            Step::Stream(StreamOptions { method, params, window }) => {
                let items = client.stream(method, params);
                let mut items = if let Some(window) = window { items.window(*window) } else { items };
                // The request is sent at the first poll.
                assert!(items.next().now_or_never().is_none());
                operation = Operation::Stream(items);
            }
            Step::Item(expected) => {
                expect_equal(index, outcome(&mut operation, "item").await?, json!({ "item": expected }))?
            }
            Step::Progress(expected) => expect_equal(index, next(&mut reports).await?, expected.clone())?,
            Step::Outcome(expected) => expect_equal(index, outcome(&mut operation, "result").await?, expected.clone())?,
            Step::Cancel(cancel) => operation = if *cancel { Operation::None } else { operation },
            Step::Notification(expected) => expect_equal(index, next(&mut notifications).await?, expected.clone())?,
        }
    }
    expect_equal(steps.len(), Value::Array(drain(&mut there).await?), json!([]))?;
    assert!(reports.try_recv().is_err() && notifications.try_recv().is_err());
    Ok(())
}

/// Serves the methods of the vectors, and sends the params of each notification `$/progress` to `notifications`.
fn serve(peer: &Peer, notifications: UnboundedSender<Value>) {
    type Numbers = Pin<Box<dyn Stream<Item = Result<u32, RpcError>> + Send>>;

    peer.stream_method("count", |(below,): (u32,), _: Context| stream::iter((0..below).map(Ok::<_, RpcError>)));
    peer.stream_method("fail_after", |(below,): (u32,), _: Context| {
        let error = Err(RpcError::new(ErrorCode::new(-32001), "no more"));
        stream::iter((0..below).map(Ok).chain([error]))
    });
    peer.stream_method("silent", |(): (), _: Context| -> Numbers { Box::pin(stream::pending()) });
    peer.method("plain", |(): (), _: Context| async { Ok::<_, RpcError>(1) });
    peer.method("never", |(): (), _: Context| std::future::pending::<Result<(), RpcError>>());
    peer.method("report", |values: Vec<Value>, context: Context| async move {
        for value in &values {
            context.progress(value)?;
        }
        Ok::<_, RpcError>(values.len())
    });
    peer.on_notify("$/progress", move |params: Value, _: Context| {
        let _ = notifications.send(params);
    });
}

fn with_reported_progress(call: Call<Value>, report: UnboundedSender<Value>) -> Call<Value> {
    call.on_progress(move |value: Value| {
        let _ = report.send(value);
    })
}

/// Returns the outcome of the call, or of the next read of the stream. If a value arrives, the outcome is an object
/// with one member: the value. `success` is the name of this member.
async fn outcome(operation: &mut Operation, success: &str) -> Result<Value, Box<dyn Error>> {
    let outcome = match operation {
        Operation::None => return Err("this step needs a call or a stream".into()),
        Operation::Call(call) => Some(timeout(TEST_TIMEOUT, call).await?),
        Operation::Stream(items) => timeout(TEST_TIMEOUT, items.next()).await?,
    };
    Ok(match outcome {
        None => json!("end"),
        Some(Ok(value)) => json!({ success: value }),
        Some(Err(CallError::InvalidResponse)) => json!("invalid"),
        Some(Err(CallError::Remote(error))) => {
            json!({ "error": { "code": error.code.value(), "message": error.message } })
        }
        Some(Err(other)) => return Err(other.into()),
    })
}

async fn next(values: &mut UnboundedReceiver<Value>) -> Result<Value, Box<dyn Error>> {
    Ok(timeout(TEST_TIMEOUT, values.recv()).await?.ok_or("nothing was reported")?)
}

/// Lets the tasks of earlier messages run, and then sends a request to the peer. Returns the messages that the peer
/// sends before its answer to this request.
async fn drain(there: &mut RemoteEnd) -> Result<Vec<Value>, Box<dyn Error>> {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    there.send(r#"{"jsonrpc":"2.0","id":"drain","method":"no such method"}"#).await?;
    let mut sent = Vec::new();
    loop {
        let message = timeout(TEST_TIMEOUT, there.receive()).await??;
        if message["id"] == "drain" {
            return Ok(sent);
        }
        sent.push(message);
    }
}

/// Removes the texts of errors, which are not compared.
fn canonical(message: Value) -> Value {
    match message {
        Value::Array(messages) => messages.into_iter().map(canonical).collect(),
        Value::Object(mut members) => {
            if let Some(Value::Object(error)) = members.get_mut("error") {
                error.remove("message");
            }
            Value::Object(members)
        }
        other => other,
    }
}

/// Returns an error if the values of a step differ.
fn expect_equal(step: usize, found: Value, expected: Value) -> Test {
    if found == expected { Ok(()) } else { Err(format!("step {step}: expected {expected}\n  found    {found}").into()) }
}
