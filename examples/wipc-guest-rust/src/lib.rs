//! A guest of WIPC: what it offers to its host, whatever it runs on.

use std::io::{self, Read, Write};

use portway::wipc::{FrameType, Guest, GuestServer, RpcError};
use serde_json::Value;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod wasi_start;

/// Answers until the host says `CLOSE`, or is gone.
///
/// # Errors
/// As reading and writing fail.
pub fn serve(input: impl Read, output: impl Write) -> io::Result<()> {
    let mut total: i64 = 0;
    GuestServer::new()
        .method("add", |(a, b): (i64, i64), _| a.checked_add(b).ok_or_else(|| RpcError::invalid_params("too large")))
        .method("echo", |value: Value, _| Ok::<_, RpcError>(value))
        .method("count", move |(by,): (i64,), host| {
            total = total.saturating_add(by);
            // Told before the answer, as progress would be.
            host.notify("total", &[total]).map_err(|problem| RpcError::internal(problem.to_string()))?;
            Ok::<_, RpcError>(total)
        })
        .on_frame(|frame, host| {
            if frame.frame_type == FrameType::Data
                && let Err(problem) = host.send(FrameType::Data, frame.payload)
            {
                eprintln!("data could not be sent back: {problem}");
            }
        })
        .serve(&mut Guest::on(input, output))
}
