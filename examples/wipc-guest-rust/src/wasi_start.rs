//! The guest as a WASI module for the target `wasm32-unknown-unknown`, which every toolchain of this project has. On
//! the target `wasm32-wasip1`, `main.rs` runs instead of this module.

use std::io::{self, Read, Write};

use wasi::{Ciovec, Iovec};

const STDIN: wasi::Fd = 0;
const STDOUT: wasi::Fd = 1;

struct Stdin;

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let vector = Iovec { buf: buffer.as_mut_ptr(), buf_len: buffer.len() };
        // SAFETY: `vector` points to `buffer`, which is borrowed mutably during the call.
        unsafe { wasi::fd_read(STDIN, &[vector]) }.map_err(to_io_error)
    }
}

struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let vector = Ciovec { buf: bytes.as_ptr(), buf_len: bytes.len() };
        // SAFETY: `vector` points to `bytes`, which is borrowed during the call.
        unsafe { wasi::fd_write(STDOUT, &[vector]) }.map_err(to_io_error)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn to_io_error(error: wasi::Errno) -> io::Error {
    io::Error::other(error.to_string())
}

/// The entry point of a WASI command.
#[unsafe(no_mangle)]
extern "C" fn _start() {
    let outcome = Stdout.write_all(b"the guest is ready\n").and_then(|()| crate::serve(Stdin, Stdout));
    if outcome.is_err() {
        // SAFETY: the call does not return, and no value needs a drop.
        unsafe { wasi::proc_exit(1) }
    }
}
