//! Answers that cannot be read. Such an answer ends the call to which it belongs, and no other call.

use std::error::Error;
use std::time::Duration;

use portway::Limits;
use portway::message::Unreadable;
use portway::{Call, CallError, Client, Diagnostic, Framing, Peer, Transport};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::wire::{RemoteEnd, TEST_TIMEOUT, limits, transport_with_remote_end_of};

type Test = Result<(), Box<dyn Error>>;

const FRAMINGS: [Framing; 3] = [Framing::ContentLength, Framing::Newline, Framing::Wipc];

fn frame_of(framing: Framing, text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    framing.encode(text, &mut bytes);
    bytes
}

/// Starts `count` calls without a timeout, and reads their requests. Returns the client, the calls and the remote end.
/// The link accepts messages of up to 2,000 bytes.
async fn client_with_calls(
    framing: Framing,
    count: usize,
    change: impl FnOnce(Transport) -> Transport,
) -> Result<(Client, Vec<Call<Value>>, RemoteEnd), Box<dyn Error>> {
    let (transport, mut there) = transport_with_remote_end_of(64 * 1024, framing)?;
    let limits = limits(|limits: &mut Limits| limits.message_bytes = 2_000);
    let client = Client::new(change(transport.with_limits(limits)));
    let calls: Vec<_> = (0..count).map(|_| client.call("wait", &()).timeout(None).start()).collect();
    for _ in 0..count {
        there.receive_frame(framing).await?;
    }
    Ok((client, calls, there))
}

