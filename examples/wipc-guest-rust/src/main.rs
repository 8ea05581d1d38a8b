//! The guest as a program: on this machine, or on `wasm32-wasip1`, whose standard input and output are those of WASI.

fn main() -> std::io::Result<()> {
    // Other output may be mixed with frames.
    println!("the guest is ready");
    wipc_guest_rust::serve(portway::stdio::stdin(), portway::stdio::stdout())
}
