//! The texts of errors in the command line.

use std::process::Stdio;

use crate::harness::{command, folder};

#[test]
fn an_error_names_all_possible_arguments() {
    let folder = folder();
    std::fs::write(folder.path().join("workspace/A.java"), "").unwrap();
    for (arguments, code, part) in [
        (&["serve", "--rules", "../rules"] as &[&str], 2, "<--stdio|--socket <PATH>>"),
        (&["serve", "--rules", "../rules", "--stdio", "--socket", "x"], 2, "cannot be used with"),
        (&["find", "--rules", "../rules", "A.java"], 1, "WORKSPACE must be a folder, got the file A.java"),
        (&["fix", "--rules", "../rules", "A.java"], 1, "WORKSPACE must be a folder, got the file A.java"),
    ] {
        let output = command(&folder).args(arguments).stdin(Stdio::null()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), &*output.stdout), (Some(code), &b""[..]), "{arguments:?}: {errors}");
        assert!(errors.contains(part), "{arguments:?}: {errors}");
    }
}
