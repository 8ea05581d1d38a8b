//! Tests of the length of sent messages. The library does not send a message above the limit `message_bytes`, because
//! a peer with the same limit would refuse such a message.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, stream};
use portway::RpcError;
use portway::codec::wipc::FrameType;
use portway::codec::wipc::{Decoder, Event, encode};
use portway::wipc::{Guest, GuestServer};
use portway::{CallError, Client, Context, Diagnostic, Framing, Limits, Server, Transport};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::guests::{TEST_TIMEOUT, Test};

/// A limit that is easy to reach.
const MAX_MESSAGE_BYTES: usize = 2_000;

fn limits() -> Limits {
    let mut limits = Limits::DEFAULT;
    limits.message_bytes = MAX_MESSAGE_BYTES;
    limits
}

/// Returns a transport with the limit [`MAX_MESSAGE_BYTES`], and the remote end of its stream.
fn transport_with_remote_end() -> std::io::Result<(Transport, RemoteEnd)> {
    let (near, far) = duplex(1 << 20);
    let (reader, writer) = split(near);
    let remote_end = RemoteEnd { stream: far, decoder: Decoder::new() };
    Ok((Transport::new(reader, writer, Framing::Wipc)?.with_limits(limits()), remote_end))
}

struct RemoteEnd {
    stream: DuplexStream,
    decoder: Decoder,
}

impl RemoteEnd {
    async fn send(&mut self, text: &str) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        encode(FrameType::Call, text.as_bytes(), &mut bytes).map_err(std::io::Error::other)?;
        self.stream.write_all(&bytes).await
    }

    /// Returns the text of the next message.
    async fn receive(&mut self) -> std::io::Result<String> {
        loop {
            let byte = [timeout(TEST_TIMEOUT, self.stream.read_u8()).await??];
            if let Some(Event::Frame(frame)) = self.decoder.next(&mut &byte[..]) {
                return String::from_utf8(frame.payload.to_vec()).map_err(std::io::Error::other);
            }
        }
    }
}

/// `empty` is a message that contains an empty text. Returns a text with which this message has `length` bytes.
fn filler(empty: &str, length: usize) -> String {
    "x".repeat(length - empty.len())
}

fn serve(server: &Server) {
    server.method_sync("make", |(length,): (usize,), _: Context| Ok::<_, RpcError>("x".repeat(length)));
    server.method_sync("fail", |(length,): (usize,), _: Context| {
        Err::<(), _>(RpcError::invalid_params("no").with_data(&"x".repeat(length)))
    });
    server.stream_method("items", |(length,): (usize,), _: Context| {
        stream::iter([Ok::<_, RpcError>(String::new()), Ok("x".repeat(length))])
    });
}

fn is_length_error(error: &Value) -> bool {
    error["code"] == -32_603 && error["message"].as_str().is_some_and(|message| message.contains("2000 bytes"))
}

#[tokio::test]
async fn a_request_may_have_the_maximum_length_and_a_longer_one_fails_at_its_caller() -> Test {
    let (transport, mut remote_end) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let empty = r#"{"jsonrpc":"2.0","id":1,"method":"a\"method","params":[""]}"#;
    let text = filler(empty, MAX_MESSAGE_BYTES);
    for _ in 0..2 {
        let longer = client.call::<()>("a\"method", &[format!("{text}x")]);
        let Err(CallError::Params(problem)) = timeout(TEST_TIMEOUT, longer).await? else {
            return Err("the call must fail".into());
        };
        assert!(problem.contains("2000 bytes") && problem.contains("2001"), "{problem}");
    }
    let call = client.call::<u32>("a\"method", &[&text]).start();
    assert_eq!(remote_end.receive().await?.len(), MAX_MESSAGE_BYTES, "the longer calls must not be sent");
    remote_end.send(r#"{"jsonrpc":"2.0","id":1,"result":5}"#).await?;
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Ok(5));
    let stream = client.stream::<()>("items", &[&text]).collect::<Vec<_>>();
    assert!(matches!(timeout(TEST_TIMEOUT, stream).await?[..], [Err(CallError::Params(_))]));
    Ok(())
}

