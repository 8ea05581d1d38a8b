//! The JavaScript API, as exports of the module.
//!
//! The classes and functions of this API are written in JavaScript, in the folder `js`. This module re-exports them, so
//! that the JavaScript module of wasm-bindgen exports them under their own names.

use wasm_bindgen::prelude::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(typescript_custom_section)]
const API: &str = after_import(include_str!("../types/api.d.ts"));
#[wasm_bindgen(typescript_custom_section)]
const TRANSPORTS: &str = include_str!("../types/transports.d.ts");
#[wasm_bindgen(typescript_custom_section)]
const ERRORS: &str = include_str!("../types/errors.d.ts");
#[wasm_bindgen(typescript_custom_section)]
const MESSAGES: &str = include_str!("../types/messages.d.ts");
#[wasm_bindgen(typescript_custom_section)]
const CONNECT: &str = after_import(include_str!("../types/connect.d.ts"));
#[wasm_bindgen(typescript_custom_section)]
const ERROR_CODES: &str = include_str!("../types/error-codes.d.ts");
#[wasm_bindgen(typescript_custom_section)]
const WIGGUM: &str = include_str!("../types/wiggum.d.ts");

/// Returns the text after the first statement of a file of declarations. That statement is an import. The package does
/// not need the import, since the package has all declarations in one file.
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

/// Re-exports names of JavaScript modules. Each name is declared as a function without arguments, even if it is a
/// class, because wasm-bindgen adds its own line to the declarations for each re-exported class. Rust does not call
/// these functions.
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
    "/js/client.js": JSONRPCClient as client;
    "/js/connect.js": connect as connect;
    "/js/error-codes.js": ErrorCode as error_code, wiggum as wiggum, kaiak as kaiak;
    "/js/peer.js": JSONRPCPeer as peer;
    "/js/server.js": JSONRPCServer as server;
    "/js/validate.js": validateMessage as validate_message;
    "/js/driver/errors.js": RPCError as rpc_error, CallError as call_error;
    "/js/transport/transports.js":
        windowTransport as window_transport, portTransport as port_transport, workerTransport as worker_transport,
        selfTransport as self_transport, broadcastTransport as broadcast_transport;
}

#[wasm_bindgen(module = "/js/driver/wasm-instance.js")]
extern "C" {
    /// Passes the exports of the wasm to JavaScript when the wasm runs. The npm package does not need this function:
    /// its `wasm-loader.js` passes the exports, including the exports of an instance that replaces a trapped instance.
    #[wasm_bindgen(js_name = setInstance)]
    pub fn set_instance(exports: &JsValue);
}
