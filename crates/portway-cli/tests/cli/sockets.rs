//! `portway call`: connections to sockets.

use std::os::unix::net::UnixListener as BlockingListener;
use std::time::Duration;

use portway::{Context, Framing, Listener, RpcError};
use tokio::net::UnixListener;
use tokio::time::{sleep, timeout};

use crate::busy_socket::full_listener;
use crate::command::{TEST_TIMEOUT, Test, portway, run};

#[tokio::test]
async fn the_command_waits_for_a_busy_unix_socket() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("busy.sock");
    let (listener, waiting) = full_listener(&path)?;
    let arguments = ["call", "add", "[1, 2]", "--framing", "newline", "--unix", path.to_str().ok_or("no path")?];
    let mut child = portway(arguments).args(["--timeout", "60"]).spawn()?;
    // A command that does not wait exits during this pause, and the next line fails. On a busy machine, the command may
    // start only after the pause. Then the next line checks nothing.
    sleep(Duration::from_millis(300)).await;
    assert_eq!(child.try_wait()?, None, "the command must wait for the socket");
    let listener = UnixListener::from_std(BlockingListener::from(listener))?;
    for _ in &waiting {
        listener.accept().await?;
    }
    let (stream, _) = timeout(TEST_TIMEOUT, listener.accept()).await??;
    let (reader, writer) = stream.into_split();
    let peer = portway::Peer::new(portway::Transport::new(reader, writer, Framing::Newline)?);
    peer.method("add", |(a, b): (i64, i64), _: Context| async move { Ok::<_, RpcError>(a + b) });
    peer.forget();
    let output = timeout(TEST_TIMEOUT, child.wait_with_output()).await??;
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"3\n"[..]));
    Ok(())
}

#[tokio::test]
async fn the_command_exits_with_3_if_the_socket_stays_busy_until_the_timeout() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("busy.sock");
    let _busy = full_listener(&path)?;
    let path = path.to_str().ok_or("no path")?;
    let outcome = run(["call", "add", "--timeout", "0.3", "--unix", path]).await?;
    assert_eq!(outcome.code, Some(3));
    assert!(outcome.stderr.contains(&format!("cannot connect to {path} in time")), "{}", outcome.stderr);
    Ok(())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_socket_in_the_abstract_namespace_is_named_with_an_at_sign() -> Test {
    let name = format!("@portway-cli-{}", std::process::id());
    let listener = Listener::unix(&name, Framing::ContentLength).await?;
    let serving = tokio::spawn(listener.serve(|peer| {
        peer.method("add", |(a, b): (i64, i64), _: Context| async move { Ok::<_, RpcError>(a + b) });
    }));
    assert!(!std::fs::exists(&name)?);
    let outcome = run(["call", "add", "[1, 2]", "--unix", &name]).await?;
    assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(0), "3\n", ""));
    serving.abort();
    let outcome = run(["call", "add", "--unix", "@portway-nobody-listens-here"]).await?;
    assert_eq!(outcome.code, Some(3));
    assert!(outcome.stderr.contains("cannot connect to @portway-nobody-listens-here: "), "{}", outcome.stderr);
    Ok(())
}

#[tokio::test]
async fn a_command_names_the_path_that_it_cannot_listen_on() -> Test {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let page = tempfile::tempdir()?;
    std::fs::write(page.path().join("index.html"), "")?;
    std::fs::write(path("file"), "")?;
    let _live = Listener::unix(path("live.sock"), Framing::Newline).await?;
    for (name, problem) in [
        ("file", "the file already exists, and is not a socket"),
        ("live.sock", "another listener is using this socket"),
        ("missing/a.sock", "No such file or directory (os error 2)"),
        (&"x".repeat(200), "the path of a socket must have at most 10"),
    ] {
        let socket = path(name);
        for arguments in [
            &["inspect", "--listen-records", &socket][..],
            &["tap", "--listen", &socket, "--to", "127.0.0.1:1"],
            &["serve", "--unix", &socket, "--", "cat"],
        ] {
            let mut command = portway(arguments);
            let output = timeout(TEST_TIMEOUT, command.env("PORTWAY_INSPECTOR_PAGE", page.path()).output()).await??;
            let stderr = String::from_utf8(output.stderr)?;
            assert_eq!(output.status.code(), Some(3), "{arguments:?}: {stderr}");
            let start = format!("portway: cannot listen on {socket}: ");
            assert!(stderr.starts_with(&start) && stderr.contains(problem), "{arguments:?}: {stderr}");
        }
    }
    Ok(())
}
