//! The guest as a WASI module that is built for `wasm32-unknown-unknown`, the one wasm target that browsers need and so every
//! toolchain of this project has. With `wasm32-wasip1` none of this is needed: there, `main.rs` does.

use std::io::{self, Read, Write};

use wasi::{Ciovec, Iovec};

const STDIN: wasi::Fd = 0;
const STDOUT: wasi::Fd = 1;

struct Stdin;

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let place = Iovec { buf: buffer.as_mut_ptr(), buf_len: buffer.len() };
        // SAFETY: the place is the buffer, which is ours for as long as the call lasts.
        unsafe { wasi::fd_read(STDIN, &[place]) }.map_err(failed)
    }
}

struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let place = Ciovec { buf: bytes.as_ptr(), buf_len: bytes.len() };
        // SAFETY: the place is `bytes`, which nobody changes while the call lasts.
        unsafe { wasi::fd_write(STDOUT, &[place]) }.map_err(failed)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failed(error: wasi::Errno) -> io::Error {
    io::Error::other(error.to_string())
}

/// Where a host of WASI begins.
#[unsafe(no_mangle)]
extern "C" fn _start() {
    let outcome = Stdout.write_all(b"the guest is ready\n").and_then(|()| crate::serve(Stdin, Stdout));
    if outcome.is_err() {
        // SAFETY: it does not return, and nothing is left to be dropped.
        unsafe { wasi::proc_exit(1) }
    }
}
