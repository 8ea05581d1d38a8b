//! An application that compiles with the native API and with the API in browsers. It matches on the errors of calls,
//! and uses the methods that the handles of both APIs have. The native tests and the tests in browsers run this code.

use std::collections::BTreeMap;
use std::error::Error;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use futures_core::Stream;
use portway::message::Unreadable;
use portway::{
    Call, CallError, Client, Closed, Context, ErrorCode, Framing, Items, Limits, Peer, RpcError, Server, Transport,
};

const BUILD_FAILED: ErrorCode = ErrorCode::new(-32001);

/// Returns a description of the error. The `match` names the variants, so it does not compile if an API lacks one of
/// these variants.
pub(crate) fn describe(error: &CallError) -> String {
    match error {
        CallError::Remote(error) => match (error.code, error.data::<Vec<String>>(), error.reason()) {
            (BUILD_FAILED, Some(Ok(files)), None) => format!("{}: {}", error.message, files.join(", ")),
            (_, _, Some(reason)) => format!("{error}, {reason}"),
            (_, Some(Err(problem)), None) => format!("{error}, unexpected data: {problem}"),
            _ => error.to_string(),
        },
        CallError::HandlerPanicked => "panic".to_owned(),
        CallError::PeerDied => "died".to_owned(),
        CallError::TimedOut => "timeout".to_owned(),
        CallError::Destroyed => "destroyed".to_owned(),
        CallError::SessionEnded => "session ended".to_owned(),
        CallError::PeerGone => "gone".to_owned(),
        CallError::Unresponsive => "unresponsive".to_owned(),
        CallError::Lost(closed) => format!("lost: {}", describe_end(closed)),
        CallError::InvalidResponse => "invalid".to_owned(),
        CallError::Unreadable(Unreadable::MessageError) => "messageerror".to_owned(),
        CallError::Unreadable(why) => format!("unreadable: {why}"),
        CallError::TooManyCalls => "too many".to_owned(),
        CallError::Congested => "congested".to_owned(),
        CallError::Params(problem) => format!("params: {problem}"),
        CallError::Send(problem) => format!("send: {problem}"),
        CallError::NoFrames(Some(framing)) => format!("no raw frames: {framing}"),
        CallError::NoFrames(None) => "no raw frames: whole messages".to_owned(),
        CallError::Deserialize(problem) => format!("result: {problem}"),
        other => other.to_string(),
    }
}

fn describe_end(closed: &Closed) -> String {
    match closed {
        Closed::Local => "local".to_owned(),
        Closed::End => "end".to_owned(),
        Closed::Exited(status) => format!("exited: {status}"),
        Closed::Truncated(bytes) => format!("truncated after {bytes}"),
        Closed::Io(kind, problem) => format!("{kind:?}: {problem}"),
        Closed::OtherFraming { peer, own } => format!("{peer}, not {own}"),
        Closed::NoMessages(lines) => format!("{lines} lines"),
        other => other.to_string(),
    }
}

/// Returns the computed and the expected description of each variant that an application can construct.
pub(crate) fn descriptions() -> Vec<(String, &'static str)> {
    let files = RpcError::new(BUILD_FAILED, "build failed").with_data(&["a.rs", "b.rs"]);
    let busy = RpcError::internal("busy").with_data(&BTreeMap::from([("reason", "too-many-requests")]));
    let other = Closed::OtherFraming { peer: Framing::Newline, own: Framing::ContentLength };
    [
        (CallError::from(files), "build failed: a.rs, b.rs"),
        (CallError::Remote(busy), "busy (-32603), too-many-requests"),
        (CallError::Remote(RpcError::invalid_params("no")), "no (-32602)"),
        (CallError::HandlerPanicked, "panic"),
        (CallError::PeerDied, "died"),
        (CallError::TimedOut, "timeout"),
        (CallError::Destroyed, "destroyed"),
        (CallError::SessionEnded, "session ended"),
        (CallError::PeerGone, "gone"),
        (CallError::Unresponsive, "unresponsive"),
        (CallError::Lost(Closed::Truncated(3)), "lost: truncated after 3"),
        (CallError::Lost(other), "lost: one message a line, not Content-Length frames"),
        (CallError::InvalidResponse, "invalid"),
        (CallError::Unreadable(Unreadable::NotJson), "unreadable: it is not JSON"),
        (CallError::Unreadable(Unreadable::MessageError), "messageerror"),
        (CallError::TooManyCalls, "too many"),
        (CallError::Congested, "congested"),
        (CallError::Params("no".to_owned()), "params: no"),
        (CallError::NoFrames(Some(Framing::Newline)), "no raw frames: one message a line"),
        (CallError::Deserialize("no".to_owned()), "result: no"),
    ]
    .into_iter()
    .map(|(error, description)| (describe(&error), description))
    .collect()
}

