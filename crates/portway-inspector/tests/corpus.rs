//! Runs the checks of the inspector's fuzz targets on the inputs in `fuzz/corpus`. `cargo xtask fuzz` searches for more
//! inputs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test is a panic")]

use std::fs;
use std::path::Path;

/// The module that the fuzz programs use, too.
#[path = "../../../fuzz/src/inspector/mod.rs"]
#[allow(
    unreachable_pub,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "this module belongs to the fuzz programs, where a panic reports a fault"
)]
mod targets;

fn run(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut inputs = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // The last line before a panic names the input.
        println!("{}", path.display());
        check(&fs::read(path).unwrap());
        inputs += 1;
    }
    assert!(inputs >= 20, "{inputs} inputs");
}

#[test]
fn the_history_its_list_and_its_figures_agree() {
    run("inspector_take", targets::take);
}

#[test]
fn each_secret_is_masked_and_nothing_else_changes() {
    run("inspector_mask", targets::mask);
}

#[test]
fn records_of_a_file_are_taken_in_and_read_again() {
    run("inspector_import", targets::import);
}
