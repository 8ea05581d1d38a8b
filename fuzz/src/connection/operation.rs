//! Operations on the connections, decoded from bytes. The first byte of an operation selects its kind, and the next
//! bytes are its values.

use arbitrary::{Arbitrary, Result, Unstructured};

/// One operation on one of the two connections.
#[derive(Debug)]
pub(super) struct Operation {
    /// The index of the connection.
    pub(super) index: usize,
    pub(super) action: Action,
}

#[derive(Debug)]
pub(super) enum Action {
    Call {
        method: String,
        params: Option<String>,
        timeout: Option<u64>,
    },
    /// A call by `begin_call`, whose request the driver must write. Here the request is never sent.
    Begin {
        timeout: Option<u64>,
    },
    /// A batch. It has a call for each `true`, and a notification for each `false`.
    Batch {
        are_calls: Vec<bool>,
        timeout: Option<u64>,
    },
    Notify {
        method: String,
        params: Option<String>,
    },
    /// Cancels a call. Here, in `Abandon` and in `Restart`, `Endpoint::pick_call` selects the call by the number
    /// `call`.
    Cancel {
        call: u8,
    },
    Abandon {
        call: u8,
    },
    Restart {
        call: u8,
        timeout: Option<u64>,
    },
    Respond {
        request: u8,
        outcome: Outcome,
    },
    /// Delivers `frames` + 1 frames of the peer.
    Deliver {
        frames: u8,
    },
    /// Drops the next frame for the peer.
    Lose,
    /// Delivers the next frame for the peer twice.
    Repeat,
    /// The third party sends this text.
    Hostile {
        text: Vec<u8>,
    },
    /// Lets time pass.
    Wait {
        milliseconds: u64,
    },
    /// Ends the input of the connection.
    EndInput,
    Close,
}

#[derive(Debug)]
pub(super) enum Outcome {
    Result(String),
    Error { code: i64, message: String, data: Option<String> },
}

impl<'a> Arbitrary<'a> for Operation {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        let first = u8::arbitrary(bytes)?;
        let action = match first >> 1 {
            0..12 => Action::Call { method: text(bytes)?, params: params(bytes)?, timeout: timeout(bytes)? },
            12..16 => Action::Begin { timeout: timeout(bytes)? },
            16..26 => {
                let bits = u8::arbitrary(bytes)?;
                let are_calls = (0..bits % 5).map(|index| bits >> (3 + index) & 1 == 0).collect();
                Action::Batch { are_calls, timeout: timeout(bytes)? }
            }
            26..32 => Action::Notify { method: text(bytes)?, params: params(bytes)? },
            32..38 => Action::Cancel { call: u8::arbitrary(bytes)? },
            38..42 => Action::Abandon { call: u8::arbitrary(bytes)? },
            42..46 => Action::Restart { call: u8::arbitrary(bytes)?, timeout: timeout(bytes)? },
            46..62 => Action::Respond { request: u8::arbitrary(bytes)?, outcome: outcome(bytes)? },
            62..80 => Action::Deliver { frames: first % 7 },
            80..83 => Action::Lose,
            83..86 => Action::Repeat,
            86..108 => Action::Hostile { text: hostile(bytes)? },
            108..122 => Action::Wait { milliseconds: u64::from(u8::arbitrary(bytes)?).pow(2) },
            122..124 => Action::Close,
            124 => Action::EndInput,
            _ => Action::Wait { milliseconds: u64::from(u32::arbitrary(bytes)?) },
        };
        Ok(Self { index: usize::from(first & 1), action })
    }
}

fn timeout(bytes: &mut Unstructured<'_>) -> Result<Option<u64>> {
    Ok(match u8::arbitrary(bytes)? {
        255 => None,
        254 => Some(u64::MAX),
        253 => Some(3_600_000),
        byte => Some(u64::from(byte) * 7),
    })
}

/// Returns a short string. JSON text must escape some of its characters.
fn text(bytes: &mut Unstructured<'_>) -> Result<String> {
    let length = u8::arbitrary(bytes)? % 9;
    let text = bytes.bytes(usize::from(length).min(bytes.len()))?;
    Ok(String::from_utf8_lossy(text).into_owned())
}

fn params(bytes: &mut Unstructured<'_>) -> Result<Option<String>> {
    Ok(match u8::arbitrary(bytes)? % 6 {
        0 => None,
        1 => Some("[]".to_owned()),
        2 => Some("{\"a\":\n[1.0,\t\"\\ud83d\\ude00\"]}".to_owned()),
        3 => Some("[[[[[[]]]]]]".to_owned()),
        4 => Some("[1e400]".to_owned()),
        _ => Some(format!("[{}]", quoted(&text(bytes)?))),
    })
}

fn outcome(bytes: &mut Unstructured<'_>) -> Result<Outcome> {
    Ok(match u8::arbitrary(bytes)? % 8 {
        0 => Outcome::Result("null".to_owned()),
        1 => Outcome::Result("{\"b\": [1e2, -0]}".to_owned()),
        2 => Outcome::Result("[[[[[[[0]]]]]]]".to_owned()),
        3 => Outcome::Error { code: i64::arbitrary(bytes)?, message: text(bytes)?, data: None },
        4 => Outcome::Error { code: -32000, message: text(bytes)?, data: Some("null".to_owned()) },
        _ => Outcome::Result(quoted(&text(bytes)?)),
    })
}

/// Returns a message that a correct peer would not send. It is any bytes, a response to an unknown call, an unexpected
/// request or notification, or an array of these messages.
fn hostile(bytes: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let kind = u8::arbitrary(bytes)?;
    if kind % 4 == 0 {
        let length = u8::arbitrary(bytes)?;
        return Ok(bytes.bytes(usize::from(length).min(bytes.len()))?.to_vec());
    }
    if kind % 4 == 1 {
        let count = kind / 4 % 6;
        let elements = (0..count).map(|_| element(bytes)).collect::<Result<Vec<_>>>()?;
        return Ok(format!("[{}]", elements.join(",")).into_bytes());
    }
    Ok(element(bytes)?.into_bytes())
}

/// Returns the JSON text of a request, a notification or a response. The message may be invalid.
fn element(bytes: &mut Unstructured<'_>) -> Result<String> {
    let byte = u8::arbitrary(bytes)?;
    let id = match byte >> 4 {
        13 => "null".to_owned(),
        14 => "\"1\"".to_owned(),
        15 => "1.0".to_owned(),
        number => number.to_string(),
    };
    let members = match byte & 15 {
        0..3 => format!(r#""id":{id},"result":0"#),
        3 | 4 => format!(r#""id":{id},"error":{{"code":1,"message":"m"}}"#),
        5 => format!(r#""id":{id},"error":"no object""#),
        6 => format!(r#""id":{id}"#),
        7 => format!(r#""id":{id},"result":1e400"#),
        8..11 => format!(r#""id":{id},"method":"m""#),
        11 => format!(r#""id":{id},"method":"m","params":[[[[[[0]]]]]]"#),
        12 => format!(r#""id":[{id}],"method":"m""#),
        13 => r#""method":"n""#.to_owned(),
        14 => format!(r#""method":"$/cancelRequest","params":{{"id":{id}}}"#),
        _ => return Ok(format!(r#"{{"id":{id},"method":"m"}}"#)),
    };
    Ok(format!(r#"{{"jsonrpc":"2.0",{members}}}"#))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
