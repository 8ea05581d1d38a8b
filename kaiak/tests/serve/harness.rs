//! Runs the program, and reads and writes its frames.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The longest wait for one message. It is long, because the machine of the tests may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const SESSION: &str = "550e8400-e29b-41d4-a716-446655440000";
pub(crate) const OTHER_SESSION: &str = "550e8400-e29b-41d4-a716-446655440001";

/// The content of `src/A.java`, in which the rule `servlet-import` finds a place, and the content after the fix.
pub(crate) const JAVA_FILE: &str = "import javax.servlet.Filter;\n\nclass A {}\n";
pub(crate) const FIXED_JAVA_FILE: &str = "import jakarta.servlet.Filter;\n\nclass A {}\n";

/// A running `kaiak serve`. A drop kills the process.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) folder: TempDir,
    socket: Option<PathBuf>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A connection to the server.
pub(crate) struct Client {
    writer: Option<Box<dyn Write + Send>>,
    messages: Receiver<Value>,
    /// Messages that were read and not yet used.
    early: Vec<Value>,
    last_id: u64,
    /// The socket. The thread that reads has a clone of it.
    socket: Option<UnixStream>,
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// Starts the program on its standard streams, with the rules of the tests.
pub(crate) fn stdio() -> (Server, Client) {
    stdio_with(&[])
}

/// Starts the program on its standard streams, in a workspace with the file `src/A.java`.
pub(crate) fn stdio_with_file() -> (Server, Client) {
    stdio_with_file_and(&[])
}

/// Starts the program like [`stdio_with_file`], with further arguments.
pub(crate) fn stdio_with_file_and(arguments: &[&str]) -> (Server, Client) {
    let (server, client) = stdio_with(arguments);
    server.put("src/A.java", JAVA_FILE);
    (server, client)
}

/// Starts the program on a socket, in a workspace with the file `src/A.java`.
pub(crate) fn socket_with_file() -> Server {
    let server = socket();
    server.put("src/A.java", JAVA_FILE);
    server
}

/// Starts the program on its standard streams, with further arguments.
pub(crate) fn stdio_with(arguments: &[&str]) -> (Server, Client) {
    let folder = folder();
    let mut command = command(&folder);
    command.args(["serve", "--stdio", "--rules"]).arg(folder.path().join("rules")).args(arguments);
    start(folder, command)
}

/// Starts a command, and connects a client to its standard streams.
pub(crate) fn start(folder: TempDir, mut command: Command) -> (Server, Client) {
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (stdin, stdout): (ChildStdin, _) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
    let client = Client::new(stdin, stdout);
    (Server { process, folder, socket: None }, client)
}

/// Starts the program on a socket, with the rules of the tests.
pub(crate) fn socket() -> Server {
    socket_with(&[])
}

/// Starts the program on a socket, with further arguments.
pub(crate) fn socket_with(arguments: &[&str]) -> Server {
    let folder = folder();
    let mut command = command(&folder);
    let path = folder.path().join("kaiak.sock");
    command.args(["serve", "--socket"]).arg(&path).arg("--rules").arg(folder.path().join("rules")).args(arguments);
    listen(folder, command, path)
}

/// Starts a command, and waits until it listens on the socket `path`.
pub(crate) fn listen(folder: TempDir, mut command: Command, path: PathBuf) -> Server {
    let process = command.stdin(Stdio::null()).spawn().unwrap();
    let server = Server { process, folder, socket: Some(path) };
    wait_until(|| server.socket.as_ref().is_some_and(|path| UnixStream::connect(path).is_ok()));
    server
}

/// Returns a command without arguments, which runs in the workspace of `folder`.
pub(crate) fn command(folder: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kaiak"));
    command.current_dir(folder.path().join("workspace"));
    command
}

/// Creates a folder with rules and an empty workspace.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("rules")).unwrap();
    fs::create_dir_all(folder.path().join("workspace/src")).unwrap();
    fs::write(folder.path().join("rules/rules.yaml"), RULES).unwrap();
    fs::write(folder.path().join("rules/fixes.yaml"), FIXES).unwrap();
    folder
}

