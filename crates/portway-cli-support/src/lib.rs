//! Code that the commands `portway` and `duet-rpc` share. The items of this crate may change in any version.

#[cfg(not(unix))]
compile_error!(
    "the commands `portway` and `duet-rpc` need Unix, since they use its sockets, signals and file descriptors. The \
     library `portway` also builds for this target"
);

pub mod escape;
pub mod help;
#[cfg(unix)]
pub mod signals;
