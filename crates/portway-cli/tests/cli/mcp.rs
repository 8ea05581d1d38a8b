//! `portway mcp` with servers in shell and over HTTP. `--only mcp` runs the command with an official server.

use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::command::{Run, TEST_TIMEOUT, Test, feed, portway, run};

/// The token that the command must never print.
const TOKEN: &str = "correct-horse-battery";

/// A shell script of a server. The response depends on the method in the line. `reply MEMBER JSON` sends a response.
const SERVER: &str = r#"
log=$1
reply() { printf '{"jsonrpc":"2.0","id":%s,"%s":%s}\n' "$id" "$1" "$2"; }
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$log"
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"server/discover"'*) DISCOVER ;;
    *'"initialize"'*)
      reply result '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}}}' ;;
    *'"tools/list"'*'"cursor":"2"'*) reply result '{"tools":[{"name":"last","title":"The last"}]}' ;;
    *'"tools/list"'*'"cursor":"endless"'*) reply result '{"tools":[],"nextCursor":"endless"}' ;;
    *'"tools/list"'*) reply result '{"tools":[{"name":"add","description":"\nAdds \u001b[31mnumbers.\nMore.","inputSchema":{"properties":{"a":{"type":"integer"},"b":{}},"required":["a"]}}],"nextCursor":"CURSOR"}' ;;
    *'"resources/list"'*) reply result '{"resources":[{"uri":"text://readme","name":"readme"}]}' ;;
    *'"resources/templates/list"'*) reply error '{"code":-32601,"message":"no"}' ;;
    *'"name":"add"'*) reply result '{"content":[{"type":"text","text":"5"}],"structuredContent":{"result":5}}' ;;
    *'"name":"parts"'*) reply result '{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"resource_link","uri":"a://b"},{"type":"resource","resource":{"uri":"c://d","text":"text"}},{"type":"new"}]}' ;;
    *'"name":"structured"'*) reply result '{"content":[],"structuredContent":{"a":1}}' ;;
    *'"name":"fails"'*) reply result '{"content":[{"type":"text","text":"no \u001b[31mdisk\nfull"}],"isError":true}' ;;
    *'"name":"invalid"'*) reply error '{"code":-32602,"message":"no such tool","data":{"a":1}}' ;;
    *'"name":"silent"'*) ;;
    *'"name":"dies"'*) kill -9 $$ ;;
    *'"name":"steps"'*)
      printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}\n' "$id"
      printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"begun"}}\n'
      reply result '{"content":[{"type":"text","text":"done"}]}' ;;
    *'"uri":"text://readme"'*) reply result '{"contents":[{"uri":"text://readme","text":"é😀"}]}' ;;
    *'"uri":"data://bytes"'*) reply result '{"contents":[{"uri":"data://bytes","blob":"AP8K"}]}' ;;
    *'"uri":"data://broken"'*) reply result '{"contents":[{"uri":"data://broken","blob":"!"}]}' ;;
    *'"name":"greeting"'*) reply result '{"messages":[{"role":"user","content":{"type":"text","text":"Hello"}},{"role":"assistant","content":{"type":"text","text":"Hi"}}]}' ;;
  esac
done
"#;

const LEGACY: &str = r#"reply error '{"code":-32601,"message":"Method not found"}'"#;
const MODERN: &str = r#"reply result '{"supportedVersions":["2026-07-28"],"capabilities":{"prompts":{}}}'"#;

/// A program that is an MCP server, and the log of its messages.
struct Server {
    folder: TempDir,
}

