//! Runs the checks of a fuzz target on its inputs in `fuzz/corpus`. `cargo xtask fuzz` searches for more inputs.

use std::fs;
use std::path::Path;

/// Runs `check` on each input of a target. Panics if the corpus has fewer than 20 inputs.
pub fn run(target: &str, check: fn(&[u8])) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = package.ancestors().map(|folder| folder.join("fuzz/corpus").join(target));
    let folder = folders.find(|folder| folder.is_dir()).expect("the target must have a corpus");
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
