//! Tests of servers. In most of them, the test acts as the client and writes raw messages.

use std::collections::BTreeMap;

use portway::{CallError, Context, ErrorCode, RpcError};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{Add, add, client_and_server, next, server_and_wire, sleep};

#[wasm_bindgen_test]
async fn a_handler_without_params_accepts_absent_null_and_empty_params() {
    let (server, wire) = server_and_wire();
    server.method_sync("none", |(), _| Ok::<_, RpcError>("none"));
    server.method_sync("list", |list: Vec<u32>, _| Ok::<_, RpcError>(list.len()));
    for params in ["", r#","params":null"#, r#","params":[]"#, r#","params":{}"#] {
        for (method, result) in [("none", r#""none""#), ("list", "0")] {
            wire.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{params}}}"#));
            assert_eq!(
                next(&wire).await,
                format!(r#"{{"jsonrpc":"2.0","result":{result},"id":1}}"#),
                "{method}{params}"
            );
        }
    }
}

#[wasm_bindgen_test]
async fn values_without_members_of_their_own_are_not_empty_params() {
    let (client, server) = client_and_server();
    server.method("map", |_: BTreeMap<String, u32>, _| async { Ok::<_, RpcError>(1) });
    let null = js_sys::Array::of1(&JsValue::NULL);
    let set = js_sys::Set::new(&null);
    let date = js_sys::Date::new(&JsValue::from_f64(0.0));
    server.method("none", |(): (), _| async { Ok::<_, RpcError>(1) });
    let values: [(&str, &str, &JsValue); 4] = [
        ("map", "an array with null", &null),
        ("map", "a set", &set),
        ("none", "a set", &set),
        ("none", "a date", &date),
    ];
    for (method, name, params) in values {
        let outcome = client.call_js(method, params).await;
        let Err(CallError::Remote(error)) = outcome else { panic!("{name}: {outcome:?}") };
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{name}");
    }
    for params in [JsValue::NULL, js_sys::Array::new().into(), js_sys::Object::new().into()] {
        assert_eq!(client.call_js("map", &params).await, Ok(1.into()), "{params:?}");
    }
}

#[wasm_bindgen_test]
async fn a_response_has_the_id_of_its_request() {
    let (server, wire) = server_and_wire();
    server.method("add", add);
    for id in ["1", "\"1\"", "-7", "0", "1.5", "\"\""] {
        wire.send(&format!(r#"{{"jsonrpc":"2.0","method":"add","params":{{"a":1,"b":2}},"id":{id}}}"#));
        assert_eq!(next(&wire).await, format!(r#"{{"jsonrpc":"2.0","result":3,"id":{id}}}"#));
    }
}

#[wasm_bindgen_test]
async fn a_batch_is_answered_in_one_array() {
    let (server, wire) = server_and_wire();
    server.method("later", |(ms,): (f64,), _| async move {
        sleep(ms).await;
        Ok::<_, RpcError>(ms)
    });
    server.method_sync("now", |(), _| Ok::<_, RpcError>(0));
    wire.send(
        r#"[{"jsonrpc":"2.0","method":"later","params":[20],"id":1},{"jsonrpc":"2.0","method":"now"},
            {"jsonrpc":"2.0","method":"now","id":2}]"#,
    );
    let answer = r#"[{"jsonrpc":"2.0","result":0,"id":2},{"jsonrpc":"2.0","result":20,"id":1}]"#;
    let reply = next(&wire).await;
    let reversed_answer = r#"[{"jsonrpc":"2.0","result":20,"id":1},{"jsonrpc":"2.0","result":0,"id":2}]"#;
    assert!(reply == answer || reply == reversed_answer, "{reply}");
}

#[wasm_bindgen_test]
async fn null_params_are_read_as_absent_params() {
    let (server, wire) = server_and_wire();
    server.method("ping", |(), _| async { Ok::<_, RpcError>("pong".to_owned()) });
    wire.send(r#"{"jsonrpc":"2.0","method":"ping","params":null,"id":1}"#);
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","result":"pong","id":1}"#);
}

#[wasm_bindgen_test]
async fn reserved_names_are_not_registered() {
    let (server, wire) = server_and_wire();
    server.method("rpc.add", add);
    wire.send(r#"{"jsonrpc":"2.0","method":"rpc.add","params":{"a":1,"b":2},"id":1}"#);
    let answer = r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found: rpc.add"},"id":1}"#;
    assert_eq!(next(&wire).await, answer);
}

#[wasm_bindgen_test]
async fn the_context_returns_the_method() {
    let (server, wire) = server_and_wire();
    server.method("which", |(), context: Context| async move { Ok::<_, RpcError>(context.method()) });
    wire.send(r#"{"jsonrpc":"2.0","method":"which","id":1}"#);
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","result":"which","id":1}"#);
}

#[wasm_bindgen_test]
async fn a_handler_with_a_struct_accepts_any_order_of_members_and_ignores_unknown_members() {
    let (server, wire) = server_and_wire();
    server.method_sync("add", |Add { a, b }, _| Ok::<_, RpcError>(a + b));
    wire.send(r#"{"jsonrpc":"2.0","method":"add","params":{"b":2,"c":9,"a":1},"id":1}"#);
    assert_eq!(next(&wire).await, r#"{"jsonrpc":"2.0","result":3,"id":1}"#);
}