impl Server {
    fn new(discover: &str, cursor: &str) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let script = SERVER.replace("DISCOVER", discover).replace("CURSOR", cursor);
        fs::write(folder.path().join("server.sh"), script)?;
        Ok(Self { folder })
    }

    fn legacy() -> io::Result<Self> {
        Self::new(LEGACY, "2")
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Returns the command line of `portway mcp` with these options and this action after the program.
    fn words(&self, options: &[&str], action: &[&str]) -> Vec<String> {
        let (script, log) = (self.path("server.sh"), self.path("log"));
        let program = ["--", "sh", &script, &log];
        ["mcp"].iter().chain(options).chain(&program).chain(action).map(|word| (*word).to_owned()).collect()
    }

    async fn run(&self, options: &[&str], action: &[&str]) -> Result<Run, Box<dyn Error>> {
        run(self.words(options, action)).await
    }

    /// Returns the received messages.
    fn log(&self) -> Result<Vec<Value>, Box<dyn Error>> {
        Ok(fs::read_to_string(self.path("log"))?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    }
}

#[tokio::test]
async fn the_text_of_a_tool_a_resource_or_a_prompt_is_printed() -> Test {
    let server = Server::legacy()?;
    for (action, expected) in [
        (&["call", "add", "{\"a\":2,\"b\":3}"][..], "5\n"),
        (&["call", "add"], "5\n"),
        (&["call", "parts"], "[image, image/png, 3 bytes]\n[resource a://b]\ntext\n{\"type\":\"new\"}\n"),
        (&["call", "structured"], "{\n  \"a\": 1\n}\n"),
        (&["read", "text://readme"], "é😀"),
        (&["get", "greeting", "{\"name\":\"Ada\"}"], "user: Hello\nassistant: Hi\n"),
    ] {
        let outcome = server.run(&[], action).await?;
        assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(0), expected, ""));
    }
    let log = server.log()?;
    let sent = |method: &str| log.iter().find(|message| message["method"] == method).map(|message| &message["params"]);
    assert_eq!(sent("tools/call"), Some(&json!({ "name": "add", "arguments": { "a": 2, "b": 3 } })));
    assert_eq!(sent("resources/read"), Some(&json!({ "uri": "text://readme" })));
    assert_eq!(sent("prompts/get"), Some(&json!({ "name": "greeting", "arguments": { "name": "Ada" } })));
    Ok(())
}

#[tokio::test]
async fn the_arguments_may_be_in_a_file_or_on_standard_input_and_the_action_before_the_program() -> Test {
    let server = Server::legacy()?;
    let file = server.path("arguments.json");
    fs::write(&file, "{\"a\":4}")?;
    let file = format!("@{file}");
    server.run(&["call", "add", &file], &[]).await?;
    feed(server.words(&[], &["call", "add", "-"]), b"{\"a\":5}").await?;
    let log = server.log()?;
    let sent: Vec<_> = log.iter().filter(|message| message["method"] == "tools/call").collect();
    assert_eq!(
        sent.iter().map(|call| &call["params"]["arguments"]).collect::<Vec<_>>(),
        [&json!({ "a": 4 }), &json!({ "a": 5 })]
    );
    Ok(())
}

#[tokio::test]
async fn a_binary_resource_is_written_as_its_bytes() -> Test {
    let server = Server::legacy()?;
    let child = portway(server.words(&[], &["read", "data://bytes"])).output();
    assert_eq!(timeout(TEST_TIMEOUT, child).await??.stdout, [0, 0xff, b'\n']);
    let outcome = server.run(&[], &["read", "data://broken"]).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(5), ""));
    assert!(outcome.stderr.contains("must be in Base64"), "{}", outcome.stderr);
    Ok(())
}

#[tokio::test]
async fn a_list_has_all_pages_of_all_lists_that_the_server_has() -> Test {
    let server = Server::legacy()?;
    let outcome = server.run(&[], &["list"]).await?;
    let expected = "Tools:\n  add(a: integer, b?)\n      Adds \\u{1b}[31mnumbers.\n  last()\n      The last\n\
        Resources:\n  text://readme  readme\n";
    assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(0), expected, ""));
    let methods: Vec<Value> = server.log()?.iter().map(|message| message["method"].clone()).collect();
    let expected = ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/list"];
    assert_eq!(methods, [&expected[..], &["resources/list", "resources/templates/list"]].concat());

    let outcome = server.run(&["--json"], &["list"]).await?;
    let lists: Value = serde_json::from_str(&outcome.stdout)?;
    assert_eq!(
        (&lists["tools"][1], &lists["resourceTemplates"]),
        (&json!({ "name": "last", "title": "The last" }), &json!([]))
    );
    assert_eq!(outcome.stdout.lines().count(), 1);

    let outcome = Server::new(LEGACY, "endless")?.run(&[], &["list"]).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(5), ""));
    assert_eq!(outcome.stderr, "portway: the list has more than 16 pages\n");
    Ok(())
}

#[tokio::test]
async fn an_error_of_the_server_or_of_a_tool_exits_with_1() -> Test {
    let server = Server::legacy()?;
    for (name, text, result) in [
        (
            "fails",
            "portway: the tool has failed:\n         no \\u{1b}[31mdisk\n         full\n",
            json!({ "content": [{ "type": "text", "text": "no \u{1b}[31mdisk\nfull" }], "isError": true }),
        ),
        (
            "invalid",
            "portway: the peer answered with an error: no such tool (-32602)\n         data: {\"a\":1}\n",
            json!({ "code": -32602, "message": "no such tool", "data": { "a": 1 } }),
        ),
    ] {
        let outcome = server.run(&[], &["call", name]).await?;
        assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(1), "", text));
        let outcome = server.run(&["--json"], &["call", name]).await?;
        assert_eq!((outcome.code, outcome.events()?, outcome.stderr.as_str()), (Some(1), vec![result], ""));
    }
    Ok(())
}

