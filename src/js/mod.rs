//! The JavaScript API, as exports of the module.
//!
//! Its classes and functions are written in JavaScript, in this folder and in `../web`. This module re-exports them, so
//! that the module of wasm-bindgen has them under their own names.

#[cfg(not(feature = "__leaf"))]
use wasm_bindgen::prelude::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(typescript_custom_section)]
const API: &str = after_import(include_str!("api.d.ts"));
#[wasm_bindgen(typescript_custom_section)]
const TRANSPORTS: &str = include_str!("transports.d.ts");
#[wasm_bindgen(typescript_custom_section)]
const ERRORS: &str = include_str!("errors.d.ts");
#[wasm_bindgen(typescript_custom_section)]
const MESSAGES: &str = include_str!("messages.d.ts");
#[wasm_bindgen(typescript_custom_section)]
const CONNECT: &str = after_import(include_str!("connect.d.ts"));
#[wasm_bindgen(typescript_custom_section)]
const ERROR_CODES: &str = include_str!("error-codes.d.ts");
#[wasm_bindgen(typescript_custom_section)]
const WIGGUM: &str = include_str!("wiggum.d.ts");

/// Runs when the module is loaded. In the npm package, `wasm-loader.js` does this, since it can start a second instance
/// after a trap of the first.
#[cfg(not(feature = "__leaf"))]
#[wasm_bindgen(start)]
fn start() {
    set_instance(&wasm_bindgen::exports());
}

/// Returns the text after the first statement of a file of declarations. That statement imports declarations that the
/// package has in the same file.
#[allow(dead_code, reason = "the macro uses it on wasm alone")]
const fn after_import(text: &'static str) -> &'static str {
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte == b';' {
            break;
        }
    }
    text.split_at(text.len() - rest.len()).1
}

/// Re-exports names of JavaScript modules. Each is declared as a function without arguments, even a class, since
/// wasm-bindgen re-exports only functions without a line in the generated declarations. Rust calls none of them.
macro_rules! reexport_js {
    ($($module:literal: $($name:ident as $rust:ident),+;)+) => {$(
        #[wasm_bindgen(module = $module)]
        extern "C" {
            $(
                #[wasm_bindgen(js_name = $name, reexport, skip_typescript)]
                fn $rust();
            )+
        }
    )+};
}

reexport_js! {
    "/src/js/client.js": JSONRPCClient as client;
    "/src/js/connect.js": connect as connect;
    "/src/js/error-codes.js": ErrorCode as error_code, wiggum as wiggum, kaiak as kaiak;
    "/src/js/peer.js": JSONRPCPeer as peer;
    "/src/js/server.js": JSONRPCServer as server;
    "/src/js/validate.js": validateMessage as validate_message;
    "/src/web/errors.js": RPCError as rpc_error, CallError as call_error;
    "/src/web/transports.js":
        windowTransport as window_transport, portTransport as port_transport, workerTransport as worker_transport,
        selfTransport as self_transport, broadcastTransport as broadcast_transport;
}

#[cfg(not(feature = "__leaf"))]
#[wasm_bindgen(module = "/src/web/wasm-instance.js")]
extern "C" {
    #[wasm_bindgen(js_name = setInstance)]
    fn set_instance(exports: &JsValue);
}
