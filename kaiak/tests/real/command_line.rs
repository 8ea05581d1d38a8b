//! The texts of errors in the command line.

use std::process::Stdio;

use crate::harness::{command, folder};

#[test]
fn serve_without_a_transport_or_with_two_is_an_error() {
    let folder = folder();
    for (arguments, part) in [
        (&["serve", "--rules", "../rules"] as &[&str], "<--stdio|--socket <PATH>>"),
        (&["serve", "--rules", "../rules", "--stdio", "--socket", "x"], "cannot be used with"),
    ] {
        let output = command(&folder).args(arguments).stdin(Stdio::null()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]), "{arguments:?}: {errors}");
        assert!(errors.contains(part), "{arguments:?}: {errors}");
    }
}
