//! Tests in a browser of code that runs on both Rust APIs. The native tests are in `tests/native/portability.rs`.

use portway::{CallError, ErrorCode, RpcError};
use serde::Deserialize;
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::portable;
use crate::wire::{next, server_and_wire};

#[wasm_bindgen_test]
fn one_match_on_both_apis_describes_each_call_error() {
    for (found, expected) in portable::descriptions() {
        assert_eq!(found, expected);
    }
}

#[wasm_bindgen_test]
async fn one_application_runs_on_both_apis() {
    assert_eq!(portable::run().await.unwrap(), portable::RESULTS);
}

#[wasm_bindgen_test]
async fn a_handler_gets_the_id_of_its_request() {
    let (server, wire) = server_and_wire();
    server.method("id", |(): (), context: portway::Context| async move {
        context.yield_now().await;
        Ok::<_, RpcError>(context.id().map(|id| id.to_string()))
    });
    for (id, text) in [("7", "7"), ("-7", "-7"), ("1.5", "1.5"), ("\"a\"", "\\\"a\\\""), ("1e300", "1e+300")] {
        wire.send(&format!(r#"{{"jsonrpc":"2.0","method":"id","id":{id}}}"#));
        let reply = next(&wire).await;
        assert!(reply.contains(&format!(r#""result":"{text}""#)), "{id}: {reply}");
    }
}

#[derive(Debug, Deserialize, PartialEq)]
struct Place {
    line: u32,
}

#[wasm_bindgen_test]
fn the_data_of_an_error_is_a_value_of_javascript() {
    let error = RpcError::internal("no");
    assert!(error.js_data().is_undefined());
    assert_eq!(error.clone().with_js_data(JsValue::UNDEFINED), error);
    let value = js_sys::JSON::parse(r#"{"line":7}"#).unwrap();
    let error = error.with_js_data(value.clone());
    assert_eq!(error.js_data(), value);
    assert_eq!(error.data(), Some(Ok(Place { line: 7 })));
    let CallError::Remote(error) = CallError::from(error) else { panic!("the error must be of the peer") };
    assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
}

#[cfg(feature = "codec")]
#[wasm_bindgen_test]
fn the_data_of_an_error_can_be_read_as_json_text() {
    use std::borrow::Cow;

    use portway::message::ErrorObject;
    use serde_json::value::RawValue;

    let text = |error: &RpcError| error.raw_data().map(|data| data.get().to_owned());
    let error = RpcError::internal("no").with_data(&[1, 2]);
    assert_eq!(text(&error).as_deref(), Some("[1,2]"));
    let object = ErrorObject::<Box<RawValue>>::from(error.clone());
    let returned = RpcError::from(object);
    assert!(matches!(returned.raw_data(), Some(Cow::Borrowed(_))));
    assert_eq!(js_sys::Array::from(&returned.js_data()).to_vec(), [JsValue::from(1), JsValue::from(2)]);
    assert_eq!(returned.data(), Some(Ok(vec![1, 2])));
    assert_eq!(text(&RpcError::internal("").with_js_data(js_sys::BigInt::from(1).into())), None);
    assert_eq!(text(&RpcError::internal("").with_js_data(js_sys::Function::new_no_args("").into())), None);
}
