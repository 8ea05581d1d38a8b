//! Fuzzes the core of the inspector: the history, the masks of secrets, and the files that it reads.
//!
//! `crates/portway-inspector/tests/corpus.rs` also compiles this module.

mod import;
mod mask;
mod operation;
mod take;

pub use import::import;
pub use mask::mask;
pub use take::take;
