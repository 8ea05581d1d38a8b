//! The wasm module of the npm package: the JavaScript API of portway, without the standard library.
//!
//! Plain `wasm-pack build npm` works, too. A module that is built in this way starts by itself, as wasm-bindgen's
//! modules do.
#![no_std]
#![cfg(all(target_family = "wasm", target_os = "unknown"))]

use core::panic::PanicInfo;

// Links the crate, so that the wasm has its exports.
extern crate portway_web as _;

#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();

/// Traps without a message. The library itself does not panic, and formatting of messages would double the size of the
/// module.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

/// Runs when wasm-bindgen's `init` has loaded the module.
#[cfg(feature = "start")]
#[wasm_bindgen::prelude::wasm_bindgen(start)]
fn start() {
    portway_web::exports::set_instance(&wasm_bindgen::exports());
}
