//! Tests of our server of MCP with official clients: the npm package `@modelcontextprotocol/client` and the Python
//! package `mcp`. The clients use both eras, over standard streams and over HTTP. The server is
//! `examples/mcp-conformance-server.rs`. The command `portway serve --mcp-http` also serves the standard streams of the
//! server over HTTP.

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

    /// Serves a program on standard streams over HTTP, with `portway serve --mcp-http`.
    pub(crate) fn of_program(portway: &Path, program: &[&Path]) -> Self {
        let mut command = Command::new(portway);
        command.args(["serve", "--mcp-http", "0", "--"]).args(program);
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        // A full pipe would stop the command.
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(|line| println!("{line}")));
        let url = line.trim().strip_prefix("portway: listening on ").unwrap_or_else(|| panic!("{line}"));
        Self { url: url.into(), process }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Runs a client in each mode: over standard streams, over HTTP, and with the command between HTTP and the standard
/// streams.
fn run_client(variable: &str, script: &str) {
    let (Some(runtime), Some(server)) = (program(variable), program("PORTWAY_MCP_SERVER")) else { return };
    let Some(portway) = program("PORTWAY_CLI") else { return };
    let http = HttpServer::start(&server);
    let command = HttpServer::of_program(&portway, &[&server]);
    for target in [server.to_str().unwrap(), &http.url, &command.url] {
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
