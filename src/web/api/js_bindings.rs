//! The functions and classes of JavaScript that this API uses: `rust-roles.js`, the transports, and helpers for values.

use core::{hint, ptr};
use std::boxed::Box;
use std::cell::Cell;
use std::panic;
use std::string::{String, ToString};

use js_sys::{Array, Promise};
use wasm_bindgen::prelude::{Closure, JsValue, wasm_bindgen};

#[wasm_bindgen(module = "/src/web/rust-roles.js")]
extern "C" {
    /// The client of a link.
    #[wasm_bindgen(js_name = RustClient)]
    #[derive(Debug)]
    pub(super) type ClientRole;

    #[wasm_bindgen(constructor, js_class = RustClient)]
    pub(super) fn new(transport: &JsValue, limits: &JsValue) -> ClientRole;

    #[wasm_bindgen(method, js_name = setCallback)]
    pub(super) fn set_callback(this: &ClientRole, callback: &Closure<dyn Fn(u32, u32, JsValue)>);

    #[wasm_bindgen(method, catch)]
    pub(super) fn begin(
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
    pub(super) fn cancel(this: &ClientRole, slot: i32);

    #[wasm_bindgen(method, catch)]
    pub(super) fn stream(
        this: &ClientRole,
        method: &str,
        params: &JsValue,
        timeout: f64,
        window: u32,
    ) -> Result<JsStream, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(super) fn notify(this: &ClientRole, method: &str, params: &JsValue, transfer: &JsValue) -> Result<(), JsValue>;

    #[wasm_bindgen(method)]
    pub(super) fn destroy(this: &ClientRole);

    /// The server of a link.
    #[wasm_bindgen(js_name = RustServer)]
    #[derive(Debug)]
    pub(super) type ServerRole;

    #[wasm_bindgen(constructor, js_class = RustServer)]
    pub(super) fn new(transport: &JsValue, limits: &JsValue) -> ServerRole;

    #[wasm_bindgen(method, js_name = setCallback)]
    pub(super) fn set_callback(this: &ServerRole, callback: &Closure<dyn Fn(u32, u32, JsValue, JsRequest) -> i32>);

    #[wasm_bindgen(method)]
    pub(super) fn method(this: &ServerRole, name: &str, index: u32);

    #[wasm_bindgen(method, js_name = streamMethod)]
    pub(super) fn stream_method(this: &ServerRole, name: &str, index: u32);

    #[wasm_bindgen(method, js_name = onNotify)]
    pub(super) fn on_notify(this: &ServerRole, name: &str, index: u32);

    #[wasm_bindgen(method)]
    pub(super) fn report(this: &ServerRole, text: &str);

    #[wasm_bindgen(method)]
    pub(super) fn stop(this: &ServerRole);

    #[wasm_bindgen(method)]
    pub(super) fn destroy(this: &ServerRole);

    /// A request or notification, for its handler.
    #[wasm_bindgen(js_name = RustRequest)]
    #[derive(Clone, Debug)]
    pub(super) type JsRequest;

    #[wasm_bindgen(method, getter)]
    pub(super) fn method(this: &JsRequest) -> String;

    #[wasm_bindgen(method, getter)]
    pub(super) fn id(this: &JsRequest) -> JsValue;

    #[wasm_bindgen(method)]
    pub(super) fn poll(this: &JsRequest, token: u32);

    #[wasm_bindgen(method)]
    pub(super) fn answer(this: &JsRequest, result: &JsValue);

    #[wasm_bindgen(method)]
    pub(super) fn fail(this: &JsRequest, code: f64, message: &str, data: &JsValue);

    #[wasm_bindgen(method)]
    pub(super) fn item(this: &JsRequest, value: &JsValue) -> Promise;

    #[wasm_bindgen(method, catch)]
    pub(super) fn progress(this: &JsRequest, value: &JsValue) -> Result<(), JsValue>;

    #[wasm_bindgen(method, js_name = yieldNow)]
    pub(super) fn yield_now(this: &JsRequest) -> js_sys::Promise;

    #[wasm_bindgen(method)]
    pub(super) fn transfer(this: &JsRequest, list: &JsValue);

    #[wasm_bindgen(method, catch)]
    pub(super) fn notify(this: &JsRequest, method: &str, params: &JsValue) -> Result<(), JsValue>;

    #[wasm_bindgen(js_name = endCode)]
    pub(super) fn end_code(error: &JsValue) -> u32;

    #[wasm_bindgen(js_name = errorCode)]
    pub(super) fn error_code(error: &JsValue) -> f64;
    #[wasm_bindgen(js_name = errorMessage)]
    pub(super) fn error_message(error: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = errorName)]
    pub(super) fn error_name(error: &JsValue) -> String;
    #[wasm_bindgen(js_name = errorData)]
    pub(super) fn error_data(error: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = newRPCError)]
    pub(super) fn new_rpc_error(code: f64, message: &str, data: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = newCallError)]
    pub(super) fn new_call_error(reason: &str, message: &str) -> JsValue;
}

#[wasm_bindgen(module = "/src/web/transports.js")]
extern "C" {
    #[wasm_bindgen(js_name = windowTransport, catch)]
    pub(super) fn window_transport(target: &JsValue, options: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_name = portTransport, catch)]
    pub(super) fn port_transport(port: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_name = workerTransport, catch)]
    pub(super) fn worker_transport(worker: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_name = selfTransport, catch)]
    pub(super) fn self_transport() -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_name = broadcastTransport, catch)]
    pub(super) fn broadcast_transport(channel: &JsValue) -> Result<JsValue, JsValue>;
}