const RULES: &str = r#"
- ruleID: servlet-import
  message: "Replace the javax.servlet import"
  when: { java.referenced: { location: IMPORT, pattern: "javax.servlet*" } }
- ruleID: old-property
  message: "The property has a new name"
  when: { builtin.filecontent: { pattern: 'old\.name', filePattern: '.*\.properties' } }
- ruleID: drop-line
  message: "The line has no effect"
  when: { builtin.filecontent: { pattern: 'obsolete', filePattern: '.*\.properties' } }
- ruleID: by-hand
  message: "The call has changed in a way that needs thought"
  when: { builtin.filecontent: { pattern: 'legacyCall', filePattern: '.*\.java' } }
"#;

const FIXES: &str = r#"
- ruleID: servlet-import
  fixes: [{ rename-import: { from: javax.servlet, to: jakarta.servlet }, risk: low }]
- ruleID: old-property
  fixes: [{ replace: { text: old.name, with: new.name }, risk: medium }]
- ruleID: drop-line
  fixes: [{ delete-line: true, risk: high }]
"#;

impl Server {
    pub(crate) fn connect(&self) -> Client {
        let stream = UnixStream::connect(self.socket.as_ref().unwrap()).unwrap();
        let mut client = Client::new(stream.try_clone().unwrap(), stream.try_clone().unwrap());
        client.socket = Some(stream);
        client
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        fs::canonicalize(self.folder.path().join("workspace")).unwrap()
    }

