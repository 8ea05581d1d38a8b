//! Registers the program in JavaScript, so that JavaScript detects traps and panics of the program.

use core::{hint, ptr};
use std::cell::Cell;
use std::panic;

use portway_web::bindings::{begin_run, is_trapped, on_panic};
use wasm_bindgen::prelude::Closure;

/// Registers the exports of the wasm and the stack pointer in JavaScript, and installs the panic hook. Does nothing if
/// the program is registered and has not trapped. All constructors of transports call this function. A start function
/// of this crate would run too late, after the start function of the program.
pub(super) fn install() {
    // `is_trapped` also returns true before the program is registered.
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
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        previous(info);
        on_panic(&info.to_string());
    }));
}

/// Returns an address in the current frame of the stack. A trap does not restore the stack pointer, so this address is
/// lower after a trap. JavaScript detects traps by this difference.
fn stack_pointer() -> u32 {
    let local = 0_u8;
    ptr::from_ref(hint::black_box(&local)).addr() as u32
}
