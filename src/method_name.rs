//! The names of methods that an application registers.

/// Returns whether a handler must not have this name. Names that begin with `rpc.` are reserved (JSON-RPC 2.0 §4).
pub(crate) fn is_reserved(name: &str) -> bool {
    name.starts_with("rpc.")
}
