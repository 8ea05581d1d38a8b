//! `portway decode` and `portway call` with frames of WIPC.

use serde_json::{Value, json};

use crate::command::{Test, feed, run};
use crate::decode::whole;

fn frame(code: u8, payload: &[u8]) -> Vec<u8> {
    [b"WIPC", &[code][..], &(payload.len() as u32).to_le_bytes(), payload].concat()
}

fn event(name: &str, payload: &str) -> Value {
    json!({ "event": "frame", "type": name, "payload": payload })
}

fn passthrough(bytes: &str) -> Value {
    json!({ "event": "passthrough", "bytes": bytes })
}

#[tokio::test]
async fn each_frame_is_an_event_and_the_rest_is_passed_through() -> Test {
    let cases: Vec<(Vec<u8>, Vec<Value>, i32)> = vec![
        (Vec::new(), vec![], 0),
        (frame(0, b""), vec![event("OPEN", "")], 0),
        (frame(1, b"bye"), vec![event("CLOSE", "Ynll")], 0),
        ([frame(2, b"{}"), frame(3, &[0, 255, 10])].concat(), vec![event("CALL", "e30="), event("DATA", "AP8K")], 0),
        // The payload of a CALL is not examined.
        (frame(2, b"no json"), vec![event("CALL", "bm8ganNvbg==")], 0),
        (
            [b"hi", &frame(2, b"{}")[..], b"!?"].concat(),
            vec![passthrough("aGk="), event("CALL", "e30="), passthrough("IT8=")],
            0,
        ),
        (
            [b"WIPC is a protocol\n", &frame(2, b"{}")[..]].concat(),
            vec![passthrough("V0lQQyBpcyBhIHByb3RvY29sCg=="), event("CALL", "e30=")],
            0,
        ),
        ([frame(7, b"")].concat(), vec![passthrough("V0lQQwcAAAAA")], 0),
        (
            frame(3, b"0123456789")[..12].to_vec(),
            vec![passthrough("V0lQQwMKAAAAMDEy"), json!({ "event": "truncated", "bytes": 12 })],
            1,
        ),
        (b"see WIP".to_vec(), vec![passthrough("c2VlIFdJUA==")], 0),
    ];
    for (input, expected, code) in cases {
        let name = String::from_utf8_lossy(&input).into_owned();
        let outcome = feed(["decode", "--framing", "wipc"], &input).await?;
        assert_eq!(whole(outcome.events()?)?, expected, "{name}");
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(code), ""), "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn a_payload_over_the_limit_is_passed_through() -> Test {
    let input = [frame(3, b"12345"), frame(3, b"1234")].concat();
    let outcome = feed(["decode", "--framing", "wipc", "--max-bytes", "4"], &input).await?;
    assert_eq!(whole(outcome.events()?)?, [passthrough("V0lQQwMFAAAAMTIzNDU="), event("DATA", "MTIzNA==")]);
    Ok(())
}

#[tokio::test]
async fn large_payloads_are_not_split() -> Test {
    let input = frame(3, &vec![0; 3_000_000]);
    let outcome = feed(["decode", "--framing", "wipc"], &input).await?;
    let events = outcome.events()?;
    assert_eq!(events, [event("DATA", &"A".repeat(4_000_000))]);
    Ok(())
}

/// Returns the arguments that start a guest. The guest prints a line, reads the call of `add`, and then runs
/// `script_after_call`.
fn guest(script_after_call: &str) -> [String; 3] {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;
    [
        "sh".into(),
        "-c".into(),
        format!("printf 'loading\\n'; head -c {} >/dev/null; {script_after_call}", call.len() + 9),
    ]
}

async fn call(options: &[&str], script_after_call: &str) -> Result<crate::command::Run, Box<dyn std::error::Error>> {
    let program = guest(script_after_call);
    let program = ["--".to_owned()].into_iter().chain(program);
    let arguments = ["call", "add", "[1,2]"].iter().chain(options).map(|word| (*word).to_owned()).chain(program);
    run(arguments.collect::<Vec<_>>()).await
}

/// Returns a shell command that prints a frame.
fn printed(code: u8, payload: &str) -> String {
    let bytes: String = (payload.len() as u32).to_le_bytes().iter().map(|byte| format!("\\{byte:03o}")).collect();
    format!("printf 'WIPC\\{code:03o}{bytes}%s' '{payload}'")
}

#[tokio::test]
async fn a_guest_is_called() -> Test {
    let answer = printed(2, r#"{"jsonrpc":"2.0","id":1,"result":3}"#);
    let script = format!("{}; {}; {answer}", printed(0, ""), printed(3, "bytes"));
    let outcome = call(&["--framing", "wipc"], &script).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "3\n"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr, "portway: the peer printed: loading\nportway: the peer sent 5 bytes of data\n");

    let error = printed(2, r#"{"jsonrpc":"2.0","id":1,"error":{"code":5,"message":"no"}}"#);
    let outcome = call(&["--framing", "wipc"], &error).await?;
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.ends_with("the peer answered with an error: no (5)\n"), "{}", outcome.stderr);
    Ok(())
}

#[tokio::test]
async fn a_guest_that_closes_or_ends_before_it_answers_is_reported() -> Test {
    for script in [printed(1, ""), "exit 3".to_owned()] {
        let outcome = call(&["--framing", "wipc"], &script).await?;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(5), ""), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("before it answered"), "{}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn a_guest_in_another_framing_gets_a_hint() -> Test {
    let script = format!("{}; echo; cat >/dev/null", printed(0, ""));
    let outcome = run(["call", "add", "[1,2]", "--framing", "newline", "--", "sh", "-c", &script]).await?;
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("The peer uses WIPC frames, not one message a line: use --framing wipc."),
        "{}",
        outcome.stderr
    );
    Ok(())
}