    /// Writes a file of the workspace.
    pub(crate) fn put(&self, path: &str, content: &str) -> PathBuf {
        let path = self.workspace().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.workspace().join(path)).unwrap()
    }

    /// Sends SIGTERM to the process.
    pub(crate) fn terminate(&self) {
        let pid = rustix::process::Pid::from_raw(self.process.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits for the exit of the process.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until(|| {
            status = self.process.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Client {
    fn new(writer: impl Write + Send + 'static, reader: impl Read + Send + 'static) -> Self {
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            while let Some(message) = read_frame(&mut reader) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Self { writer: Some(Box::new(writer)), messages, early: Vec::new(), last_id: 0, socket: None }
    }

    /// Sends bytes as they are.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(bytes).unwrap();
        writer.flush().unwrap();
    }

    /// Sends a text in a frame.
    pub(crate) fn send_text(&mut self, text: &str) {
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.send_text(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Sends a request. Returns its id.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send_text(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        id
    }

    /// Sends a command. Returns the id of the request.
    pub(crate) fn command(&mut self, command: &str, argument: &Value) -> u64 {
        let params = json!({ "command": command, "arguments": [argument] });
        self.request("workspace/executeCommand", &params)
    }

    /// Sends `kaiak/generate_fix` in [`SESSION`], with one incident for each rule. Returns the id of the request.
    pub(crate) fn generate(&mut self, rules: &[&str]) -> u64 {
        self.command("kaiak/generate_fix", &fix(SESSION, rules))
    }

    /// Sends `kaiak/generate_fix` in [`SESSION`]. Returns the response.
    pub(crate) fn fix(&mut self, rules: &[&str]) -> Value {
        let id = self.generate(rules);
        self.response(id)
    }

    /// Returns the next message, or `None` after the end of the output.
    pub(crate) fn next(&mut self) -> Option<Value> {
        if !self.early.is_empty() {
            return Some(self.early.remove(0));
        }
        match self.messages.recv_timeout(PATIENCE) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no message arrived within {PATIENCE:?}"),
        }
    }

    /// Returns the first message that `is_wanted` accepts. The other messages remain for later calls.
    pub(crate) fn wait_for(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let mut others = Vec::new();
        loop {
            let Some(message) = self.next() else { panic!("the output ended after {others:#?}") };
            if is_wanted(&message) {
                others.append(&mut self.early);
                self.early = others;
                return message;
            }
            others.push(message);
        }
    }

    /// Returns the content of the next notification `kaiak/stream/NAME`. The other messages remain for later calls.
    pub(crate) fn notification(&mut self, name: &str) -> Value {
        let method = format!("kaiak/stream/{name}");
        self.wait_for(|message| message["method"] == method)["params"]["content"].clone()
    }

    /// Returns the response of a request.
    pub(crate) fn response(&mut self, id: u64) -> Value {
        self.wait_for(|message| message.get("method").is_none() && message["id"] == id)
    }

    /// Returns all messages up to the response of a request: the notifications, and the response.
    pub(crate) fn run(&mut self, id: u64) -> (Vec<Value>, Value) {
        let mut notifications = Vec::new();
        loop {
            let Some(message) = self.next() else { panic!("the output ended after {notifications:#?}") };
            if message.get("method").is_none() && message["id"] == id {
                return (notifications, message);
            }
            notifications.push(message);
        }
    }

    /// Sends a command. Returns the response.
    pub(crate) fn call(&mut self, command: &str, argument: &Value) -> Value {
        let id = self.command(command, argument);
        self.response(id)
    }

    /// Returns the result of a configuration, which must succeed.
    pub(crate) fn configure(&mut self, configuration: &Value) -> Value {
        let response = self.call("kaiak/configure", &json!({ "configuration": configuration }));
        assert_eq!(response["result"]["status"], "success", "{response}");
        response["result"].clone()
    }

    /// Answers a question.
    pub(crate) fn answer(&mut self, interaction_id: &Value, approved: bool) -> Value {
        let data = json!({ "approved": approved });
        let params = json!({ "interaction_id": interaction_id, "response_type": "approval", "response_data": data });
        let id = self.request("kaiak/interaction/respond", &params);
        self.response(id)
    }

    /// Waits for the next question, and answers it. Returns the question.
    pub(crate) fn approve(&mut self, approved: bool) -> Value {
        let question = self.notification("user_interaction");
        let answer = self.answer(&question["interaction_id"], approved);
        assert_eq!(answer["result"]["status"], "processed", "{answer}");
        question
    }

    /// Ends the output of this client on a socket. The client still reads.
    pub(crate) fn shut_down_writing(&self) {
        self.socket.as_ref().unwrap().shutdown(Shutdown::Write).unwrap();
    }

    /// Ends the input of the server.
    pub(crate) fn close(&mut self) {
        self.writer = None;
    }
}

/// Returns the argument of `kaiak/generate_fix`, with one incident for each rule.
pub(crate) fn fix(session_id: &str, rules: &[&str]) -> Value {
    let incidents: Vec<Value> =
        rules.iter().enumerate().map(|(number, rule)| incident(&format!("incident-{number}"), rule)).collect();
    json!({ "session_id": session_id, "incidents": incidents })
}

/// Returns an incident.
pub(crate) fn incident(id: &str, rule: &str) -> Value {
    json!({
        "id": id,
        "rule_id": rule,
        "message": "A place that must change",
        "description": "",
        "effort": "trivial",
        "severity": "warning",
    })
}

/// Reads a frame. All bytes of the output must belong to frames.
fn read_frame(reader: &mut impl BufRead) -> Option<Value> {
    let mut header = String::new();
    if reader.read_line(&mut header).ok()? == 0 {
        return None;
    }
    let length = header.strip_prefix("Content-Length: ").and_then(|length| length.strip_suffix("\r\n"));
    let length: usize =
        length.and_then(|length| length.parse().ok()).unwrap_or_else(|| panic!("no header: {header:?}"));
    let mut blank = String::new();
    reader.read_line(&mut blank).unwrap();
    assert_eq!(blank, "\r\n");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let message: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    Some(message)
}

/// Waits until a condition is true.
pub(crate) fn wait_until(mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < PATIENCE, "the condition is not true after {PATIENCE:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns whether a text is a time in UTC, such as `2025-12-24T10:30:00Z`.
pub(crate) fn is_time(value: &Value) -> bool {
    let form = "dddd-dd-ddTdd:dd:ddZ";
    let fits = |(byte, form): (u8, u8)| if form == b'd' { byte.is_ascii_digit() } else { byte == form };
    value.as_str().is_some_and(|text| text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits))
}

/// Returns whether a path exists, without following a link.
pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Returns whether Node can be started. Without Node, the tests of agents test nothing.
pub(crate) fn has_node() -> bool {
    is_available(Command::new("node").arg("--version").output().is_ok(), "`node` is not in PATH")
}

/// Returns `is_found`. If `is_found` is false, prints `reason`. If the variable `KAIAK_NEEDS_PROGRAMS` is set, as by
/// `cargo xtask test --only kaiak`, the test fails instead.
pub(crate) fn is_available(is_found: bool, reason: &str) -> bool {
    assert!(is_found || std::env::var_os("KAIAK_NEEDS_PROGRAMS").is_none(), "{reason}");
    if !is_found {
        println!("nothing is tested: {reason}");
    }
    is_found
}

/// The path of the scripted agent.
pub(crate) fn scripted() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/agents/scripted.mjs")
}

/// Starts the server with the scripted agent, in a workspace with one file.
pub(crate) fn agent(behaviour: &str) -> (Server, Client) {
    agent_with(behaviour, &[])
}

/// Starts the server with the scripted agent and further options.
pub(crate) fn agent_with(behaviour: &str, options: &[&str]) -> (Server, Client) {
    let (server, client) = agent_program(&scripted(), &[behaviour], options);
    server.put("src/A.java", JAVA_FILE);
    (server, client)
}

/// Starts the server with an agent in Node, in an empty workspace. The last argument of the agent is the path of its
/// log.
pub(crate) fn agent_program(agent: &Path, arguments: &[&str], options: &[&str]) -> (Server, Client) {
    let folder = folder();
    let mut command = command(&folder);
    command.args(["serve", "--stdio", "--backend", "acp"]).args(options).args(["--", "node"]).arg(agent);
    command.args(arguments).arg(log_path(folder.path())).env("TMPDIR", temporary(&folder));
    start(folder, command)
}

/// Creates the folder for the private copies.
pub(crate) fn temporary(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("tmp");
    fs::create_dir_all(&path).unwrap();
    path
}

/// Returns the path of the log of an agent.
pub(crate) fn log_path(folder: &Path) -> PathBuf {
    folder.join("log")
}

/// Returns the log of an agent.
pub(crate) fn log(server: &Server) -> String {
    fs::read_to_string(log_path(server.folder.path())).unwrap_or_default()
}

/// Returns the number of private copies.
pub(crate) fn copies(server: &Server) -> usize {
    fs::read_dir(server.folder.path().join("tmp")).unwrap().count()
}

/// Returns the contents of the notifications with a name, such as `progress`.
pub(crate) fn contents<'a>(notifications: &'a [Value], name: &str) -> Vec<&'a Value> {
    let method = format!("kaiak/stream/{name}");
    let found = notifications.iter().filter(|notification| notification["method"] == method);
    found.map(|notification| &notification["params"]["content"]).collect()
}

/// Returns the message of the last `system` notification, which has the numbers of the incidents.
pub(crate) fn summary(notifications: &[Value]) -> String {
    contents(notifications, "system").last().unwrap()["message"].as_str().unwrap().to_owned()
}

/// Returns the states of the tools of an agent, in the order of their notifications.
pub(crate) fn statuses(notifications: &[Value]) -> Vec<&str> {
    contents(notifications, "tool_call").iter().map(|content| content["status"].as_str().unwrap()).collect()
}
