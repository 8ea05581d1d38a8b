#![no_main]

/// The checks of all targets of the inspector. This target uses one of them.
#[path = "../src/inspector/mod.rs"]
#[allow(dead_code)]
mod inspector;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inspector::mask(bytes));
