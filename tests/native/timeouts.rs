//! Calls that time out. The peer receives a cancellation, and its handler is dropped. If the peer still answers, the
//! client drops the answer without a report. Progress restarts the timeout.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use portway::message::Id;
use portway::profile::Profile;
use portway::{CallError, Client, Context, Diagnostic, Framing, RpcError, Server, Transport};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use crate::serving::ReportsDrop;
use crate::wire::{RemoteEnd, TEST_TIMEOUT, transport_with_remote_end, transport_with_remote_end_of};

type Test = Result<(), Box<dyn Error>>;

const STEP: Duration = Duration::from_millis(100);

#[tokio::test(start_paused = true)]
async fn a_call_that_times_out_is_cancelled_at_the_peer() -> Test {
    for framing in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
        let (transport, mut there) = transport_with_remote_end_of(64 * 1024, framing)?;
        let client = Client::new(transport).with_timeout(STEP);
        assert_eq!(client.call::<()>("slow", &()).await, Err(CallError::TimedOut));
        assert_eq!(there.receive_frame(framing).await?["method"], "slow");
        let cancel = json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 1 } });
        assert_eq!(there.receive_frame(framing).await?, cancel);
        // The client sends only one cancellation, although the future of the call is also dropped after the timeout.
        client.notify("last", &())?;
        assert_eq!(there.receive_frame(framing).await?["method"], "last");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_times_out_is_cancelled_in_the_form_of_its_profile() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport.with_profile(Profile::ACP)).with_timeout(STEP);
    assert_eq!(client.call::<()>("slow", &()).await, Err(CallError::TimedOut));
    there.receive().await?;
    let cancel = json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": 1 } });
    assert_eq!(there.receive().await?, cancel);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_times_out_is_cancelled_once() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let mut items = client.stream::<u32>("slow", &()).timeout(STEP);
    assert_eq!(items.next().await, Some(Err(CallError::TimedOut)));
    assert_eq!(there.receive().await?["method"], "rpc.stream");
    assert_eq!(there.receive().await?["method"], "$/cancelRequest");
    drop(items);
    client.notify("last", &())?;
    assert_eq!(there.receive().await?["method"], "last");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_handler_of_a_call_that_timed_out_does_not_delay_the_end_of_the_link() -> Test {
    let (here, there) = Transport::pair()?;
    let (sender, mut received) = mpsc::unbounded_channel();
    let server = Server::new(there);
    server.method("slow", move |(): (), _: Context| {
        let guard = ReportsDrop(sender.clone(), "dropped");
        async move {
            let _guard = guard;
            std::future::pending::<()>().await;
            Ok::<_, RpcError>(())
        }
    });
    let stopper = server.stopper();
    let running = tokio::spawn(server.run());
    let client = Client::new(here);
    assert_eq!(client.call::<()>("slow", &()).timeout(STEP).await, Err(CallError::TimedOut));
    assert_eq!(timeout(Duration::from_millis(500), received.recv()).await?, Some("dropped"));
    let start = Instant::now();
    stopper.stop();
    running.await?;
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    Ok(())
}

/// A call with a timeout of [`STEP`]. The test acts as the peer, and sends progress and the answer.
struct CallWithProgress {
    call: portway::Call<u32>,
    there: RemoteEnd,
    start: Instant,
    seen: Arc<Mutex<Vec<u32>>>,
}

