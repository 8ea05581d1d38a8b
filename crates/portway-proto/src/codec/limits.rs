//! Bounds, made from limits.toml by `cargo xtask limits --write`.

/// Beginning of a dropped message that is searched for its id.
pub(crate) const MAX_BEGINNING: usize = 1_024;
/// Readings of a byte that resynchronisation may cost, on average.
pub(crate) const MAX_REREADS: u64 = 8;
/// Payload of a WIPC frame.
pub(crate) const MAX_WIPC_PAYLOAD: u32 = 4_294_967_295;
