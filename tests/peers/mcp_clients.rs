//! Tests of our server of MCP with official clients: the npm package `@modelcontextprotocol/client` and the Python
//! package `mcp`, in both eras, over standard streams and over HTTP. The server is
//! `examples/mcp-conformance-server.rs`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::{file, program};

/// The modes of the clients: one era, or the detection of the era.
const MODES: [&str; 3] = ["legacy", "2026-07-28", "auto"];

/// A server over HTTP. Its process ends when this value is dropped.
pub(crate) struct HttpServer {
    pub(crate) url: String,
    process: Child,
}

impl HttpServer {
    pub(crate) fn start(program: &Path) -> Self {
        let mut process = Command::new(program).arg("0").stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { url: url.trim().into(), process }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Runs a client in each mode, over standard streams and over HTTP.
fn run_client(variable: &str, script: &str) {
    let (Some(runtime), Some(server)) = (program(variable), program("PORTWAY_MCP_SERVER")) else { return };
    let http = HttpServer::start(&server);
    for target in [server.to_str().unwrap(), &http.url] {
        for mode in MODES {
            let output = Command::new(&runtime).arg(file(script)).args([mode, target]).output().unwrap();
            let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success() && stdout.contains("ok"), "{mode} {target}\n{stdout}\n{stderr}");
        }
    }
}

#[test]
fn the_official_client_in_javascript_uses_our_server() {
    if program("PORTWAY_PEERS").is_some() {
        run_client("PORTWAY_NODE", "mcp/client.mjs");
    }
}

#[test]
fn the_official_client_in_python_uses_our_server() {
    run_client("PORTWAY_PYGLS_PYTHON", "mcp/client.py");
}