/// A stream of the numbers from `next` down to 1.
struct Countdown {
    next: u32,
}

impl Stream for Countdown {
    type Item = Result<u32, RpcError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        let number = self.next;
        self.next = number.saturating_sub(1);
        Poll::Ready((number > 0).then_some(Ok(number)))
    }
}

fn register(server: &Server) {
    server
        .method("build", |(entry,): (String,), context: Context| async move {
            context.progress(&50)?;
            context.notify("log", &(context.method(),))?;
            context.yield_now().await;
            match entry.as_str() {
                "missing.rs" => Err(RpcError::new(BUILD_FAILED, "build failed").with_data(&[entry])),
                _ => Ok(format!("{entry} {:?} {}", context.id(), context.is_cancelled())),
            }
        })
        .method_sync("double", |(number,): (u32,), _: Context| Ok::<_, RpcError>(number * 2))
        .stream_method("count", |(next,): (u32,), _: Context| Countdown { next })
        .on_notify("done", |(): (), context: Context| assert_eq!(context.id(), None));
}

async fn sum(mut items: Items<u32>) -> Result<u32, CallError> {
    let mut sum = 0;
    while let Some(item) = poll_fn(|context| Pin::new(&mut items).poll_next(context)).await {
        sum += item?;
    }
    Ok(sum)
}

/// Uses all methods of [`register`] once or twice. Returns their results as text.
async fn use_all_methods(client: &Client) -> Result<Vec<String>, CallError> {
    let minute = Duration::from_secs(60);
    let build: Call<String> = client.call("build", &["main.rs"]);
    let built = build.timeout(minute).total_timeout(minute).on_progress(|_: u32| {}).start().await?;
    let double: u32 = client.call("double", &(21,)).await?;
    let sum = sum(client.stream("count", &(4,)).timeout(minute).window(2)).await?;
    let failure = client.call::<String>("build", &["missing.rs"]).await.map_err(|error| describe(&error));
    client.notify("done", &())?;
    Ok(vec![built, double.to_string(), sum.to_string(), failure.unwrap_or_else(|error| error)])
}

/// Calls a server from a client, and then a peer from another peer. Returns the results.
pub(crate) async fn run() -> Result<Vec<String>, Box<dyn Error>> {
    let (here, there) = Transport::pair()?;
    let server = Server::new(there.with_limits(Limits::DEFAULT));
    register(&server);
    server.forget();
    let client = Client::new(here).with_timeout(Duration::from_secs(60));
    let mut results = use_all_methods(&client).await?;
    client.destroy();
    results.push(describe(
        &client.call::<u32>("double", &(1,)).await.err().ok_or("a call of a destroyed client must fail")?,
    ));

    let (here, there) = Transport::pair()?;
    let server = Peer::new(there);
    register(server.server());
    server.forget();
    let peer = Peer::new(here).with_timeout(Duration::from_secs(60));
    results.extend(use_all_methods(peer.client()).await?);
    results.push(format!("{} pending", peer.pending()));
    peer.destroy();
    Ok(results)
}

/// The results of [`run`].
pub(crate) const RESULTS: [&str; 10] = [
    "main.rs Some(1) false",
    "42",
    "10",
    "build failed: missing.rs",
    "destroyed",
    "main.rs Some(1) false",
    "42",
    "10",
    "build failed: missing.rs",
    "0 pending",
];