#[tokio::test]
async fn a_notification_may_have_the_maximum_length_and_a_longer_one_fails_at_its_sender() -> Test {
    let (transport, mut remote_end) = transport_with_remote_end()?;
    let client = Client::new(transport);
    let empty = r#"{"jsonrpc":"2.0","method":"note","params":[""]}"#;
    let text = filler(empty, MAX_MESSAGE_BYTES);
    assert!(matches!(client.notify("note", &[format!("{text}x")]), Err(CallError::Params(_))));
    assert_eq!(client.notify("note", &[&text]), Ok(()));
    assert_eq!(remote_end.receive().await?.len(), MAX_MESSAGE_BYTES);
    // A line break between two tokens is removed, so it does not count.
    let spaced: Box<serde_json::value::RawValue> = serde_json::from_str(&format!("[\"{text}\"\n]"))?;
    assert_eq!(client.notify("note", &spaced), Ok(()));
    assert_eq!(remote_end.receive().await?.len(), MAX_MESSAGE_BYTES);
    Ok(())
}

#[tokio::test]
async fn a_result_may_have_the_maximum_length_and_a_longer_one_becomes_an_error() -> Test {
    let (transport, mut remote_end) = transport_with_remote_end()?;
    let answered = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&answered);
    let server = Server::new(transport.on_diagnostic(move |diagnostic| {
        if let Diagnostic::Answered { error, .. } = diagnostic {
            log.lock().unwrap().push(error.map(|error| error.code.value()));
        }
    }));
    serve(&server);
    server.forget();
    let id = "i\\\"d";
    let max_length = MAX_MESSAGE_BYTES - format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":""}}"#).len();
    for (method, length, fits) in [
        ("make", max_length, true),
        ("make", max_length + 1, false),
        ("make", 10 * MAX_MESSAGE_BYTES, false),
        ("fail", 100, true),
        ("fail", MAX_MESSAGE_BYTES, false),
        ("make", 1, true),
    ] {
        remote_end.send(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"{method}","params":[{length}]}}"#)).await?;
        let text = remote_end.receive().await?;
        assert!(text.len() <= MAX_MESSAGE_BYTES, "{} bytes", text.len());
        let answer: Value = serde_json::from_str(&text)?;
        assert_eq!(answer["id"], "i\"d");
        assert_eq!(is_length_error(&answer["error"]), !fits, "{method}, {length}: {answer:.300}");
        if method == "make" && fits {
            assert_eq!(answer["result"].as_str().map(str::len), Some(length));
        }
    }
    let failed = |code: i64| Some(code);
    let expected = [None, failed(-32_603), failed(-32_603), failed(-32_602), failed(-32_603), None];
    assert_eq!(*answered.lock().unwrap(), expected);
    Ok(())
}

#[tokio::test]
async fn if_the_answer_to_a_batch_is_too_long_its_longest_results_become_errors() -> Test {
    let (transport, mut remote_end) = transport_with_remote_end()?;
    let server = Server::new(transport);
    serve(&server);
    server.forget();
    let request =
        |id: u32, length: usize| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"make","params":[{length}]}}"#);
    let batch = [request(1, 10), request(2, 1_200), request(3, 500), request(4, 900)];
    remote_end.send(&format!("[{}]", batch.join(","))).await?;
    let text = remote_end.receive().await?;
    assert!(text.len() <= MAX_MESSAGE_BYTES, "{} bytes", text.len());
    let mut answers: Vec<Value> = serde_json::from_str(&text)?;
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let lengths: Vec<_> = answers.iter().map(|answer| answer["result"].as_str().map(str::len)).collect();
    assert_eq!(lengths, [Some(10), None, Some(500), Some(900)]);
    assert!(is_length_error(&answers[1]["error"]), "{}", answers[1]);
    Ok(())
}

