//! Programs on standard streams behind the HTTP server.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use portway::mcp::{HttpProgram, HttpService};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::processes::wait_until_ended;
use crate::remote::Test;
use crate::server::meta;
use crate::server_http::{ACCEPT, Answer, http, initialize, modern, post, request, send, serve};
use crate::wire::TEST_TIMEOUT;

/// A server. The words `DISCOVER` and `STARTED` are replaced: by the answer to `server/discover`, and by a file that
/// gets a line at each start.
const SERVER: &str = r#"
echo $$ >> STARTED
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
reply() { say "\"id\":$id,\"result\":$1"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"server/discover"'*) DISCOVER ;;
    *'"initialize"'*'"slow"'*) ;;
    *'"initialize"'*) reply '{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{}}' ;;
    *'"notifications/roots/list_changed"'*)
      say '"method":"notifications/tools/list_changed"'
      say '"id":"question","method":"roots/list"' ;;
    *'"id":"question"'*'"file:///a"'*) say '"method":"notifications/message","params":{"data":"answered"}' ;;
    *'"subscriptions/listen"'*) listener=$id ;;
    *'"change"'*)
      say "\"method\":\"notifications/tools/list_changed\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":$listener}}"
      reply '{}' ;;
    *'"progress"'*)
      token=$(printf '%s' "$line" | sed -n 's/.*"progressToken":\([^,}]*\).*/\1/p')
      say "\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$token,\"progress\":1}"
      reply "{\"token\":$token}" ;;
    *'"die"'*) exit 3 ;;
    *'"wait"'*) ;;
    *'"id":'*) reply "{\"process\":\"$$\"}" ;;
  esac
done
"#;

const LEGACY: &str = r#"say "\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no\"}""#;
const MODERN: &str = r#"reply '{"supportedVersions":["2026-07-28"],"capabilities":{}}'"#;

