//! Limits that `cargo xtask limits --write` generates from limits.toml.

/// Maximum bytes at the beginning of a dropped message that are searched for its id.
pub(crate) const MAX_BEGINNING: usize = 1_024;
/// Maximum number of times that resynchronisation reads a byte again, on average.
pub(crate) const MAX_REREADS: u64 = 8;
/// Default maximum payload of a WIPC frame, in bytes.
pub(crate) const MAX_WIPC_PAYLOAD: u32 = 4_294_967_295;
