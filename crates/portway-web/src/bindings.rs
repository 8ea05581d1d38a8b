//! The functions and classes of JavaScript that the Rust API of `portway` uses in browsers: clients and servers,
//! transports, sessions, and helpers for values.

use alloc::string::String;

use js_sys::{Array, Promise};
use wasm_bindgen::prelude::{Closure, JsValue, wasm_bindgen};

#[wasm_bindgen(module = "/js/rust/client-server.js")]
extern "C" {
    /// A client of the Rust API, on a link.
    #[wasm_bindgen(js_name = RustClient)]
    #[derive(Debug)]
    pub type ClientRole;

    #[wasm_bindgen(constructor, js_class = RustClient)]
    pub fn new(transport: &JsValue, limits: &JsValue) -> ClientRole;

    #[wasm_bindgen(method, js_name = setCallback)]
    pub fn set_callback(this: &ClientRole, callback: &Closure<dyn Fn(u32, u32, JsValue)>);

    #[wasm_bindgen(method, catch)]
    pub fn begin(
        this: &ClientRole,
        token: u32,
        method: &JsValue,
        params: &JsValue,
        timeout: f64,
        total: f64,
        transfer: &JsValue,
        wants_progress: bool,
    ) -> Result<i32, JsValue>;

    #[wasm_bindgen(method)]
    pub fn cancel(this: &ClientRole, slot: i32);

    #[wasm_bindgen(method, catch)]
    pub fn stream(
        this: &ClientRole,
        method: &str,
        params: &JsValue,
        timeout: f64,
        window: u32,
    ) -> Result<JsStream, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub fn notify(this: &ClientRole, method: &str, params: &JsValue, transfer: &JsValue) -> Result<(), JsValue>;

    #[wasm_bindgen(method)]
    pub fn destroy(this: &ClientRole);

    /// A server of the Rust API, on a link.
    #[wasm_bindgen(js_name = RustServer)]
    #[derive(Debug)]
    pub type ServerRole;

    #[wasm_bindgen(constructor, js_class = RustServer)]
    pub fn new(transport: &JsValue, limits: &JsValue) -> ServerRole;

    #[wasm_bindgen(method, js_name = setCallback)]
    pub fn set_callback(this: &ServerRole, callback: &Closure<dyn Fn(u32, u32, JsValue, JsRequest) -> i32>);

    #[wasm_bindgen(method)]
    pub fn method(this: &ServerRole, name: &str, index: u32);

    #[wasm_bindgen(method, js_name = streamMethod)]
    pub fn stream_method(this: &ServerRole, name: &str, index: u32);

    #[wasm_bindgen(method, js_name = onNotify)]
    pub fn on_notify(this: &ServerRole, name: &str, index: u32);

    #[wasm_bindgen(method)]
    pub fn report(this: &ServerRole, text: &str);

    #[wasm_bindgen(method)]
    pub fn stop(this: &ServerRole);

    #[wasm_bindgen(method)]
    pub fn destroy(this: &ServerRole);

    /// A request or notification, for its handler.
    #[wasm_bindgen(js_name = RustRequest)]
    #[derive(Clone, Debug)]
    pub type JsRequest;

    #[wasm_bindgen(method, getter)]
    pub fn method(this: &JsRequest) -> String;

    #[wasm_bindgen(method, getter)]
    pub fn id(this: &JsRequest) -> JsValue;

    #[wasm_bindgen(method)]
    pub fn poll(this: &JsRequest, token: u32);

    #[wasm_bindgen(method)]
    pub fn answer(this: &JsRequest, result: &JsValue);

    #[wasm_bindgen(method)]
    pub fn fail(this: &JsRequest, code: f64, message: &str, data: &JsValue);

    #[wasm_bindgen(method)]
    pub fn item(this: &JsRequest, value: &JsValue) -> Promise;

    #[wasm_bindgen(method, catch)]
    pub fn progress(this: &JsRequest, value: &JsValue) -> Result<(), JsValue>;

    #[wasm_bindgen(method, js_name = yieldNow)]
    pub fn yield_now(this: &JsRequest) -> js_sys::Promise;

    #[wasm_bindgen(method)]
    pub fn transfer(this: &JsRequest, list: &JsValue);

    #[wasm_bindgen(method, catch)]
    pub fn notify(this: &JsRequest, method: &str, params: &JsValue) -> Result<(), JsValue>;

    #[wasm_bindgen(js_name = eventCodeOf)]
    pub fn end_code(error: &JsValue) -> u32;

    #[wasm_bindgen(js_name = errorCode)]
    pub fn error_code(error: &JsValue) -> f64;
    #[wasm_bindgen(js_name = errorMessage)]
    pub fn error_message(error: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = errorName)]
    pub fn error_name(error: &JsValue) -> String;
    #[wasm_bindgen(js_name = errorData)]
    pub fn error_data(error: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = newRPCError)]
    pub fn new_rpc_error(code: f64, message: &str, data: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = newCallError)]
    pub fn new_call_error(reason: &str, message: &str) -> JsValue;
}