/// A service with the server, and its observations.
struct Site {
    address: SocketAddr,
    folder: tempfile::TempDir,
    warnings: Arc<Mutex<Vec<String>>>,
    stop: Option<oneshot::Sender<()>>,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Site {
    async fn start(discover: &str, configure: impl FnOnce(HttpProgram) -> HttpProgram) -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let started = folder.path().join("started").display().to_string();
        let mut command = Command::new("sh");
        command.args(["-c", &SERVER.replace("DISCOVER", discover).replace("STARTED", &started)]);
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&warnings);
        let program = HttpProgram::new(command).on_warning(move |text| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
        });
        let service = HttpService::of_program(configure(program));
        let listener = HttpService::bind(0).await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            service.serve_until(listener, stopped).await
        });
        Ok(Self { address, folder, warnings, stop: Some(stop), served })
    }

    /// Returns the ids of all processes that were started.
    fn started(&self) -> std::io::Result<Vec<String>> {
        let ids = fs::read_to_string(self.folder.path().join("started"))?;
        Ok(ids.lines().map(str::to_owned).collect())
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn call(&self, session: &str, name: &str) -> Result<Answer, Box<dyn std::error::Error>> {
        send(self.address, &post(session, &request("tools/call", json!({ "name": name })))).await
    }

    async fn call_modern(&self, name: &str) -> Result<Answer, Box<dyn std::error::Error>> {
        send(self.address, &modern("tools/call", name, json!({ "name": name }))).await
    }

    /// Opens the stream of a session for messages without a request.
    async fn open_stream(&self, session: &str) -> Result<Answer, Box<dyn std::error::Error>> {
        let answer = send(self.address, &http("GET", &format!("Host: localhost\r\n{ACCEPT}{session}"), "")).await?;
        assert_eq!(answer.status, 200);
        Ok(answer)
    }

    /// Waits until a request of the session is answered with 404.
    async fn wait_until_unknown(&self, session: &str) -> Test {
        let start = Instant::now();
        while self.call(session, "which").await?.status != 404 {
            assert!(start.elapsed() < TEST_TIMEOUT, "the session must end");
            sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}

const ENDED: &str = "the process of the server has ended";

#[tokio::test]
async fn each_session_has_its_own_process_which_ends_after_delete() -> Test {
    let site = Site::start(LEGACY, |program| program).await?;
    let sessions = [initialize(site.address, "2025-11-25").await?, initialize(site.address, "2025-11-25").await?];
    let mut processes = Vec::new();
    for session in &sessions {
        let answer = site.call(session, "which").await?;
        assert_eq!((answer.status, &answer.message()["id"]), (200, &json!(1)));
        processes.push(answer.message()["result"]["process"].as_str().unwrap_or_default().to_owned());
    }
    assert_ne!(processes[0], processes[1]);
    let answer = send(site.address, &http("DELETE", &format!("Host: localhost\r\n{}", sessions[0]), "")).await?;
    assert_eq!(answer.status, 204);
    wait_until_ended(&processes[0]).await?;
    assert_eq!(site.call(&sessions[0], "which").await?.status, 404);
    assert_eq!(site.call(&sessions[1], "which").await?.status, 200);
    assert_eq!(site.warnings(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn messages_of_a_process_reach_its_session_and_the_answer_reaches_the_process() -> Test {
    let site = Site::start(LEGACY, |program| program).await?;
    let session = initialize(site.address, "2025-11-25").await?;
    let other = initialize(site.address, "2025-11-25").await?;
    let mut stream = site.open_stream(&session).await?;
    let mut others = site.open_stream(&other).await?;
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
    assert_eq!(send(site.address, &post(&session, &changed)).await?.status, 202);
    stream.read_until(r#""method":"notifications/tools/list_changed""#).await?;
    stream.read_until(r#""method":"roots/list""#).await?;
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "roots": [{ "uri": "file:///a" }] } });
    assert_eq!(send(site.address, &post(&session, &answer)).await?.status, 202);
    stream.read_until(r#"{"data":"answered"}"#).await?;
    // While one request runs, such messages are sent with this request.
    let waiting = request("tools/call", json!({ "name": "wait", "_meta": { "progressToken": "t" } }));
    let waiting = post(&session, &waiting);
    let waiting = tokio::spawn(async move { send(site.address, &waiting).await.map_err(|error| error.to_string()) });
    sleep(Duration::from_millis(100)).await;
    assert_eq!(send(site.address, &post(&session, &changed)).await?.status, 202);
    timeout(TEST_TIMEOUT, waiting).await???.read_until(r#""method":"notifications/tools/list_changed""#).await?;
    // The token of the progress is the token of the client.
    let progress = request("tools/call", json!({ "name": "progress", "_meta": { "progressToken": "é" } }));
    let mut progress = send(site.address, &post(&session, &progress)).await?;
    progress.read_until(r#""progressToken":"é","progress":1"#).await?;
    progress.read_until(r#""result":{"token":"é"}"#).await?;
    assert!(timeout(Duration::from_millis(50), others.read_until("method")).await.is_err(), "{}", others.body);
    Ok(())
}

#[tokio::test]
async fn the_exit_of_a_process_ends_its_requests_at_once_and_its_session() -> Test {
    let site = Site::start(LEGACY, |program| program).await?;
    let session = initialize(site.address, "2025-11-25").await?;
    let mut stream = site.open_stream(&session).await?;
    let (waiting, dying) = tokio::join!(site.call(&session, "wait"), async {
        sleep(Duration::from_millis(100)).await;
        site.call(&session, "die").await
    });
    for answer in [waiting?, dying?] {
        let error = &answer.message()["error"];
        assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!(ENDED)));
    }
    site.wait_until_unknown(&session).await?;
    assert!(stream.read_until("never").await.is_err(), "the stream must end");
    assert_eq!(site.warnings(), ["the program has ended: the process exited: exit status: 3"]);
    Ok(())
}

#[tokio::test]
async fn requests_of_the_modern_era_share_a_process_which_starts_again_after_its_exit() -> Test {
    let site = Site::start(MODERN, |program| program).await?;
    let (one, other) = tokio::join!(site.call_modern("which"), site.call_modern("which"));
    let (one, other) = (one?.message(), other?.message());
    assert_eq!((&one["id"], &one["result"]), (&json!(1), &other["result"]));
    assert_eq!(site.started()?, [one["result"]["process"].as_str().unwrap_or_default()]);
    let message = site.call_modern("die").await?.message();
    assert_eq!((&message["error"]["code"], &message["error"]["message"]), (&json!(-32603), &json!(ENDED)));
    assert_ne!(site.call_modern("which").await?.message()["result"], one["result"]);
    assert_eq!((site.started()?.len(), site.warnings().len()), (2, 1));
    // The header and the body must name the same tool.
    let answer = send(site.address, &modern("tools/call", "other", json!({ "name": "which" }))).await?;
    assert_eq!((answer.status, &answer.message()["error"]["code"]), (400, &json!(-32020)));
    Ok(())
}

#[tokio::test]
async fn progress_and_subscriptions_of_the_modern_era_have_the_ids_of_the_client() -> Test {
    let site = Site::start(MODERN, |program| program).await?;
    let subscribe = |id: &str| {
        let mut message = request("subscriptions/listen", json!({ "notifications": {}, "_meta": meta(json!({})) }));
        message["id"] = json!(id);
        post("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n", &message)
    };
    let (address, listen) = (site.address, subscribe("mine"));
    let listening = tokio::spawn(async move { send(address, &listen).await.map_err(|error| error.to_string()) });
    while site.started().map_or(0, |started| started.len()) == 0 {
        sleep(Duration::from_millis(10)).await;
    }
    sleep(Duration::from_millis(200)).await;
    assert_eq!(site.call_modern("change").await?.status, 200);
    let mut events = timeout(TEST_TIMEOUT, listening).await???;
    events.read_until(r#""io.modelcontextprotocol/subscriptionId":"mine""#).await?;
    let mut meta = meta(json!({}));
    meta["progressToken"] = json!("token");
    let message = request("tools/call", json!({ "name": "progress", "_meta": meta }));
    let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: progress\r\n";
    let mut answer = send(site.address, &post(headers, &message)).await?;
    answer.read_until(r#""progressToken":"token""#).await?;
    answer.read_until(r#""id":1,"result":"#).await?;
    Ok(())
}

#[tokio::test]
async fn a_program_of_the_legacy_era_answers_requests_of_the_modern_era_with_400() -> Test {
    let site = Site::start(LEGACY, |program| program).await?;
    for _ in 0..2 {
        let answer = site.call_modern("which").await?;
        assert_eq!((answer.status, &answer.message()["error"]["code"]), (400, &json!(-32600)));
    }
    let [process] = &site.started()?[..] else { return Err("the era must be detected once".into()) };
    wait_until_ended(process).await?;
    initialize(site.address, "2025-11-25").await?;
    Ok(())
}

#[tokio::test]
async fn a_further_session_is_refused_with_503() -> Test {
    let site = Site::start(LEGACY, |program| program.max_sessions(1)).await?;
    let session = initialize(site.address, "2025-11-25").await?;
    let begin = post("", &request("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {} })));
    let answer = send(site.address, &begin).await?;
    let problem = "all 1 sessions of this server are in use; try again later";
    assert_eq!((answer.status, &answer.message()["error"]["message"]), (503, &json!(problem)));
    send(site.address, &http("DELETE", &format!("Host: localhost\r\n{session}"), "")).await?;
    let start = Instant::now();
    while send(site.address, &begin).await?.status != 200 {
        assert!(start.elapsed() < TEST_TIMEOUT, "the end of a session must make room");
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[tokio::test]
async fn an_idle_session_and_its_process_end() -> Test {
    let idle = Duration::from_millis(300);
    let site = Site::start(LEGACY, |program| program.idle_time(idle)).await?;
    let session = initialize(site.address, "2025-11-25").await?;
    let stream = site.open_stream(&session).await?;
    sleep(idle * 3).await;
    assert_eq!(site.call(&session, "which").await?.status, 200, "a session with a stream is not idle");
    drop(stream);
    assert!(timeout(idle * 3, site.call(&session, "wait")).await.is_err(), "a session with a request is not idle");
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(send(site.address, &post(&session, &cancel)).await?.status, 202);
    wait_until_ended(&site.started()?[0]).await?;
    assert_eq!(site.call(&session, "which").await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn the_shutdown_ends_the_processes_and_answers_their_requests() -> Test {
    let mut site = Site::start(MODERN, |program| program).await?;
    let session = initialize(site.address, "2025-11-25").await?;
    let mut stream = site.open_stream(&session).await?;
    let stop = site.stop.take();
    let (waiting, shared, ()) = tokio::join!(site.call(&session, "wait"), site.call_modern("wait"), async {
        sleep(Duration::from_millis(300)).await;
        drop(stop);
    });
    for answer in [waiting?, shared?] {
        assert_eq!(answer.message()["error"]["message"], "the session has ended");
    }
    assert!(stream.read_until("never").await.is_err(), "the stream must end");
    for process in site.started()? {
        wait_until_ended(&process).await?;
    }
    timeout(TEST_TIMEOUT, site.served).await???;
    assert!(send(site.address, &post("", &json!({}))).await.is_err(), "the socket must be closed");
    Ok(())
}

#[tokio::test]
async fn the_end_of_the_connection_during_initialize_ends_the_process() -> Test {
    let site = Site::start(LEGACY, |program| program).await?;
    let begin = post("", &request("initialize", json!({ "protocolVersion": "slow", "capabilities": {} })));
    assert!(timeout(Duration::from_millis(300), send(site.address, &begin)).await.is_err());
    wait_until_ended(&site.started()?[0]).await?;
    Ok(())
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_reported() -> Test {
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&warnings);
    let program = HttpProgram::new(Command::new("/no-such-program")).on_warning(move |text| {
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    });
    let address = serve(HttpService::of_program(program)).await?;
    let answer = send(address, &post("", &request("initialize", json!({})))).await?;
    let error = "the program of the server cannot be started";
    assert_eq!((answer.status, &answer.message()["error"]["message"]), (502, &json!(error)));
    let answer = send(address, &modern("tools/list", "", json!({}))).await?;
    assert_eq!(answer.message()["error"]["message"], error);
    let warnings: Vec<Value> =
        warnings.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|text| json!(text)).collect();
    assert_eq!(warnings.len(), 2);
    assert!(
        warnings[0].as_str().is_some_and(|text| text.starts_with("cannot start /no-such-program: ")),
        "{warnings:?}"
    );
    Ok(())
}
