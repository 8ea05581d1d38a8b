//! Tests of values at the limits of Rust and JavaScript.

use portway::{CallError, RpcError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::wire::{client_and_server, nested, special_params};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Nest(Vec<Self>);

fn nest(levels: usize) -> Nest {
    (1..levels).fold(Nest(Vec::new()), |inner, _| Nest(vec![inner]))
}

#[wasm_bindgen_test]
async fn values_may_be_nested_128_levels_deep_and_no_deeper() {
    let (client, server) = client_and_server();
    server.method("depth", |params: Nest, _| async move {
        let mut depth = 1;
        let mut inner = &params;
        while let Some(next) = inner.0.first() {
            (inner, depth) = (next, depth + 1);
        }
        Ok::<_, RpcError>(depth)
    });
    assert_eq!(client.call_js("depth", &nested(128, false)).await, Ok(128.into()));
    for (levels, ring) in [(129, false), (2_000, false), (3, true)] {
        let Err(CallError::Remote(error)) = client.call_js("depth", &nested(levels, ring)).await else {
            panic!("{levels} levels were read")
        };
        assert_eq!(error.message, "Invalid params: the value is nested more than 128 levels deep");
    }
    assert_eq!(client.call("depth", &nest(128)).await, Ok(128));
    let Err(CallError::Params(_)) = client.call::<u32>("depth", &nest(129)).await else { panic!("the call was sent") };
}

#[wasm_bindgen_test]
async fn a_result_that_is_nested_a_hundred_thousand_levels_deep_is_an_error() {
    let (here, there) = crate::reentrance::loopback_transports();
    let (client, server) = (portway::Client::new(here), portway::Server::new(there));
    server.method_js("deep", |_, _| async { Ok::<_, RpcError>(nested(100_000, false)) });
    let Err(CallError::Deserialize(_)) = client.call::<Nest>("deep", &()).await else { panic!("the value was read") };
}

async fn read<T: DeserializeOwned + Serialize + 'static>(name: &str) -> Result<T, CallError> {
    let (client, server) = client_and_server();
    server.method("read", |(value,): (T,), _| async move { Ok::<_, RpcError>(value) });
    // JavaScript creates the params, and the server reads the value as `T`. The test reads the result as `T` again.
    client
        .call_js("read", &special_params(name))
        .await
        .map(|value| RpcError::internal("").with_js_data(value).data().unwrap().unwrap())
}

#[wasm_bindgen_test]
async fn integers_are_exact_or_refused() {
    assert_eq!(read::<u64>("safe").await, Ok((1 << 53) - 1));
    for name in ["beyond", "bigger", "nan", "fraction", "undefined"] {
        assert!(matches!(read::<u64>(name).await, Err(CallError::Remote(_))), "{name}");
        assert!(matches!(read::<i64>(name).await, Err(CallError::Remote(_))), "{name}");
        assert!(matches!(read::<u32>(name).await, Err(CallError::Remote(_))), "{name}");
    }
    let (client, server) = client_and_server();
    server.method("isMost", |(value,): (i64,), _| async move { Ok::<_, RpcError>(value == i64::MAX) });
    assert_eq!(client.call_js("isMost", &special_params("big")).await, Ok(true.into()));
    // Params and results with an integer that JavaScript cannot represent exactly are errors.
    assert!(matches!(client.call::<bool>("isMost", &(i64::MAX,)).await, Err(CallError::Params(_))));
    server.method("most", |(), _| async { Ok::<_, RpcError>(u64::MAX) });
    assert!(matches!(client.call::<u64>("most", &()).await, Err(CallError::Remote(_))));
}

#[wasm_bindgen_test]
async fn nan_and_negative_zero_are_numbers_and_undefined_is_an_absent_value() {
    assert!(read::<f64>("nan").await.unwrap().is_nan());
    assert!(read::<f64>("negativeZero").await.unwrap().is_sign_negative());
    assert!(matches!(read::<f64>("big").await, Err(CallError::Remote(_))));
    assert!(matches!(read::<f64>("undefined").await, Err(CallError::Remote(_))));
    assert_eq!(read::<Option<f64>>("undefined").await, Ok(None));
}
