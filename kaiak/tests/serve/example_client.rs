//! The client of `examples/kaiak-client`, over standard streams and over the socket.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::{FIXED_JAVA_FILE, JAVA_FILE, Server, has_node, is_available, socket_with_file};

/// Returns the path of the client, or `None` if its dependency is not installed.
fn installed() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let is_installed = root.join("node_modules/vscode-jsonrpc").exists();
    let found = has_node() && is_available(is_installed, "`npm ci` installs vscode-jsonrpc");
    found.then(|| root.join("examples/kaiak-client/client.mjs"))
}

/// Runs the client with the incidents of `kaiak find`. Returns its output.
fn run(client: &Path, server: &Server, is_socket: bool, input: &str) -> String {
    let folder = server.folder.path();
    let (rules, workspace) = (folder.join("rules"), server.workspace());
    let found = Command::new(env!("CARGO_BIN_EXE_kaiak"))
        .args(["find", "--rule", "servlet-import", "--rules"])
        .args([&rules, &workspace])
        .output()
        .unwrap();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let incidents = folder.join("incidents.jsonl");
    std::fs::write(&incidents, found.stdout).unwrap();
    let mut command = Command::new("node");
    command.arg(client).args([&incidents, &workspace]);
    if is_socket {
        command.arg("--socket").arg(folder.join("kaiak.sock"));
    } else {
        command.args(["--", env!("CARGO_BIN_EXE_kaiak"), "serve", "--stdio", "--rules"]).arg(&rules);
    }
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn the_example_client_shows_a_diff_and_applies_it_only_after_yes() {
    let Some(client) = installed() else { return };
    for is_socket in [false, true] {
        for (input, expected) in [("n\n", JAVA_FILE), ("", JAVA_FILE), ("y\n", FIXED_JAVA_FILE)] {
            let server = socket_with_file();
            let output = run(&client, &server, is_socket, input);
            assert!(output.contains("+import jakarta.servlet.Filter;"), "{output}");
            assert!(output.contains("Apply this fix to src/A.java? [y/n]"), "{output}");
            assert!(output.contains("completed: 1 incident\n"), "{output}");
            assert_eq!(server.read("src/A.java"), expected, "{output}");
        }
    }
}
