//! The exports of the wasm module.

use std::cell::RefCell;

use crate::Stream;

thread_local! {
    static STREAM: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

/// Creates the stream. Returns its length in bytes.
#[unsafe(no_mangle)]
extern "C" fn prepare(payload: usize, total: usize) -> usize {
    STREAM.with_borrow_mut(|stream| stream.insert(Stream::new(payload, total)).len())
}

/// Decodes the stream. Returns whether all frames were found.
#[unsafe(no_mangle)]
extern "C" fn decode() -> bool {
    STREAM.with_borrow(|stream| stream.as_ref().is_some_and(Stream::decode))
}

/// Copies the stream. Returns whether the stream exists.
#[unsafe(no_mangle)]
extern "C" fn copy() -> bool {
    STREAM.with_borrow_mut(|stream| stream.as_mut().map(Stream::copy)).is_some()
}
