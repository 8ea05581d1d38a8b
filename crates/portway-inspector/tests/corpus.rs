//! Runs the checks of the inspector's fuzz targets on the inputs in `fuzz/corpus`. `cargo xtask fuzz` searches for more
//! inputs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test is a panic")]

/// Runs a target on its corpus. `tests/corpus.rs` of the library uses the same file.
#[path = "../../../fuzz/src/corpus.rs"]
#[allow(unreachable_pub, clippy::expect_used, reason = "in a test, a panic reports a fault")]
mod corpus;
/// The module that the fuzz programs use, too.
#[path = "../../../fuzz/src/inspector/mod.rs"]
#[allow(
    unreachable_pub,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "this module belongs to the fuzz programs, where a panic reports a fault"
)]
mod targets;

#[test]
fn the_history_its_list_and_its_figures_agree() {
    corpus::run("inspector_take", targets::take);
}

#[test]
fn each_secret_is_masked_and_nothing_else_changes() {
    corpus::run("inspector_mask", targets::mask);
}

#[test]
fn records_of_a_file_are_taken_in_and_read_again() {
    corpus::run("inspector_import", targets::import);
}
