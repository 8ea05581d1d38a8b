//! MCP servers as processes.

use std::error::Error as _;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use portway::mcp::{Client, Era, Error};
use portway::{CallError, Closed};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::remote::{Test, options};
use crate::wire::TEST_TIMEOUT;

/// The messages of a server of the legacy era to `server/discover` and `initialize`.
const HANDSHAKE: &str = r#"
read -r line
echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'
read -r line
echo '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'
read -r line
"#;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// Returns the path of a file in a folder, for a script.
fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

/// Waits until no process has the id in this file.
async fn wait_until_gone(file: &str) -> Test {
    wait_until_ended(fs::read_to_string(file)?.trim()).await
}

/// Waits until no process has this id.
pub(crate) async fn wait_until_ended(id: &str) -> Test {
    let start = Instant::now();
    while Path::new("/proc").join(id).exists()
        || Command::new("kill").args(["-0", id]).stderr(Stdio::null()).status()?.success()
    {
        if start.elapsed() > TEST_TIMEOUT {
            return Err(format!("the process {id} must end").into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

/// Some servers of the legacy era exit at each message before `initialize`.
#[tokio::test]
async fn a_server_that_exits_at_discover_is_started_again_and_initialized() -> Test {
    let folder = tempfile::tempdir()?;
    let log = path(&folder, "log");
    let script = format!(
        r#"read -r line; echo "$line" >> '{log}'
        case "$line" in *server/discover*) exit 1 ;; esac
        echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-06-18"}}}}'
        read -r line; echo "$line" >> '{log}'; cat > /dev/null"#
    );
    let client = timeout(TEST_TIMEOUT, Client::connect(shell(&script), options())).await??;
    assert_eq!((client.era(), client.protocol_version()), (Era::Legacy, "2025-06-18"));
    assert_eq!(timeout(TEST_TIMEOUT, client.close()).await?, Closed::Local);
    let methods: Vec<Value> = fs::read_to_string(&log)?
        .lines()
        .map(|line| Ok(serde_json::from_str::<Value>(line)?["method"].clone()))
        .collect::<serde_json::Result<_>>()?;
    assert_eq!(methods, ["server/discover", "initialize", "notifications/initialized"]);
    Ok(())
}

#[tokio::test]
async fn a_server_that_always_exits_is_started_twice() -> Test {
    let folder = tempfile::tempdir()?;
    let log = path(&folder, "log");
    let script = format!("echo x >> '{log}'; read -r line; exit 3");
    let error = timeout(TEST_TIMEOUT, Client::connect(shell(&script), options())).await?.err();
    assert!(matches!(error, Some(Error::Call(CallError::PeerGone | CallError::Lost(_)))), "{error:?}");
    assert_eq!(fs::read_to_string(&log)?, "x\nx\n");
    Ok(())
}

#[tokio::test]
async fn a_server_that_exits_at_initialize_after_it_has_answered_discover_is_not_started_again() -> Test {
    let folder = tempfile::tempdir()?;
    let log = path(&folder, "log");
    let script = format!(
        r#"echo x >> '{log}'; read -r line
        echo '{{"jsonrpc":"2.0","id":1,"error":{{"code":-32601,"message":"no"}}}}'
        read -r line; exit 3"#
    );
    let error = timeout(TEST_TIMEOUT, Client::connect(shell(&script), options())).await?.err();
    assert!(matches!(error, Some(Error::Call(CallError::PeerGone | CallError::Lost(_)))), "{error:?}");
    assert_eq!(fs::read_to_string(&log)?, "x\n");
    Ok(())
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_an_error() -> Test {
    let error = Client::connect(Command::new("/nonexistent/server"), options()).await.err();
    let error = error.ok_or("the client must not connect")?;
    assert!(matches!(&error, Error::Start(error) if error.kind() == io::ErrorKind::NotFound), "{error}");
    assert!(error.to_string().contains("/nonexistent/server"), "{error}");
    assert!(error.source().is_some());
    Ok(())
}

#[tokio::test]
async fn lines_before_the_first_message_and_standard_error_do_not_disturb_the_client() -> Test {
    let (sender, mut lines) = mpsc::unbounded_channel();
    let options = options().on_stderr(move |line| {
        let _ = sender.send(line.to_owned());
    });
    let script = format!("echo 'Starting…'; echo '{{ not JSON'; echo ready >&2; {HANDSHAKE} cat > /dev/null");
    let client = timeout(TEST_TIMEOUT, Client::connect(shell(&script), options)).await??;
    assert_eq!(client.era(), Era::Legacy);
    assert_eq!(timeout(TEST_TIMEOUT, lines.recv()).await?.as_deref(), Some("ready"));
    Ok(())
}

#[tokio::test]
async fn a_call_ends_at_once_when_the_server_dies_and_nothing_is_sent_again() -> Test {
    let folder = tempfile::tempdir()?;
    let (starts, calls) = (path(&folder, "starts"), path(&folder, "calls"));
    let script = format!("echo x >> '{starts}'; {HANDSHAKE} read -r line; echo \"$line\" >> '{calls}'; kill -9 $$");
    let client = timeout(TEST_TIMEOUT, Client::connect(shell(&script), options().timeout(None))).await??;
    let start = Instant::now();
    let outcome = timeout(TEST_TIMEOUT, client.call::<Value>("tools/call", &()).into_future()).await?;
    assert!(matches!(outcome, Err(Error::Call(CallError::PeerGone | CallError::Lost(_)))), "{outcome:?}");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let closed = timeout(TEST_TIMEOUT, client.closed()).await?;
    assert!(matches!(closed, Closed::Exited(status) if !status.success()), "{closed:?}");
    assert!(client.call::<Value>("tools/call", &()).await.is_err());
    assert_eq!(fs::read_to_string(&starts)?, "x\n");
    assert_eq!(fs::read_to_string(&calls)?.lines().count(), 1);
    Ok(())
}

#[tokio::test]
async fn a_server_that_ignores_the_end_of_its_input_is_ended() -> Test {
    for is_dropped in [false, true] {
        let folder = tempfile::tempdir()?;
        let file = path(&folder, "id");
        let script = format!("trap '' TERM; echo $$ > '{file}'; {HANDSHAKE} while :; do sleep 1; done");
        let options = options().with(|transport| transport.with_grace(Duration::from_millis(50)));
        let client = timeout(TEST_TIMEOUT, Client::connect(shell(&script), options)).await??;
        if is_dropped {
            drop(client);
        } else {
            assert_eq!(timeout(TEST_TIMEOUT, client.close()).await?, Closed::Local);
        }
        wait_until_gone(&file).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_client_that_gives_up_ends_the_process() -> Test {
    let folder = tempfile::tempdir()?;
    let file = path(&folder, "id");
    let script = format!("echo $$ > '{file}'; cat > /dev/null");
    let options = options().discover_timeout(Duration::from_millis(200)).initialize_timeout(Duration::from_millis(10));
    let error = timeout(TEST_TIMEOUT, Client::connect(shell(&script), options)).await?.err();
    assert!(matches!(error, Some(Error::Negotiation { .. })), "{error:?}");
    wait_until_gone(&file).await
}