#[tokio::test]
async fn verbose_names_the_era_and_progress_is_printed_on_request() -> Test {
    for (discover, era) in [(LEGACY, "2025-11-25 (legacy era"), (MODERN, "2026-07-28 (modern era")] {
        let outcome = Server::new(discover, "2")?.run(&["--verbose", "--progress"], &["call", "steps"]).await?;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "done\n"), "{}", outcome.stderr);
        for text in [&format!("the server uses MCP {era}"), "progress: {", "the server logs: {\"level\":\"info\""] {
            assert!(outcome.stderr.contains(text), "{text}: {}", outcome.stderr);
        }
    }
    let outcome = Server::legacy()?.run(&[], &["call", "steps"]).await?;
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    // If the modern server does not have the capability `prompts`, the command requests no list.
    let outcome = Server::new(MODERN.replace("prompts", "none").as_str(), "2")?.run(&[], &["list"]).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), ""));
    assert!(outcome.stderr.contains("offers no tools"), "{}", outcome.stderr);
    Ok(())
}

#[tokio::test]
async fn an_invalid_command_line_exits_with_2_and_names_the_forms() -> Test {
    for (arguments, problem) in [
        (&["http://127.0.0.1:1/", "call", "add", "5"][..], "the params must be an object"),
        (&["http://127.0.0.1:1/", "call", "add", "{a:1}"], "are not JSON"),
        (&["http://127.0.0.1:1/", "call", "add", "[1]"], "the params must be an object"),
        (&["http://127.0.0.1:1/"], "must be an action"),
        (&["http://", "list"], "the URL must be http://HOST"),
        (&["--", "server"], "must end with an action"),
        (&["--", "server", "call", "list"], "portway mcp call NAME -- PROGRAM"),
        (&["--header", "A:b", "--", "server", "list"], "--header is for a URL"),
        (&["--header", TOKEN, "http://127.0.0.1:1/", "list"], "--header must be NAME:VALUE"),
        (&["--header", "A:@/nonexistent", "http://127.0.0.1:1/", "list"], "/nonexistent: No such file"),
        (&["--header", "A:correct-horse-battery\nB:c", "http://127.0.0.1:1/", "list"], "visible ASCII on one line"),
        (&[], "Usage"),
    ] {
        let outcome = run(["mcp"].iter().chain(arguments)).await?;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(problem), "{arguments:?}: {}", outcome.stderr);
        assert!(!outcome.stderr.contains(TOKEN), "{}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_cannot_be_used_exits_with_3() -> Test {
    let address = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    for (arguments, problem) in [
        (&["--", "/nonexistent/server", "list"][..], "cannot start /nonexistent/server"),
        (&["--", "sh", "-c", "exit 3", "list"], "the server ended before it answered"),
        (&[&format!("http://{address}/?key={TOKEN}"), "list"], "Is the server running"),
        (
            &[
                "--timeout",
                "5",
                "--",
                "sh",
                "-c",
                "read -r a; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"\"}}'; read -r b; echo '{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":1,\"message\":\"\"}}'; read -r c",
                "list",
            ],
            "Is it an MCP server?",
        ),
    ] {
        let outcome = run(["mcp"].iter().chain(arguments)).await?;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(3), ""), "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(problem) && !outcome.stderr.contains(TOKEN), "{}", outcome.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_does_not_answer_exits_with_4_and_ends() -> Test {
    let server = Server::legacy()?;
    let outcome = server.run(&["--timeout", "0.5"], &["call", "silent"]).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(4), ""));
    assert!(outcome.stderr.contains("no answer came within 500ms"), "{}", outcome.stderr);
    let log = server.log()?;
    let last = log.last().ok_or("the log must have messages")?;
    assert_eq!(last["method"], "notifications/cancelled");

    let id = server.path("id");
    let script = format!("echo $$ > '{id}'; exec sleep 3600");
    let start = Instant::now();
    let outcome = run(["mcp", "--timeout", "0.5", "--", "sh", "-c", &script, "list"]).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(4), ""));
    assert!(outcome.stderr.contains("did not complete the handshake within 500ms"), "{}", outcome.stderr);
    assert!(start.elapsed() < Duration::from_secs(10));
    wait_until_gone(fs::read_to_string(&id)?.trim()).await
}

