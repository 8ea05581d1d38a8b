//! Taps of WebSockets.

use portway::tap::{Direction, Record, RecordKind, Tap, TapTransport};
use portway::{Client, Listener, Transport};

use crate::raw::{Test, register_methods, within};

fn texts(records: &[Record], wanted: Direction) -> Vec<&str> {
    let mut texts = Vec::new();
    for record in records {
        if let RecordKind::Message { direction, text, .. } = &record.kind
            && *direction == wanted
        {
            texts.push(text.as_str());
        }
    }
    texts
}

#[tokio::test]
async fn both_ends_record_the_same_messages_and_the_close_code() -> Test {
    let (server_tap, mut at_server) = Tap::channel();
    let (client_tap, mut at_client) = Tap::channel();
    let listener = Listener::websocket("127.0.0.1:0").await?;
    let address = listener.address().ok_or("no address")?;
    let listener = listener.with(move |transport| transport.with_tap(&server_tap));
    let serving = tokio::spawn(listener.serve(register_methods));
    let client = Client::new(Transport::websocket(&format!("ws://{address}")).await?.with_tap(&client_tap));
    // The longest message is sent in fragments.
    for length in [0, 100, 100_000] {
        let echo: (String,) = within(client.call("echo", &("ä".repeat(length),)).into_future()).await??;
        assert_eq!(echo.0.chars().count(), length);
    }
    client.destroy();
    let mut read = [Vec::new(), Vec::new()];
    for (records, read) in [&mut at_server, &mut at_client].into_iter().zip(&mut read) {
        while !matches!(read.last().map(|last: &Record| &last.kind), Some(RecordKind::Close { .. })) {
            read.push(within(records.next()).await?.ok_or("no record")?);
        }
    }
    let [server, client] = &read;
    assert_eq!((server.len(), client.len()), (8, 8));
    assert_eq!(texts(server, Direction::Received), texts(client, Direction::Sent));
    assert_eq!(texts(server, Direction::Sent), texts(client, Direction::Received));
    assert_eq!(texts(client, Direction::Sent).len(), 3);
    for records in &read {
        let open = records.first().map(|first| &first.kind);
        assert!(matches!(open, Some(RecordKind::Open { transport: TapTransport::WebSocket, .. })), "{open:?}");
    }
    let end = server.last().map(|last| &last.kind);
    assert!(matches!(end, Some(RecordKind::Close { code: Some(1000), .. })), "{end:?}");
    serving.abort();
    Ok(())
}
