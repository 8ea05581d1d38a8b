//! The leaf of the npm build: portway without the standard library, which keeps the module small. A library cannot bring
//! its own allocator and panic handler, since they would clash with those of a Rust user; so they live here.
#![no_std]
#![cfg(all(target_family = "wasm", target_os = "unknown"))]

use core::panic::PanicInfo;

// Keeps the exports of portway in the link.
extern crate portway as _;

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// A panic is a trap: portway's own code has none, and formatting their messages would double the module.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
