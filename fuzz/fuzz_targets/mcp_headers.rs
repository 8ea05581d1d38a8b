#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| portway_fuzz::mcp_headers(bytes));
