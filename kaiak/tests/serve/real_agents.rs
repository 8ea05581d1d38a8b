//! gemini-cli and qwen-code with a stub of a model, without a network.
//!
//! `cargo xtask test --only kaiak-agents` installs the agents, and names their folder in `KAIAK_AGENTS`. If the
//! variable is not set, the tests pass, and print that they have tested nothing.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Client, FIXED_JAVA_FILE, JAVA_FILE, Server, command, contents, folder, start, temporary};

/// Returns the folder of the agents.
fn installed() -> Option<PathBuf> {
    let found = std::env::var_os("KAIAK_AGENTS").map(PathBuf::from);
    if found.is_none() {
        println!("nothing is tested: `cargo xtask test --only kaiak-agents` sets KAIAK_AGENTS");
    }
    found
}

/// The stub of a model. A drop ends it.
struct Model {
    process: Child,
    url: String,
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn model() -> Model {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/agents/model.mjs");
    let mut process = Command::new("node").arg(script).stdout(Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
    Model { process, url: format!("http://127.0.0.1:{}", port.trim()) }
}

#[derive(Clone, Copy, Debug)]
enum Agent {
    Gemini,
    Qwen,
}

fn run_agent(agent: Agent, agents: &Path, model: &Model, options: &[&str]) -> (Server, Client) {
    let folder = folder();
    let home = folder.path().join("home");
    fs::create_dir_all(home.join(".gemini")).unwrap();
    let settings = json!({ "security": { "auth": { "selectedType": "gemini-api-key" } } });
    fs::write(home.join(".gemini/settings.json"), settings.to_string()).unwrap();
    let programs = agents.join("node_modules/.bin");
    let mut command = command(&folder);
    command.args(["serve", "--stdio", "--backend", "acp"]).args(options).arg("--");
    match agent {
        Agent::Gemini => command.arg(programs.join("gemini")).arg("--acp"),
        Agent::Qwen => command.arg(programs.join("qwen")).args(["--acp", "--auth-type", "openai"]),
    };
    command.env("HOME", &home).env("TMPDIR", temporary(&folder)).env("NO_PROXY", "127.0.0.1");
    command.env("GEMINI_API_KEY", "stub").env("GOOGLE_GEMINI_BASE_URL", &model.url);
    command.env("OPENAI_API_KEY", "stub").env("OPENAI_BASE_URL", &model.url).env("OPENAI_MODEL", "m");
    let (server, client) = start(folder, command);
    server.put("src/A.java", JAVA_FILE);
    (server, client)
}

/// Runs a request to its end, and answers its question. If `approved` is `None`, leaves the question unanswered.
fn run(agent: Agent, agents: &Path, approved: Option<bool>) -> (Server, Vec<Value>, Value) {
    let model = model();
    let options: &[&str] = if approved.is_none() { &["--interaction-timeout", "2"] } else { &[] };
    let (server, mut client) = run_agent(agent, agents, &model, options);
    let id = client.generate(&["servlet-import"]);
    if let Some(approved) = approved {
        let question = client.approve(approved);
        assert_eq!(question["interaction_type"], "file_approval", "{question}");
    }
    let (notifications, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    (server, notifications, response)
}

fn an_approved_edit_changes_the_file(agent: Agent) {
    let Some(agents) = installed() else { return };
    let (server, notifications, _) = run(agent, &agents, Some(true));
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE, "{notifications:#?}");
    assert_eq!(contents(&notifications, "user_interaction").len(), 0, "the edit must cause no further question");
    let summary = contents(&notifications, "system").last().unwrap()["message"].clone();
    assert_eq!(summary, "1 of 1 incidents fixed, 0 not fixed", "{notifications:#?}");
    let texts = contents(&notifications, "ai_response");
    assert!(texts.last().unwrap()["text"].as_str().unwrap().contains("The import is replaced."), "{texts:?}");
}

fn a_denied_edit_and_an_unanswered_question_leave_every_byte(agent: Agent) {
    let Some(agents) = installed() else { return };
    for answer in [Some(false), None] {
        let (server, notifications, _) = run(agent, &agents, answer);
        assert_eq!(server.read("src/A.java"), JAVA_FILE);
        let statuses: Vec<_> =
            contents(&notifications, "tool_call").iter().map(|call| call["status"].clone()).collect();
        let expected = if answer.is_some() { "denied" } else { "timeout" };
        assert!(statuses.contains(&json!(expected)), "{statuses:?}");
    }
}

fn a_cancelled_request_leaves_every_byte(agent: Agent) {
    let Some(agents) = installed() else { return };
    let model = model();
    let (mut server, mut client) = run_agent(agent, &agents, &model, &[]);
    let id = client.generate(&["servlet-import"]);
    client.notification("user_interaction");
    client.notify("$/cancelRequest", &json!({ "id": id }));
    assert_eq!(client.response(id)["error"]["code"], -32800);
    client.close();
    while client.next().is_some() {}
    assert!(server.wait().success());
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
    assert_eq!(fs::read_dir(server.folder.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn gemini_changes_the_file_after_an_approval() {
    an_approved_edit_changes_the_file(Agent::Gemini);
}

#[test]
fn gemini_changes_nothing_after_a_denial_and_without_an_answer() {
    a_denied_edit_and_an_unanswered_question_leave_every_byte(Agent::Gemini);
}

#[test]
fn gemini_changes_nothing_after_a_cancellation() {
    a_cancelled_request_leaves_every_byte(Agent::Gemini);
}

#[test]
fn qwen_changes_the_file_after_an_approval() {
    an_approved_edit_changes_the_file(Agent::Qwen);
}

#[test]
fn qwen_changes_nothing_after_a_denial_and_without_an_answer() {
    a_denied_edit_and_an_unanswered_question_leave_every_byte(Agent::Qwen);
}

#[test]
fn qwen_changes_nothing_after_a_cancellation() {
    a_cancelled_request_leaves_every_byte(Agent::Qwen);
}
