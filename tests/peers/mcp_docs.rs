//! Runs the commands of docs/mcp-command.md with a server on the Python package `mcp`, and compares their output.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program;

/// The port of the server in the page.
const PORT: &str = "8000";

/// The port of `portway serve` in the page.
const SERVED_PORT: &str = "9000";

/// Maximum time until the server has opened its port.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A block of code: its language with a label, and its text.
type Block = (String, String);

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("```") {
            let text = lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            blocks.push((heading.to_owned(), text));
        }
    }
    blocks
}

/// The server of the page over HTTP. Its process ends when this value is dropped.
struct HttpServer(Child);

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Runs a command of the page that serves until it is ended. Checks its first line of output.
fn run_server(mut shell: Command, script: &str, expected: &str) -> HttpServer {
    let mut process = shell.args(["-c", &format!("exec {script}")]).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(process.stderr.take().unwrap());
    let server = HttpServer(process);
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, expected, "{script}");
    // A full pipe would stop the command.
    std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(|line| println!("{line}")));
    server
}

/// Starts the server of the page over HTTP, and waits until its port is open. Returns the port.
fn serve(folder: &Path, python: &Path) -> (HttpServer, u16) {
    let port = free_port();
    let mut command = Command::new(python);
    command.arg("server.py").arg(port.to_string()).current_dir(folder).stdin(Stdio::null());
    let server = HttpServer(command.spawn().unwrap());
    let start = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(start.elapsed() < MAX_WAIT, "the server must open the port {port}");
        std::thread::sleep(Duration::from_millis(50));
    }
    (server, port)
}

#[test]
fn each_command_of_the_page_about_the_command_prints_its_output() {
    let (Some(python), Some(portway)) = (program("PORTWAY_PYGLS_PYTHON"), program("PORTWAY_CLI")) else { return };
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mcp-command.md")).unwrap();
    let blocks = blocks(&page);
    let folder = tempfile::tempdir().unwrap();
    let (_, server) = blocks.iter().find(|(heading, _)| heading == "python server.py").unwrap();
    fs::write(folder.path().join("server.py"), server).unwrap();
    symlink(portway, folder.path().join("portway")).unwrap();
    let programs = format!("{}:{}", folder.path().display(), python.parent().unwrap().display());
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let (_server, port) = serve(folder.path(), &python);
    let (mut count, mut served, served_port) = (0, None, free_port().to_string());
    for pair in blocks.windows(2) {
        let [(heading, script), (next, expected)] = pair else { continue };
        if !heading.starts_with("sh") {
            continue;
        }
        assert_eq!(next, "text", "a command must have its output: {script}");
        let [script, expected] =
            [script, expected].map(|text| text.replace(PORT, &port.to_string()).replace(SERVED_PORT, &served_port));
        let mut shell = Command::new("sh");
        shell.current_dir(folder.path()).env("PATH", &path).stdin(Stdio::null());
        count += 1;
        if heading == "sh serve" {
            served = Some(run_server(shell, &script, &expected));
            continue;
        }
        let output = shell.args(["-c", &format!("{{\n{script}}} 2>&1")]).output().unwrap();
        // The text of a resource may have no line end.
        let output = String::from_utf8(output.stdout).unwrap().replace("plants.user", "plants.\nuser");
        assert_eq!(output, expected, "{script}");
    }
    drop(served);
    assert_eq!(count, 9, "the page has {count} commands");
    let issue = "portway mcp -- python server.py call add '{\"a\":2,\"b\":3}'";
    assert!(blocks.iter().any(|(heading, text)| heading == "sh" && text.contains(issue)));
}

#[test]
fn the_page_about_the_command_has_each_option() {
    let Some(portway) = program("PORTWAY_CLI") else { return };
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mcp-command.md")).unwrap();
    let help = Command::new(portway).args(["mcp", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let options = help.lines().filter_map(|line| line.trim_start().strip_prefix("-"));
    let names =
        options.filter_map(|line| line.split_once("--").map_or_else(|| line.strip_prefix('-'), |(_, name)| Some(name)));
    let names: Vec<_> = names.filter_map(|name| name.split_whitespace().next()).collect();
    assert!(names.len() > 5, "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        assert!(page.contains(&format!("--{name}")), "{name}");
    }
}