/// Returns unreadable answers to the call with this id, each with the reason why the answer is unreadable.
fn unreadable_answers(id: u64) -> Vec<(String, Unreadable)> {
    let answer = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    let long = "x".repeat(3_000);
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    vec![
        (answer(&format!("\"{long}\"")), Unreadable::TooLarge),
        (answer("NaN"), Unreadable::NotJson),
        (answer("[1"), Unreadable::NotJson),
        (format!(r#"{{"jsonrpc":"2.0","result":Infinity,"id":{id}}}"#), Unreadable::NotJson),
        (answer(&deep), Unreadable::TooDeep),
        (answer(r#""\ud83d""#), Unreadable::LoneSurrogate),
        (answer("1e400"), Unreadable::NumberOutOfRange),
        (answer(r#"1,"result":2"#), Unreadable::RepeatedMember),
        (
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"\udc00"}}}}"#),
            Unreadable::LoneSurrogate,
        ),
        (format!("[{}]", answer(r#""\ud83d""#)), Unreadable::LoneSurrogate),
        (format!("[{}]", answer("NaN")), Unreadable::NotJson),
    ]
}

#[tokio::test]
async fn an_unreadable_answer_ends_the_call_with_its_id_and_no_other_call() -> Test {
    for framing in FRAMINGS {
        for (text, why) in unreadable_answers(2) {
            let (client, calls, mut there) = client_with_calls(framing, 3, |transport| transport).await?;
            there.send_bytes(&frame_of(framing, &text)).await?;
            let mut calls = calls.into_iter();
            let (first, second, third) = (
                calls.next().ok_or("a call is missing")?,
                calls.next().ok_or("a call is missing")?,
                calls.next().ok_or("a call is missing")?,
            );
            let end =
                timeout(TEST_TIMEOUT, second).await.map_err(|_| format!("{framing}: {text:.80} ended no call"))?;
            assert_eq!(end, Err(CallError::Unreadable(why)), "{framing}: {text:.80}");
            assert_eq!(client.pending(), 2, "{framing}: {text:.80}");
            for (id, call) in [(1, first), (3, third)] {
                there
                    .send_bytes(&frame_of(framing, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{id}}}"#)))
                    .await?;
                assert_eq!(timeout(TEST_TIMEOUT, call).await?, Ok(id.into()));
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn many_unreadable_answers_end_the_calls_with_their_ids_and_no_other_call() -> Test {
    for framing in FRAMINGS {
        let (_client, mut calls, mut there) = client_with_calls(framing, 30, |transport| transport).await?;
        for id in 1..30 {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":NaN}}"#);
            there.send_bytes(&frame_of(framing, &answer)).await?;
        }
        there.send_bytes(&frame_of(framing, r#"{"jsonrpc":"2.0","id":30,"result":30}"#)).await?;
        let last = calls.pop().ok_or("a call is missing")?;
        for call in calls {
            let end = timeout(TEST_TIMEOUT, call).await?;
            assert_eq!(end, Err(CallError::Unreadable(Unreadable::NotJson)), "{framing}");
        }
        assert_eq!(timeout(TEST_TIMEOUT, last).await?, Ok(30.into()), "{framing}");
    }
    Ok(())
}

/// Returns answers without a readable id, each with the reason why the answer is unreadable.
fn answers_without_id() -> Vec<(String, Unreadable)> {
    let long = "x".repeat(3_000);
    vec![
        (format!(r#"{{"jsonrpc":"2.0","result":"{long}","id":1}}"#), Unreadable::TooLarge),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"result":1}"#.to_owned(), Unreadable::RepeatedMember),
        (r#"{"jsonrpc":"2.0","result":NaN}"#.to_owned(), Unreadable::NotJson),
        (r#"{"jsonrpc":"2.0","result":"x}"#.to_owned(), Unreadable::NotJson),
    ]
}

#[tokio::test]
async fn an_answer_without_a_readable_id_ends_the_only_pending_call() -> Test {
    for framing in FRAMINGS {
        for (text, why) in answers_without_id() {
            let (_client, calls, mut there) = client_with_calls(framing, 1, |transport| transport).await?;
            there.send_bytes(&frame_of(framing, &text)).await?;
            let call = calls.into_iter().next().ok_or("a call is missing")?;
            let end = timeout(TEST_TIMEOUT, call).await.map_err(|_| format!("{framing}: {text:.80} ended no call"))?;
            assert_eq!(end, Err(CallError::Unreadable(why)), "{framing}: {text:.80}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_without_a_readable_id_ends_none_of_several_calls_and_is_reported() -> Test {
    for framing in FRAMINGS {
        for (text, why) in answers_without_id() {
            let (sender, mut received) = mpsc::unbounded_channel();
            let configure = |transport: Transport| {
                transport.on_diagnostic(move |diagnostic| {
                    if let Diagnostic::UnreadableAnswer(why) = diagnostic {
                        let _ = sender.send(why);
                    }
                })
            };
            let (client, _calls, mut there) = client_with_calls(framing, 2, configure).await?;
            there.send_bytes(&frame_of(framing, &text)).await?;
            assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?, Some(why), "{framing}: {text:.80}");
            assert_eq!(client.pending(), 2);
        }
    }
    Ok(())
}

#[tokio::test]
async fn while_a_dropped_call_is_unanswered_an_answer_without_an_id_ends_no_call() -> Test {
    let (transport, mut there) = transport_with_remote_end_of(64 * 1024, Framing::ContentLength)?;
    let (sender, mut received) = mpsc::unbounded_channel();
    let client = Client::new(transport.on_diagnostic(move |diagnostic| {
        if let Diagnostic::UnreadableAnswer(why) = diagnostic {
            let _ = sender.send(why);
        }
    }));
    drop(client.call::<Value>("given up", &()).start());
    let call = client.call::<Value>("wait", &()).timeout(None).start();
    for _ in 0..3 {
        there.receive().await?;
    }
    there.send(r#"{"jsonrpc":"2.0","result":NaN}"#).await?;
    assert_eq!(timeout(TEST_TIMEOUT, received.recv()).await?, Some(Unreadable::NotJson));
    assert_eq!(client.pending(), 1);
    // The peer has answered the dropped call now. So an answer without an id can only belong to the pending call.
    there.send(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"Request cancelled"}}"#).await?;
    there.send(r#"{"jsonrpc":"2.0","result":NaN}"#).await?;
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Err(CallError::Unreadable(Unreadable::NotJson)));
    Ok(())
}

#[tokio::test]
async fn an_unreadable_request_of_the_peer_ends_no_call_to_the_peer() -> Test {
    for framing in FRAMINGS {
        let (transport, mut there) = transport_with_remote_end_of(64 * 1024, framing)?;
        let peer = Peer::new(transport.with_limits(limits(|limits: &mut Limits| limits.message_bytes = 2_000)));
        let call = peer.call::<Value>("wait", &()).timeout(None).start();
        there.receive_frame(framing).await?;
        let long = "x".repeat(3_000);
        for text in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"log","params":["{long}"]}}"#),
            format!(r#"{{"jsonrpc":"2.0","method":"log","params":["{long}"]}}"#),
            r#"{"jsonrpc":"2.0","id":1,"method":"log","params":[NaN]}"#.to_owned(),
            r#"{"level":30,"id":1,"result":NaN}"#.to_owned(),
        ] {
            // The last text is a line of a log. If the framing is lines, the link does not take this text for an
            // answer. In other framings, the text could be an answer, so the test does not send it.
            if framing == Framing::Newline || text.contains("method") {
                there.send_bytes(&frame_of(framing, &text)).await?;
            }
        }
        there.send_bytes(&frame_of(framing, r#"{"jsonrpc":"2.0","id":1,"result":"yes"}"#)).await?;
        assert_eq!(timeout(TEST_TIMEOUT, call).await?, Ok("yes".into()), "{framing}");
    }
    Ok(())
}

#[tokio::test]
async fn in_an_answer_over_the_limit_the_link_finds_an_id_only_within_the_first_kibibyte() -> Test {
    for framing in FRAMINGS {
        // `id_ends_at` is the number of bytes up to and including the comma after the id.
        let answer = |id: u32, id_ends_at: usize| {
            let (start, end) = (r#"{"jsonrpc":"2.0","x":""#, format!(r#"","id":{id},"#));
            let padding = "x".repeat(id_ends_at - start.len() - end.len());
            format!("{start}{padding}{end}\"result\":\"{}\"}}", "x".repeat(3_000))
        };
        let (client, calls, mut there) = client_with_calls(framing, 2, |transport| transport).await?;
        there.send_bytes(&frame_of(framing, &answer(1, 1_025))).await?;
        there.send_bytes(&frame_of(framing, &answer(2, 1_024))).await?;
        let mut calls = calls.into_iter();
        let (first, second) = calls.next().zip(calls.next()).ok_or("a call is missing")?;
        assert_eq!(timeout(TEST_TIMEOUT, second).await?, Err(CallError::Unreadable(Unreadable::TooLarge)), "{framing}");
        assert_eq!(client.pending(), 1, "{framing}: the id of the first answer must not be found");
        drop(first);
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_with_a_wrong_content_type_or_an_oversized_header_ends_its_call() -> Test {
    let (_client, calls, mut there) = client_with_calls(Framing::ContentLength, 2, |transport| transport).await?;
    let body = r#"{"jsonrpc":"2.0","id":1,"result":1}"#;
    there
        .send_bytes(format!("Content-Type: application/xml\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
        .await?;
    let call = calls.into_iter().next().ok_or("a call is missing")?;
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Err(CallError::Unreadable(Unreadable::ContentType)));
    let (_client, calls, mut there) = client_with_calls(Framing::ContentLength, 1, |transport| transport).await?;
    let padding = "x".repeat(10_000);
    there
        .send_bytes(format!("Content-Length: {}\r\nX-Padding: {padding}\r\n\r\n{body}", body.len()).as_bytes())
        .await?;
    let call = calls.into_iter().next().ok_or("a call is missing")?;
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Err(CallError::Unreadable(Unreadable::HeaderTooLarge)));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_stays_incomplete_ends_its_call() -> Test {
    for framing in FRAMINGS {
        let configure = |transport: Transport| transport.with_payload_timeout(Duration::from_secs(30));
        let (client, calls, mut there) = client_with_calls(framing, 2, configure).await?;
        let answer = frame_of(framing, r#"{"jsonrpc":"2.0","id":2,"result":"slow"}"#);
        let start = tokio::time::Instant::now();
        there.send_bytes(answer.get(..answer.len() - 10).ok_or("the answer must have more than 10 bytes")?).await?;
        let mut calls = calls.into_iter();
        let (first, second) = (calls.next().ok_or("a call is missing")?, calls.next().ok_or("a call is missing")?);
        assert_eq!(second.await, Err(CallError::Unreadable(Unreadable::Stalled)), "{framing}");
        assert!((30_000..30_200).contains(&start.elapsed().as_millis()), "{framing}: {:?}", start.elapsed());
        assert_eq!(client.pending(), 1);
        drop(first);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_message_that_arrives_slowly_is_accepted_only_while_a_call_is_pending() -> Test {
    for framing in [Framing::ContentLength, Framing::Newline] {
        for is_peer in [false, true] {
            let (transport, mut there) = transport_with_remote_end_of(64 * 1024, framing)?;
            let (client, _peer) = if is_peer {
                let peer = Peer::new(transport);
                (peer.client().clone(), Some(peer))
            } else {
                (Client::new(transport), None)
            };
            let call = client.call::<Value>("slow", &()).timeout(Duration::from_secs(3_600)).start();
            there.receive_frame(framing).await?;
            for byte in frame_of(framing, r#"{"jsonrpc":"2.0","id":1,"result":"here"}"#) {
                there.send_bytes(&[byte]).await?;
                tokio::time::sleep(Duration::from_secs(20)).await;
            }
            assert_eq!(call.await, Ok("here".into()), "{framing}");
            // While a call is pending, each byte restarts the timeout of a message. Without a pending call, the timeout
            // counts from the first byte of the message.
            let (sender, mut received) = mpsc::unbounded_channel();
            let (transport, mut there) = transport_with_remote_end_of(64 * 1024, framing)?;
            let client = Client::new(transport.on_diagnostic(move |diagnostic| {
                if let Diagnostic::Frame(fault) = diagnostic {
                    let _ = sender.send(fault);
                }
            }));
            client.notify("begin", &())?;
            there.receive_frame(framing).await?;
            for byte in frame_of(framing, r#"{"jsonrpc":"2.0","method":"slow"}"#).into_iter().take(30) {
                there.send_bytes(&[byte]).await?;
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
            assert!(received.try_recv().is_ok(), "{framing}");
        }
    }
    Ok(())
}