#[wasm_bindgen(module = "/src/web/rust-death.js")]
extern "C" {
    #[wasm_bindgen(js_name = isTrapped)]
    fn is_trapped() -> bool;
    #[wasm_bindgen(js_name = beginRun)]
    fn begin_run(exports: &JsValue, stack_pointer: &Closure<dyn Fn() -> u32>);
    #[wasm_bindgen(js_name = onPanic)]
    fn on_panic(text: &str);
}

#[wasm_bindgen(module = "/src/web/rust-connect.js")]
extern "C" {
    #[wasm_bindgen(js_name = sessionTo, catch)]
    pub(super) fn session_to(
        target: &JsValue,
        origin: &JsValue,
        channel: &str,
        heartbeat: f64,
        timeout: f64,
        begins: &Closure<dyn Fn(u32)>,
        ends: &Closure<dyn Fn(u32, JsValue)>,
    ) -> Result<JsSession, JsValue>;

    /// A session that is not open yet.
    pub(super) type JsSession;

    #[wasm_bindgen(method, getter, structural)]
    pub(super) fn transport(this: &JsSession) -> JsValue;

    #[wasm_bindgen(method, structural)]
    pub(super) fn open(this: &JsSession) -> Promise;
}

#[wasm_bindgen(module = "/src/web/rust-values.js")]
extern "C" {
    #[wasm_bindgen(js_name = problemOf)]
    pub(super) fn problem_of(value: &JsValue, max_visits: f64) -> u32;

    #[wasm_bindgen(js_name = kindOf)]
    pub(super) fn kind_of(value: &JsValue) -> u32;
    #[wasm_bindgen(js_name = numberOf)]
    pub(super) fn number_of(value: &JsValue) -> f64;
    #[wasm_bindgen(js_name = textOf)]
    pub(super) fn text_of(value: &JsValue, max_bytes: u32) -> Option<String>;
    #[wasm_bindgen(js_name = startOf)]
    pub(super) fn start_of(text: &JsValue, length: u32) -> String;
    #[wasm_bindgen(js_name = fieldsOf)]
    pub(super) fn fields_of(object: &JsValue, names: &Array) -> JsValue;
    #[wasm_bindgen(js_name = elementsOf)]
    pub(super) fn elements_of(value: &JsValue, max_parts: u32) -> JsValue;
    #[wasm_bindgen(js_name = entriesOf)]
    pub(super) fn entries_of(value: &JsValue, max_parts: u32) -> JsValue;
    #[wasm_bindgen(js_name = ownEntriesOf)]
    pub(super) fn own_entries_of(object: &JsValue, max_parts: u32) -> JsValue;
    #[wasm_bindgen(js_name = bytesOf)]
    pub(super) fn bytes_of(buffer: &JsValue) -> JsValue;
}

#[wasm_bindgen]
extern "C" {
    /// The items of a stream.
    #[derive(Debug)]
    pub(super) type JsStream;

    #[wasm_bindgen(method, structural)]
    pub(super) fn next(this: &JsStream) -> Promise;

    #[wasm_bindgen(method, structural)]
    pub(super) fn stop(this: &JsStream);

    /// The result of `next()` of an iterator.
    pub(super) type IteratorResult;

    #[wasm_bindgen(method, getter, structural)]
    pub(super) fn done(this: &IteratorResult) -> bool;

    #[wasm_bindgen(method, getter, structural)]
    pub(super) fn value(this: &IteratorResult) -> JsValue;

    /// Two connected ports.
    #[wasm_bindgen(js_name = MessageChannel)]
    pub(super) type JsMessageChannel;

    #[wasm_bindgen(constructor, js_class = MessageChannel, catch)]
    pub(super) fn new() -> Result<JsMessageChannel, JsValue>;

    #[wasm_bindgen(method, getter, structural)]
    pub(super) fn port1(this: &JsMessageChannel) -> JsValue;

    #[wasm_bindgen(method, getter, structural)]
    pub(super) fn port2(this: &JsMessageChannel) -> JsValue;

    /// A transport of JavaScript.
    #[derive(Debug)]
    pub(super) type JsTransport;

    #[wasm_bindgen(method, structural, catch)]
    pub(super) fn destroy(this: &JsTransport) -> Result<(), JsValue>;
}

/// Passes the exports of the wasm to JavaScript, and registers the end of the program there. A start function would run
/// after the start function of the program.
pub(super) fn install() {
    if !is_trapped() {
        return;
    }
    let callback = Closure::new(stack_pointer);
    begin_run(&wasm_bindgen::exports(), &callback);
    callback.forget();
    std::thread_local! {
        static HOOK_INSTALLED: Cell<bool> = const { Cell::new(false) };
    }
    if cfg!(panic = "abort") && !HOOK_INSTALLED.replace(true) {
        install_panic_hook();
    }
}

/// Reports panics to JavaScript. A panic aborts the program, so the hook is the last code of Rust that runs.
fn install_panic_hook() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        before(info);
        on_panic(&info.to_string());
    }));
}

/// Returns the address of the stack. A trap does not unwind the stack, so the address stays lower after it.
fn stack_pointer() -> u32 {
    let local = 0_u8;
    ptr::from_ref(hint::black_box(&local)).addr() as u32
}
