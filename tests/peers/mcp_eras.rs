//! Measures the era in which each client uses each server of MCP, and compares the result with the table in
//! docs/mcp.md. `PORTWAY_WRITE=1 cargo xtask test --only mcp` writes the table.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use portway::mcp::{Client, Era};

use crate::mcp_clients::HttpServer as OurServer;
use crate::mcp_servers::{HttpServer, everything_script, options};
use crate::{file, program};

const HEADER: &str = "| client | server | transport | detected | modern | legacy |\n|---|---|---|---|---|---|\n";

/// The mark after the table.
const END: &str = "\n<!-- end of the eras -->";

/// The programs of the peers.
struct Programs {
    node: PathBuf,
    python: PathBuf,
    everything: PathBuf,
    filesystem: PathBuf,
    ours: PathBuf,
    /// The inspector of MCP and the newer Node that it needs. A run of all suites does not install them.
    inspector: Option<(PathBuf, PathBuf)>,
}

impl Programs {
    fn find() -> Option<Self> {
        let filesystem = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
        let inspector = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
        let newer = env::var_os("PORTWAY_CONFORMANCE").map(PathBuf::from);
        Some(Self {
            node: program("PORTWAY_NODE")?,
            python: program("PORTWAY_PYGLS_PYTHON")?,
            everything: everything_script()?,
            filesystem: program("PORTWAY_PEERS")?.join(filesystem),
            ours: program("PORTWAY_MCP_SERVER")?,
            inspector: newer.map(|folder| (folder.join("node_modules/.bin/node"), folder.join(inspector))),
        })
    }
}

/// Runs a client that prints a version of MCP as the last word of its output. Returns the version, or `fails`.
fn version(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let version = stdout.split_whitespace().last().filter(|_| output.status.success());
    version.map_or_else(|| "fails".into(), |version| version.trim_matches('"').into())
}

/// The options of each client: the detection of the era, the modern and the legacy era.
const ERAS: [Option<Era>; 3] = [None, Some(Era::Modern), Some(Era::Legacy)];

fn row(client: &str, server: &str, transport: &str, versions: &[String]) -> String {
    format!("| {client} | {server} | {transport} | {} |", versions.join(" | "))
}

/// Uses a server with our client over standard streams.
async fn over_stdio(server: &str, program: &Path, arguments: &[&Path]) -> String {
    let mut versions = Vec::new();
    for era in ERAS {
        let mut command = Command::new(program);
        command.args(arguments);
        let options = era.into_iter().fold(options(), portway::mcp::Options::era).on_stderr(|line| println!("{line}"));
        versions.push(outcome(Client::connect(command, options).await).await);
    }
    row("`mcp::Client`", server, "standard streams", &versions)
}

/// Uses a server over HTTP with our client in Rust and with our client in JavaScript.
async fn over_http(programs: &Programs, server: &str, url: &str) -> [String; 2] {
    let (mut native, mut script) = (Vec::new(), Vec::new());
    for era in ERAS {
        let options = era.into_iter().fold(options(), portway::mcp::Options::era);
        native.push(outcome(Client::connect_http(url, options).await).await);
        let word = match era {
            None => "detected",
            Some(Era::Modern) => "modern",
            Some(Era::Legacy) => "legacy",
        };
        script.push(version(Command::new(&programs.node).arg(file("mcp-http/era.mjs")).args([url, word])));
    }
    [row("`mcp::Client`", server, "HTTP", &native), row("`portway/mcp`", server, "HTTP", &script)]
}

async fn outcome(connected: Result<Client, portway::mcp::Error>) -> String {
    let Ok(client) = connected else { return "fails".into() };
    let version = client.protocol_version().to_owned();
    client.close().await;
    version
}

/// Uses our server with each third-party client.
fn others(programs: &Programs, transport: &str, target: &str) -> Vec<String> {
    let script = |interpreter: &Path, script: &str| {
        let modes = ["auto", "2026-07-28", "legacy"];
        modes.map(|mode| version(Command::new(interpreter).arg(file(script)).args([mode, target]))).to_vec()
    };
    let javascript = script(&programs.node, "mcp/client.mjs");
    let python = script(&programs.python, "mcp/client.py");
    let mut rows = vec![
        row("npm `@modelcontextprotocol/client`", "`mcp::Server`", transport, &javascript),
        row("PyPI `mcp`", "`mcp::Server`", transport, &python),
    ];
    if let Some((node, inspector)) = &programs.inspector {
        let versions = ["auto", "modern", "legacy"].map(|era| {
            let arguments =
                ["--method", "tools/call", "--tool-name", "test_era", "--format", "json", "--output-format"];
            let folder = tempfile::tempdir().unwrap();
            let output = folder.path().join("version");
            let mut command = Command::new(node);
            command.arg(inspector).arg("--cli").arg(target).args(arguments).arg("raw").arg("--output").arg(&output);
            let ended = command.args(["--protocol-era", era]).stdin(Stdio::null()).output().unwrap();
            println!("{}", String::from_utf8_lossy(&ended.stderr));
            fs::read_to_string(output).unwrap_or_else(|_| "fails".into())
        });
        rows.push(row("npm `@modelcontextprotocol/inspector`", "`mcp::Server`", transport, &versions));
    }
    rows
}

#[tokio::test]
async fn docs_mcp_md_has_the_era_of_each_client_and_server() {
    let Some(programs) = Programs::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (everything, filesystem) = ("npm `server-everything`", "npm `server-filesystem`");
    let mut rows = vec![
        over_stdio(everything, &programs.node, &[&programs.everything, Path::new("stdio")]).await,
        over_stdio(filesystem, &programs.node, &[&programs.filesystem, folder.path()]).await,
        over_stdio("PyPI `mcp`", &programs.python, &[&file("mcp/server.py")]).await,
        over_stdio("`mcp::Server`", &programs.ours, &[]).await,
    ];
    let (Some(of_npm), Some(of_pypi)) = (HttpServer::everything().await, HttpServer::python().await) else { return };
    let ours = OurServer::start(&programs.ours);
    for (server, url) in [(everything, &of_npm.url), ("PyPI `mcp`", &of_pypi.url), ("`mcp::Server`", &ours.url)] {
        rows.extend(over_http(&programs, server, url).await);
    }
    rows.extend(others(&programs, "standard streams", programs.ours.to_str().unwrap()));
    rows.extend(others(&programs, "HTTP", &ours.url));
    rows.sort();

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mcp.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(HEADER).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    if env::var_os("PORTWAY_WRITE").is_some() {
        assert!(programs.inspector.is_some(), "the table must have each client; use --only mcp");
        fs::write(&path, format!("{before}{HEADER}{}\n{END}{after}", rows.join("\n"))).unwrap();
        return;
    }
    let mut documented: Vec<_> = table.lines().filter(|line| !line.is_empty()).collect();
    if programs.inspector.is_none() {
        documented.retain(|line| !line.contains("inspector"));
    }
    assert_eq!(rows, documented, "PORTWAY_WRITE=1 cargo xtask test --only mcp writes the table");
}
