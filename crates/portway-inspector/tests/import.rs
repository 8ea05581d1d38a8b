//! Files of recorded messages become records. The records of an exported file are the same, byte for byte.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

use portway_inspector::import::{Format, import};
use serde_json::{Value, json};

fn records(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn lines_of_records_pass_unchanged_and_bad_lines_are_reported() {
    let good = [
        r#"{"kind":"open","at":1,"link":"a","name":"n","transport":"worker"}"#,
        r#"{"kind":"message","at":2,"link":"a","direction":"sent","form":"text","text":"{\"id\":12345678901234567890123,\"x\":\"\ud800\"}","size":40,"unknown":{"__proto__":1.0}}"#,
        r#"{"kind":"invalid","at":3,"link":"a","direction":"received","base64":"AAE="}"#,
        r#"{"kind":"gap","at":3,"link":"a","direction":"received","messages":2,"bytes":10}"#,
        r#"{"kind":"close","at":4,"link":"a","code":1006}"#,
    ];
    let bad = [
        ("garbage", "the line is not a JSON object"),
        ("[1]", "the line is not a JSON object"),
        (r#"{"kind":"other","at":1,"link":"a"}"#, "kind must be open, message, invalid, gap or close"),
        (r#"{"kind":"open","at":-1,"link":"a"}"#, "at must be a non-negative integer"),
        (r#"{"kind":"open","at":1.5,"link":"a"}"#, "at must be a non-negative integer"),
        (r#"{"kind":"open","at":1,"link":""}"#, "link must be a string of 1 to 200 characters"),
        (r#"{"kind":"message","at":1,"link":"a","text":"x"}"#, "direction must be sent or received"),
        (r#"{"kind":"message","at":1,"link":"a","direction":"sent"}"#, "text must be a string"),
        (r#"{"kind":"invalid","at":1,"link":"a","direction":"sent"}"#, "an invalid message must have text or base64"),
    ];
    let file: Vec<&str> = good.iter().copied().chain(["", "  "]).chain(bad.iter().map(|(line, _)| *line)).collect();
    let imported = import(&file.join("\r\n"));
    assert_eq!(imported.format, Format::Records);
    assert_eq!(imported.lines.lines().collect::<Vec<_>>(), good);
    let found: Vec<(usize, &str)> = imported.problems.iter().map(|it| (it.line, it.reason.as_str())).collect();
    let expected: Vec<(usize, &str)> = (8..).zip(bad.iter().map(|(_, reason)| *reason)).collect();
    assert_eq!(found, expected);
}

#[test]
fn an_exported_array_is_read_line_by_line() {
    let lines = [r#"{"kind":"open","at":1,"link":"a"}"#, r#"{"kind":"close","at":2,"link":"a"}"#];
    let file = format!("[\n{}\n]\n", lines.join(",\n"));
    let imported = import(&file);
    assert_eq!((imported.format, imported.problems.len()), (Format::Records, 0));
    assert_eq!(imported.lines.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn a_har_with_websocket_messages_becomes_records() {
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"é"}"#;
    let har = json!({ "log": { "version": "1.2", "creator": { "name": "WebInspector", "version": "537.36" }, "pages": [], "entries": [
        { "startedDateTime": "2026-12-01T14:05:05.000Z", "request": { "url": "https://example.org/" }, "response": {} },
        {
            "_resourceType": "websocket",
            "startedDateTime": "2026-12-01T14:05:06.123Z",
            "request": { "method": "GET", "url": "wss://example.org/rpc" },
            "_webSocketMessages": [
                { "type": "send", "time": 1_796_133_906.5, "opcode": 1, "data": text },
                { "type": "receive", "time": 1_796_133_906.75, "opcode": 2, "data": "AAEC" },
                { "type": "receive", "time": "now", "opcode": 1, "data": "x" },
                { "type": "error", "time": 1_796_133_907, "opcode": -1, "data": "net::ERR_FAILED" },
            ],
        },
    ] } });
    let imported = import(&har.to_string());
    assert_eq!((imported.format, imported.notes.len()), (Format::Har, 0));
    let link = "har-1";
    assert_eq!(
        records(&imported.lines),
        [
            json!({ "kind": "open", "at": 1_796_133_906_123_000_u64, "link": link, "name": "wss://example.org/rpc", "transport": "websocket" }),
            json!({ "kind": "message", "at": 1_796_133_906_500_000_u64, "link": link, "direction": "sent", "form": "text", "text": text, "size": 38 }),
            json!({ "kind": "invalid", "at": 1_796_133_906_750_000_u64, "link": link, "direction": "received", "base64": "AAEC", "size": 3, "reason": "The message is binary." }),
            json!({ "kind": "close", "at": 1_796_133_907_000_000_u64, "link": link, "reason": "net::ERR_FAILED" }),
        ]
    );
    assert_eq!(imported.problems.iter().map(|it| it.line).collect::<Vec<_>>(), [2]);
    // The lines are records, which can be imported again.
    assert_eq!(import(&imported.lines).lines, imported.lines);
    let har_without_messages = import(r#"{"log":{"entries":[{"request":{"url":"u"}}]}}"#);
    assert_eq!(
        (har_without_messages.format, har_without_messages.lines.as_str(), har_without_messages.notes.len()),
        (Format::Har, "", 1)
    );
}

/// `lsp-devtools` 0.4.0 recorded the file, with `pylsp` as the server.
#[test]
fn lines_of_lsp_devtools_become_records_with_inferred_senders() {
    let file = include_str!("lsp-devtools.jsonl");
    let imported = import(file);
    assert_eq!((imported.format, imported.problems.len(), imported.notes.len()), (Format::LspDevtools, 0, 2));
    let records = records(&imported.lines);
    assert_eq!(records[0]["kind"], "open");
    let senders: Vec<&str> = records[1..].iter().map(|record| record["direction"].as_str().unwrap()).collect();
    let (sent, received) = ("sent", "received");
    assert_eq!(senders, [sent, received, sent, sent, sent, received, received, sent, received, sent]);
    let texts: Vec<&str> = records[1..].iter().map(|record| record["text"].as_str().unwrap()).collect();
    assert_eq!(texts, file.lines().collect::<Vec<_>>());
    assert_eq!(import(&imported.lines).lines, imported.lines);
}

#[test]
fn lines_of_lsp_devtools_may_have_senders_and_times() {
    let file = concat!(
        r#"{"source":"CLIENT","timestamp":"2026-12-01 14:05:06.123456+00:00","message":{"jsonrpc":"2.0","id":1,"method":"a"}}"#,
        "\n",
        r#"{"source":"SERVER","timestamp":1796133906.5,"message":{"jsonrpc":"2.0","id":1,"method":"b"}}"#,
        "\n",
        r#"{"source":"SERVER","timestamp":1796133907,"message":{"jsonrpc":"2.0","id":1,"result":null}}"#,
        "\nnot a message\n",
    );
    let imported = import(file);
    assert_eq!((imported.format, imported.notes.len()), (Format::LspDevtools, 0));
    let found: Vec<(u64, String)> = records(&imported.lines)[1..]
        .iter()
        .map(|record| (record["at"].as_u64().unwrap(), record["direction"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(
        found,
        [
            (1_796_133_906_123_456, "sent".to_owned()),
            (1_796_133_906_500_000, "received".to_owned()),
            (1_796_133_907_000_000, "received".to_owned()),
        ]
    );
    assert_eq!(imported.problems.iter().map(|it| it.line).collect::<Vec<_>>(), [4]);
}

#[test]
fn files_of_an_unknown_format_have_no_records() {
    for text in ["", "\n\n", "garbage", "{}", "[]", "{\"log\":1}", "\u{feff}", "[1,2]"] {
        let imported = import(text);
        assert_eq!((imported.format, imported.lines.as_str()), (Format::Unknown, ""), "{text}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(import(&deep).format, Format::Unknown);
}