#[tokio::test]
async fn a_stream_ends_with_an_error_at_an_oversized_item_and_oversized_progress_is_an_error() -> Test {
    let (transport, mut remote_end) = transport_with_remote_end()?;
    let server = Server::new(transport);
    serve(&server);
    let (sender, mut received) = mpsc::unbounded_channel();
    server.method_sync("progress", move |(length,): (usize,), context: Context| {
        let _ = sender.send(context.progress(&"x".repeat(length)));
        Ok::<_, RpcError>(())
    });
    server.forget();
    remote_end
        .send(
            r#"{"jsonrpc":"2.0","id":1,"method":"rpc.stream","params":{"method":"items","params":[2000],"credit":9}}"#,
        )
        .await?;
    assert!(remote_end.receive().await?.contains("rpc.item"));
    let end: Value = serde_json::from_str(&remote_end.receive().await?)?;
    assert_eq!((&end["id"], &end["error"]["code"]), (&json!(1), &json!(-32_603)));
    remote_end.send(r#"{"jsonrpc":"2.0","id":2,"method":"progress","params":[2000]}"#).await?;
    assert!(matches!(timeout(TEST_TIMEOUT, received.recv()).await?, Some(Err(CallError::Params(_)))));
    let end: Value = serde_json::from_str(&remote_end.receive().await?)?;
    assert_eq!(end["id"], 2);
    Ok(())
}

#[tokio::test]
async fn two_peers_exchange_ten_mebibytes_and_one_more_byte_is_an_error_at_the_caller() -> Test {
    let (near, far) = duplex(1 << 20);
    let ((reader, writer), (far_reader, far_writer)) = (split(near), split(far));
    let server = Server::new(Transport::new(far_reader, far_writer, Framing::Wipc)?);
    serve(&server);
    server.method_sync("length", |(text,): (String,), _: Context| Ok::<_, RpcError>(text.len()));
    server.forget();
    let client = Client::new(Transport::new(reader, writer, Framing::Wipc)?);
    let max_length = 10 * 1_024 * 1_024;
    let text = filler(r#"{"jsonrpc":"2.0","id":1,"method":"length","params":[""]}"#, max_length);
    assert_eq!(timeout(TEST_TIMEOUT, client.call::<usize>("length", &[&text])).await?, Ok(text.len()));
    let longer = format!("{text}x");
    assert!(matches!(
        timeout(TEST_TIMEOUT, client.call::<usize>("length", &[&longer])).await?,
        Err(CallError::Params(_))
    ));
    let length = max_length - r#"{"jsonrpc":"2.0","id":2,"result":""}"#.len();
    let result = timeout(TEST_TIMEOUT, client.call::<String>("make", &[length])).await?;
    assert_eq!(result.map(|text| text.len()), Ok(length));
    let result = timeout(TEST_TIMEOUT, client.call::<String>("make", &[length + 1])).await?;
    let error = result.map_err(|error| error.remote().map(|error| error.code.value()));
    assert_eq!(error, Err(Some(-32_603)));
    Ok(())
}

/// Runs `server` in a blocking guest with the limit [`MAX_MESSAGE_BYTES`]. The guest receives the messages in `input`.
/// Returns the messages that the guest sends.
fn answers(server: GuestServer<'_>, input: &[&str]) -> Vec<String> {
    let mut bytes = Vec::new();
    input.iter().for_each(|text| encode(FrameType::Call, text.as_bytes(), &mut bytes).unwrap());
    let mut out = Vec::new();
    server.with_limits(limits()).serve(&mut Guest::on(&bytes[..], &mut out)).unwrap();
    let mut guest = Guest::on(&out[..], std::io::sink());
    let mut texts = Vec::new();
    while let Some(frame) = guest.receive().unwrap() {
        texts.extend((frame.frame_type == FrameType::Call).then(|| String::from_utf8(frame.payload).unwrap()));
    }
    texts
}

#[test]
fn a_guest_without_a_runtime_sends_no_message_over_the_limit() {
    let max_length = MAX_MESSAGE_BYTES - r#"{"jsonrpc":"2.0","id":1,"result":""}"#.len();
    let max_note_length = MAX_MESSAGE_BYTES - r#"{"jsonrpc":"2.0","method":"note","params":[""]}"#.len();
    let server = GuestServer::new()
        .method("make", |(length,): (usize,), _| Ok::<_, RpcError>("x".repeat(length)))
        .method("tell", |(length,): (usize,), host| match host.notify("note", &["x".repeat(length)]) {
            Ok(()) => Ok::<_, RpcError>("sent"),
            Err(problem) if problem.kind() == ErrorKind::InvalidInput => Ok("refused"),
            Err(problem) => Err(RpcError::internal(problem.to_string())),
        });
    let request =
        |method: &str, length: usize| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[{length}]}}"#);
    let batch = format!("[{},{}]", request("make", 1_500), request("make", 600).replace("\"id\":1", "\"id\":2"));
    let input = [
        request("make", max_length),
        request("make", max_length + 1),
        request("tell", max_note_length),
        request("tell", max_note_length + 1),
        batch,
    ];
    let texts = answers(server, &input.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(
        texts.iter().all(|text| text.len() <= MAX_MESSAGE_BYTES),
        "{:?}",
        texts.iter().map(String::len).collect::<Vec<_>>()
    );
    let values: Vec<Value> = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(values.len(), 6);
    assert_eq!(texts[0].len(), MAX_MESSAGE_BYTES);
    assert!(is_length_error(&values[1]["error"]), "{:.300}", values[1]);
    assert_eq!(
        (&values[2]["method"], &values[3]["result"], &values[4]["result"]),
        (&json!("note"), &json!("sent"), &json!("refused"))
    );
    assert!(is_length_error(&values[5][0]["error"]), "{:.300}", values[5]);
    assert_eq!(values[5][1]["result"].as_str().map(str::len), Some(600));
}
