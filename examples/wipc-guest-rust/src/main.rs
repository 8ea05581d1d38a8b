//! The guest as a native program, or as a WASI command for the target `wasm32-wasip1`.

fn main() -> std::io::Result<()> {
    // A guest may print text between its frames.
    println!("the guest is ready");
    wipc_guest_rust::serve(portway::stdio::stdin(), portway::stdio::stdout())
}
