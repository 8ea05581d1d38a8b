//! Bounds, made from limits.toml by `cargo xtask limits --write`.

/// Part of a dropped message, from its start, that is searched for its id.
pub(crate) const MAX_BEGINNING: usize = 1_024;
/// Readings of a byte that resynchronisation may cost, on average.
pub(crate) const MAX_REREADS: u64 = 8;
/// The payload of a frame of WIPC.
pub(crate) const MAX_WIPC_PAYLOAD: u32 = 4_294_967_295;
