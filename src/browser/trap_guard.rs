//! The program as JavaScript sees it: its exports, its traps and its panics.

use core::{hint, ptr};
use std::cell::Cell;
use std::panic;

use portway_web::bindings::{begin_run, is_trapped, on_panic};
use wasm_bindgen::prelude::Closure;

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