impl CallWithProgress {
    /// Starts the call. `configure` sets further options of the call.
    async fn new(configure: impl FnOnce(portway::Call<u32>) -> portway::Call<u32>) -> Result<Self, Box<dyn Error>> {
        let (transport, mut there) = transport_with_remote_end()?;
        // The leaked client keeps the link open until the end of the test.
        let client = Box::leak(Box::new(Client::new(transport).with_timeout(STEP)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let reported = Arc::clone(&seen);
        let call = client.call("work", &()).on_progress(move |value: u32| {
            reported.lock().unwrap_or_else(PoisonError::into_inner).push(value);
        });
        let call = configure(call).start();
        there.receive().await?;
        Ok(Self { call, there, start: Instant::now(), seen })
    }

    async fn progress(&mut self, value: u32) -> Test {
        let params = json!({ "token": 1, "value": value });
        let progress = json!({ "jsonrpc": "2.0", "method": "$/progress", "params": params });
        Ok(self.there.send(&progress.to_string()).await?)
    }

    /// Sends progress until the call times out. Returns the time from the start to the end of the call, in
    /// milliseconds.
    async fn milliseconds_until_timeout(mut self) -> Result<u128, Box<dyn Error>> {
        let Self { call, there, start, .. } = &mut self;
        let progress = r#"{"jsonrpc":"2.0","method":"$/progress","params":{"token":1,"value":1}}"#;
        let working = async {
            loop {
                there.send(progress).await?;
                sleep(STEP / 4).await;
            }
            #[allow(unreachable_code, reason = "this line sets the type of the error")]
            Ok::<_, std::io::Error>(())
        };
        tokio::select! {
            end = call => assert_eq!(end, Err(CallError::TimedOut)),
            problem = working => problem?,
        }
        Ok(start.elapsed().as_millis())
    }
}

#[tokio::test(start_paused = true)]
async fn progress_restarts_the_timeout_of_its_call() -> Test {
    let mut working = CallWithProgress::new(|call| call).await?;
    for value in 1..=20 {
        sleep(STEP * 3 / 4).await;
        working.progress(value).await?;
    }
    sleep(STEP * 3 / 4).await;
    working.there.send(r#"{"jsonrpc":"2.0","id":1,"result":7}"#).await?;
    assert_eq!(working.call.await, Ok(7));
    assert_eq!(working.seen.lock().unwrap_or_else(PoisonError::into_inner).len(), 20);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_progress_ceases_times_out() -> Test {
    let mut working = CallWithProgress::new(|call| call).await?;
    sleep(STEP / 2).await;
    working.progress(1).await?;
    assert_eq!(working.call.await, Err(CallError::TimedOut));
    let elapsed = working.start.elapsed().as_millis();
    assert!((150..170).contains(&elapsed), "{elapsed}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn progress_does_not_restart_the_timeout_of_a_call_without_a_progress_listener() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport).with_timeout(STEP);
    let call = client.call::<()>("deaf", &()).start();
    there.receive().await?;
    let start = Instant::now();
    sleep(STEP / 2).await;
    there.send(r#"{"jsonrpc":"2.0","method":"$/progress","params":{"token":1,"value":1}}"#).await?;
    assert_eq!(call.await, Err(CallError::TimedOut));
    assert!(start.elapsed() < STEP * 5 / 4, "{:?}", start.elapsed());
    Ok(())
}

/// Returns the transport, and a list of ids. If an answer belongs to no call, the transport adds the id of the answer
/// to the list.
fn with_unmatched_ids(transport: Transport) -> (Transport, Arc<Mutex<Vec<Id>>>) {
    let unmatched = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&unmatched);
    let transport = transport.on_diagnostic(move |diagnostic| {
        if let Diagnostic::UnmatchedResponse { id } = diagnostic {
            log.lock().unwrap_or_else(PoisonError::into_inner).push(id.clone());
        }
    });
    (transport, unmatched)
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_call_that_was_cancelled_or_timed_out_is_not_reported() -> Test {
    for framing in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
        let (transport, mut there) = transport_with_remote_end_of(64 * 1024, framing)?;
        let (transport, unmatched) = with_unmatched_ids(transport);
        let client = Client::new(transport).with_timeout(STEP);
        drop(client.call::<()>("dropped", &()).start());
        assert_eq!(client.call::<()>("slow", &()).await, Err(CallError::TimedOut));
        let last = client.call::<u32>("last", &()).start();
        // The client has sent three requests and two cancellations.
        for _ in 0..5 {
            there.receive_frame(framing).await?;
        }
        let cancelled = json!({ "code": -32800, "message": "Request cancelled" });
        for answer in [
            json!({ "jsonrpc": "2.0", "id": 1, "error": cancelled }),
            json!({ "jsonrpc": "2.0", "id": 2, "result": null }),
            json!({ "jsonrpc": "2.0", "id": 99, "result": null }),
            json!({ "jsonrpc": "2.0", "id": "a", "result": null }),
            json!({ "jsonrpc": "2.0", "id": 0, "result": null }),
            json!({ "jsonrpc": "2.0", "id": 3, "result": 3 }),
        ] {
            let mut bytes = Vec::new();
            framing.encode(&answer.to_string(), &mut bytes);
            there.send_bytes(&bytes).await?;
        }
        assert_eq!(timeout(TEST_TIMEOUT, last).await?, Ok(3), "{framing}");
        let ids: Vec<String> =
            unmatched.lock().unwrap_or_else(PoisonError::into_inner).iter().map(ToString::to_string).collect();
        assert_eq!(ids, ["99", "\"a\"", "0"], "only answers to requests that were never sent are reported: {framing}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn progress_restarts_the_timeout_but_not_the_total_timeout() -> Test {
    // The default total timeout is 60 times the timeout.
    let default_total = CallWithProgress::new(|call| call).await?.milliseconds_until_timeout().await?;
    assert!((6_000..6_030).contains(&default_total), "{default_total}");
    let total = CallWithProgress::new(|call| call.total_timeout(STEP * 7)).await?.milliseconds_until_timeout().await?;
    assert!((700..730).contains(&total), "{total}");
    let without_timeout = CallWithProgress::new(|call| call.timeout(None).total_timeout(STEP * 7))
        .await?
        .milliseconds_until_timeout()
        .await?;
    assert!((700..730).contains(&without_timeout), "{without_timeout}");
    let endless = CallWithProgress::new(|call| call.total_timeout(None)).await?;
    assert!(timeout(STEP * 1_000, endless.milliseconds_until_timeout()).await.is_err());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_total_timeout_applies_to_a_call_without_progress() -> Test {
    let (transport, mut there) = transport_with_remote_end()?;
    let client = Client::new(transport).with_timeout(None);
    let start = Instant::now();
    assert_eq!(client.call::<()>("slow", &()).total_timeout(STEP).await, Err(CallError::TimedOut));
    assert!(start.elapsed() < STEP * 2, "{:?}", start.elapsed());
    there.receive().await?;
    assert_eq!(there.receive().await?["method"], "$/cancelRequest");
    Ok(())
}
