//! The methods of a WIPC guest. They are independent of the platform.

use std::io::{self, Read, Write};

use portway::RpcError;
use portway::codec::wipc::FrameType;
use portway::wipc::{Guest, GuestServer};
use serde_json::Value;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod wasi_start;

/// Serves the host until the host sends `CLOSE` or closes the input.
///
/// # Errors
/// If reading or writing fails.
pub fn serve(input: impl Read, output: impl Write) -> io::Result<()> {
    let mut total: i64 = 0;
    GuestServer::new()
        .method("add", |(a, b): (i64, i64), _| a.checked_add(b).ok_or_else(|| RpcError::invalid_params("too large")))
        .method("echo", |value: Value, _| Ok::<_, RpcError>(value))
        .method("count", move |(by,): (i64,), host| {
            total = total.saturating_add(by);
            // A notification that a handler sends arrives before the response of this handler.
            host.notify("total", &[total]).map_err(|problem| RpcError::internal(problem.to_string()))?;
            Ok::<_, RpcError>(total)
        })
        .on_frame(|frame, host| {
            if frame.frame_type == FrameType::Data
                && let Err(problem) = host.send(FrameType::Data, frame.payload)
            {
                eprintln!("cannot send data back: {problem}");
            }
        })
        .serve(&mut Guest::on(input, output))
}