async fn wait_until_gone(process: &str) -> Test {
    let start = Instant::now();
    let is_running = || fs::read_to_string(Path::new("/proc").join(process).join("stat"));
    while is_running().is_ok_and(|stat| !stat.contains(") Z ")) {
        if start.elapsed() > TEST_TIMEOUT {
            return Err(format!("the process {process} must end").into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_dies_or_answers_too_long_exits_with_5() -> Test {
    let server = Server::legacy()?;
    let outcome = server.run(&[], &["call", "dies"]).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(5), ""));
    assert!(outcome.stderr.contains("no answer came: "), "{}", outcome.stderr);
    let outcome = server.run(&["--max-bytes", "200"], &["call", "parts"]).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(5), ""));
    assert!(outcome.stderr.contains("--max-bytes"), "{}", outcome.stderr);
    Ok(())
}

#[tokio::test]
async fn a_signal_cancels_the_request_and_exits_with_130() -> Test {
    let server = Server::legacy()?;
    let child = portway(server.words(&["--timeout", "0"], &["call", "silent"])).spawn()?;
    let has_begun = async {
        while !server.log().is_ok_and(|log| log.iter().any(|message| message["method"] == "tools/call")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TEST_TIMEOUT, has_begun).await?;
    let process = child.id().ok_or("no process")?.to_string();
    assert!(Command::new("kill").args(["-INT", &process]).status().await?.success());
    let output = timeout(TEST_TIMEOUT, child.wait_with_output()).await??;
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(130), 0, 0));
    let log = server.log()?;
    assert_eq!(log.last().map(|last| &last["method"]), Some(&json!("notifications/cancelled")));
    Ok(())
}

/// An HTTP server of the modern era, which demands a token. Sends the head of each request to the test.
async fn serve_http() -> io::Result<(String, mpsc::UnboundedReceiver<String>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp?key={TOKEN}", listener.local_addr()?);
    let (sender, heads) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer_http(stream, sender.clone()));
        }
    });
    Ok((url, heads))
}

async fn answer_http(mut stream: TcpStream, heads: mpsc::UnboundedSender<String>) -> io::Result<()> {
    let (mut received, mut buffer) = (Vec::new(), [0; 4_096]);
    let (head, message) = loop {
        let length = stream.read(&mut buffer).await?;
        received.extend_from_slice(buffer.get(..length).unwrap_or_default());
        let text = String::from_utf8_lossy(&received).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Ok(message) = serde_json::from_str::<Value>(body)
        {
            break (head.to_ascii_lowercase(), message);
        }
        if length == 0 {
            return Ok(());
        }
    };
    let result = match message["method"].as_str() {
        Some("server/discover") => json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} }),
        _ => json!({ "content": [{ "type": "text", "text": "over HTTP" }] }),
    };
    let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
    let (status, further) = if head.contains(&format!("authorization: bearer {TOKEN}\r\n")) {
        ("200 OK", "Content-Type: application/json\r\n")
    } else {
        ("401 Unauthorized", "WWW-Authenticate: Bearer realm=\"mcp\"\r\n")
    };
    let _ = heads.send(head);
    let length = body.len();
    let response = format!("HTTP/1.1 {status}\r\n{further}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(response.as_bytes()).await
}

#[tokio::test]
async fn a_server_over_http_receives_the_headers_and_no_token_is_printed() -> Test {
    let (url, mut heads) = serve_http().await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("token");
    fs::write(&file, format!("Bearer {TOKEN}\n"))?;
    let from_file = format!("Authorization:@{}", file.display());
    for header in [&format!("Authorization: Bearer {TOKEN}"), &from_file] {
        let outcome = run(["mcp", &url, "call", "add", "{}", "--verbose", "--header", header]).await?;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "over HTTP\n"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("MCP 2026-07-28 (modern era") && !outcome.stderr.contains(TOKEN));
        assert!(heads.recv().await.is_some_and(|head| head.contains("mcp-method: server/discover")));
        assert!(heads.recv().await.is_some_and(|head| head.contains("mcp-name: add")));
    }
    let header = format!("Authorization: Basic {TOKEN}");
    let outcome = run(["mcp", &url, "list", "--verbose", "--header", &header]).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(3), ""));
    let problem =
        "the HTTP status 401, which asks for Bearer realm=\"mcp\"\n         --header 'Authorization: Bearer TOKEN'";
    assert!(outcome.stderr.contains(problem) && !outcome.stderr.contains(TOKEN), "{}", outcome.stderr);
    Ok(())
}