#[wasm_bindgen(module = "/js/transport/transports.js")]
extern "C" {
    #[wasm_bindgen(js_name = windowTransport, catch)]
    pub fn window_transport(target: &JsValue, options: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_name = portTransport, catch)]
    pub fn port_transport(port: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_name = workerTransport, catch)]
    pub fn worker_transport(worker: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_name = selfTransport, catch)]
    pub fn self_transport() -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_name = broadcastTransport, catch)]
    pub fn broadcast_transport(channel: &JsValue) -> Result<JsValue, JsValue>;
}

#[wasm_bindgen(module = "/js/rust/trap-guard.js")]
extern "C" {
    #[wasm_bindgen(js_name = isTrapped)]
    pub fn is_trapped() -> bool;
    #[wasm_bindgen(js_name = beginRun)]
    pub fn begin_run(exports: &JsValue, stack_pointer: &Closure<dyn Fn() -> u32>);
    #[wasm_bindgen(js_name = onPanic)]
    pub fn on_panic(text: &str);
}

#[wasm_bindgen(module = "/js/rust/connect.js")]
extern "C" {
    #[wasm_bindgen(js_name = sessionTo, catch)]
    pub fn session_to(
        target: &JsValue,
        origin: &JsValue,
        channel: &str,
        heartbeat: f64,
        timeout: f64,
        begins: &Closure<dyn Fn(u32)>,
        ends: &Closure<dyn Fn(u32, JsValue)>,
    ) -> Result<JsSession, JsValue>;

    /// A connection whose first session has not begun: its transport, and the function that opens it.
    pub type JsSession;

    #[wasm_bindgen(method, getter, structural)]
    pub fn transport(this: &JsSession) -> JsValue;

    #[wasm_bindgen(method, structural)]
    pub fn open(this: &JsSession) -> Promise;
}

#[wasm_bindgen(module = "/js/rust/values.js")]
extern "C" {
    #[wasm_bindgen(js_name = conversionProblem)]
    pub fn problem_of(value: &JsValue, max_visits: f64) -> u32;

    #[wasm_bindgen(js_name = kindOf)]
    pub fn kind_of(value: &JsValue) -> u32;
    #[wasm_bindgen(js_name = numberOf)]
    pub fn number_of(value: &JsValue) -> f64;
    #[wasm_bindgen(js_name = textOf)]
    pub fn text_of(value: &JsValue, max_bytes: u32) -> Option<String>;
    #[wasm_bindgen(js_name = firstCharacters)]
    pub fn start_of(text: &JsValue, length: u32) -> String;
    #[wasm_bindgen(js_name = fieldsOf)]
    pub fn fields_of(object: &JsValue, names: &Array) -> JsValue;
    #[wasm_bindgen(js_name = elementsOf)]
    pub fn elements_of(value: &JsValue, max_parts: u32) -> JsValue;
    #[wasm_bindgen(js_name = entriesOf)]
    pub fn entries_of(value: &JsValue, max_parts: u32) -> JsValue;
    #[wasm_bindgen(js_name = ownEntriesOf)]
    pub fn own_entries_of(object: &JsValue, max_parts: u32) -> JsValue;
    #[wasm_bindgen(js_name = bytesOf)]
    pub fn bytes_of(buffer: &JsValue) -> JsValue;
}

#[wasm_bindgen]
extern "C" {
    /// The items of a stream.
    #[derive(Debug)]
    pub type JsStream;

    #[wasm_bindgen(method, structural)]
    pub fn next(this: &JsStream) -> Promise;

    #[wasm_bindgen(method, structural)]
    pub fn stop(this: &JsStream);

    /// The result of `next()` of an iterator.
    pub type IteratorResult;

    #[wasm_bindgen(method, getter, structural)]
    pub fn done(this: &IteratorResult) -> bool;

    #[wasm_bindgen(method, getter, structural)]
    pub fn value(this: &IteratorResult) -> JsValue;

    /// Two connected ports.
    #[wasm_bindgen(js_name = MessageChannel)]
    pub type JsMessageChannel;

    #[wasm_bindgen(constructor, js_class = MessageChannel, catch)]
    pub fn new() -> Result<JsMessageChannel, JsValue>;

    #[wasm_bindgen(method, getter, structural)]
    pub fn port1(this: &JsMessageChannel) -> JsValue;

    #[wasm_bindgen(method, getter, structural)]
    pub fn port2(this: &JsMessageChannel) -> JsValue;

    /// A transport of JavaScript.
    #[derive(Debug)]
    pub type JsTransport;

    #[wasm_bindgen(method, structural, catch)]
    pub fn destroy(this: &JsTransport) -> Result<(), JsValue>;
}
