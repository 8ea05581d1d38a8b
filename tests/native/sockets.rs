//! Unix domain sockets and TCP, with real connections.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::future::poll_fn;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use portway::{CallError, Client, Context, Framing, Listener, Peer, RpcError, Transport};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use crate::wire::TEST_TIMEOUT;

type Test = Result<(), Box<dyn Error>>;

fn serve_add(peer: &Peer) {
    peer.method("add", |(a, b): (i64, i64), _: Context| async move { Ok::<_, RpcError>(a + b) });
}

#[tokio::test]
async fn a_service_is_reached_through_a_unix_socket_and_through_tcp() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("sums.sock");
    let unix = Listener::unix(&path, Framing::ContentLength).await?;
    let tcp = Listener::tcp("127.0.0.1:0", Framing::Newline).await?;
    let address = tcp.address().ok_or("the listener must have an address")?;
    assert_eq!(unix.address(), None);
    let unix = tokio::spawn(unix.serve(serve_add));
    let tcp = tokio::spawn(tcp.serve(serve_add));
    let client = Client::new(Transport::unix(&path, Framing::ContentLength).await?);
    assert_eq!(client.call::<i64>("add", &(1, 2)).await, Ok(3));
    let client = Client::new(Transport::tcp(address, Framing::Newline).await?);
    assert_eq!(client.call::<i64>("add", &(3, 4)).await, Ok(7));
    unix.abort();
    tcp.abort();
    Ok(())
}

#[tokio::test]
async fn requests_of_a_browser_on_a_tcp_port_are_refused() -> Test {
    const REQUEST: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\",\"params\":[1,2]}";
    let header = format!("Host: 127.0.0.1\r\nContent-Length: {}\r\n\r\n", REQUEST.len());
    let wipc = [&b"WIPC\x02"[..], &(REQUEST.len() as u32).to_le_bytes(), REQUEST.as_bytes()].concat();
    let framed = |framing| match framing {
        Framing::ContentLength => format!("Content-Length: {}\r\n\r\n{REQUEST}", REQUEST.len()).into_bytes(),
        Framing::Newline => format!("{REQUEST}\n").into_bytes(),
        Framing::Wipc => wipc.clone(),
    };
    for framing in [Framing::ContentLength, Framing::Newline, Framing::Wipc] {
        let calls = Arc::new(AtomicUsize::new(0));
        let called = Arc::clone(&calls);
        let listener = Listener::tcp("127.0.0.1:0", framing).await?;
        let address = listener.address().ok_or("the listener must have an address")?;
        let serving = tokio::spawn(listener.serve(move |peer| {
            let called = Arc::clone(&called);
            peer.method("add", move |(a, b): (i64, i64), _: Context| {
                called.fetch_add(1, Ordering::Relaxed);
                async move { Ok::<_, RpcError>(a + b) }
            });
        }));
        // The first write has 1 byte, 5 bytes, or all bytes.
        for first_length in [1, 5, 1_000] {
            for start in ["POST / HTTP/1.1\r\n", "GET / HTTP/1.1\r\n", "OPTIONS * HTTP/1.1\r\n", "\u{16}\u{3}\u{1}\r\n"]
            {
                let body =
                    if framing == Framing::ContentLength { REQUEST.as_bytes().to_vec() } else { framed(framing) };
                let sent = [start.as_bytes(), header.as_bytes(), &body, &framed(framing)].concat();
                let mut stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                let (first, second) = sent.split_at(first_length.min(sent.len()));
                for piece in [first, second] {
                    // The server may have closed the connection already.
                    let _ = stream.write_all(piece).await;
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                let mut answers = Vec::new();
                // The read fails if the server closed the connection before it had read all bytes.
                let _ = timeout(TEST_TIMEOUT, stream.read_to_end(&mut answers)).await?;
                assert!(!String::from_utf8_lossy(&answers).contains("result"), "{framing}, {start}");
            }
        }
        assert_eq!(calls.load(Ordering::Relaxed), 0, "{framing}");
        let client = Client::new(Transport::tcp(address, framing).await?);
        assert_eq!(client.call::<i64>("add", &(3, 4)).await, Ok(7));
        serving.abort();
    }
    Ok(())
}

#[tokio::test]
async fn connecting_to_a_missing_socket_fails() {
    let path = std::env::temp_dir().join("portway-no-listener.sock");
    let missing = Transport::unix(&path, Framing::ContentLength).await;
    assert_eq!(missing.err().map(|error| error.kind()), Some(io::ErrorKind::NotFound));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_empty_name_in_the_abstract_namespace_is_refused() -> Test {
    // For an empty name, Linux would choose a random name.
    let error = Listener::unix("@", Framing::Newline).await.err().ok_or("the listener must fail")?;
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "@: the name is empty");
    let error = Transport::unix("@", Framing::Newline).await.err().ok_or("the connection must fail")?;
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    Ok(())
}

#[tokio::test]
async fn only_a_socket_without_a_listener_is_replaced() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    let listener = Listener::unix(&path, Framing::ContentLength).await?;
    assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
    let error = Listener::unix(&path, Framing::ContentLength).await.err().ok_or("the second listener must fail")?;
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    assert!(error.to_string().contains("another listener is using"), "{error}");
    drop(listener);
    assert!(!path.exists(), "the file must be removed with the listener");

    // A killed process leaves its socket file behind. This line creates such a file.
    drop(std::os::unix::net::UnixListener::bind(&path)?);
    assert!(path.exists());
    let listener = Listener::unix(&path, Framing::ContentLength).await?;
    // A listener does not remove a file that has replaced its own file.
    fs::remove_file(&path)?;
    fs::write(&path, "precious")?;
    drop(listener);
    assert_eq!(fs::read_to_string(&path)?, "precious");
    let error = Listener::unix(&path, Framing::ContentLength).await.err().ok_or("a file must not be replaced")?;
    assert!(error.to_string().contains("is not a socket"), "{error}");
    assert_eq!(fs::read_to_string(&path)?, "precious");
    Ok(())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_socket_file_has_the_mode_600_from_the_start_with_any_umask() -> Test {
    use rustix::fs::Mode;

    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    let is_over = Arc::new(AtomicBool::new(false));
    let watcher = std::thread::spawn({
        let (path, is_over) = (path.clone(), Arc::clone(&is_over));
        move || {
            let mut seen = BTreeSet::new();
            while !is_over.load(Ordering::Relaxed) {
                seen.extend(fs::symlink_metadata(&path).map(|file| file.permissions().mode() & 0o777));
            }
            seen
        }
    });
    // The umask of the process also applies to other tests, which do not depend on the mode of their files.
    let previous_umask = rustix::process::umask(Mode::empty());
    for umask in [0o000, 0o022] {
        rustix::process::umask(Mode::from_raw_mode(umask));
        for _ in 0..300 {
            drop(Listener::unix(&path, Framing::ContentLength).await?);
        }
    }
    rustix::process::umask(previous_umask);
    is_over.store(true, Ordering::Relaxed);
    let seen = watcher.join().map_err(|_| "the watcher has failed")?;
    assert_eq!(seen, BTreeSet::from([0o600]));
    Ok(())
}

/// The library must not set the mode of its new socket by the path. Another file may have replaced the socket there.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_that_replaces_a_new_socket_keeps_its_mode() -> Test {
    let folder = tempfile::tempdir()?;
    let [path, precious, link] = ["a.sock", "precious", "link"].map(|name| folder.path().join(name));
    fs::write(&precious, "precious")?;
    fs::set_permissions(&precious, fs::Permissions::from_mode(0o644))?;
    let (is_over, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let attacker = std::thread::spawn({
        let (path, precious, is_over, swaps) =
            (path.clone(), precious.clone(), Arc::clone(&is_over), Arc::clone(&swaps));
        move || {
            while !is_over.load(Ordering::Relaxed) {
                if fs::symlink_metadata(&path).is_ok_and(|file| !file.is_symlink()) {
                    let _ = symlink(&precious, &link);
                    swaps.fetch_add(usize::from(fs::rename(&link, &path).is_ok()), Ordering::Relaxed);
                }
            }
        }
    });
    for _ in 0..6_000 {
        drop(Listener::unix(&path, Framing::ContentLength).await);
        let _ = fs::remove_file(&path);
        assert_eq!(fs::metadata(&precious)?.permissions().mode() & 0o777, 0o644);
    }
    is_over.store(true, Ordering::Relaxed);
    attacker.join().map_err(|_| "the attacker has failed")?;
    assert_ne!(swaps.load(Ordering::Relaxed), 0, "the attacker must replace a socket at least once");
    Ok(())
}

/// A bound socket refuses connections until it listens. A socket file without a process also refuses connections. So
/// `Listener::unix` checks an existing socket twice, with a pause between the checks. Here, the socket listens before
/// the second check.
#[tokio::test(start_paused = true)]
async fn a_socket_that_is_bound_and_then_listens_is_not_replaced() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    bind(&socket, &SocketAddrUnix::new(&path)?)?;
    let inode = fs::symlink_metadata(&path)?.ino();
    let mut listening = pin!(Listener::unix(&path, Framing::ContentLength));
    let first_poll = poll_fn(|context| Poll::Ready(listening.as_mut().poll(context))).await;
    listen(&socket, 1)?;
    let outcome = match first_poll {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => listening.await,
    };
    assert_eq!(outcome.err().map(|error| error.kind()), Some(io::ErrorKind::AddrInUse));
    assert_eq!(fs::symlink_metadata(&path)?.ino(), inode, "the socket of another process must not be replaced");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn if_several_listeners_replace_a_socket_at_the_same_time_exactly_one_succeeds() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    for round in 0..30 {
        drop(std::os::unix::net::UnixListener::bind(&path)?);
        let racers: Vec<_> = (0..8)
            .map(|_| {
                let path = path.clone();
                tokio::spawn(async move { Listener::unix(path, Framing::ContentLength).await })
            })
            .collect();
        let mut listeners = Vec::new();
        for racer in racers {
            match racer.await? {
                Ok(listener) => listeners.push(listener),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "{error}"),
            }
        }
        assert_eq!(listeners.len(), 1, "round {round}");
        UnixStream::connect(&path).await.map_err(|error| format!("round {round}: {error}"))?;
        drop(listeners);
        assert_eq!(fs::read_dir(folder.path())?.count(), 0, "the folder must be empty");
    }
    Ok(())
}

#[tokio::test]
async fn a_listener_does_not_remove_a_newer_socket_of_the_same_name() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    for _ in 0..20 {
        let old = Listener::unix(&path, Framing::ContentLength).await?;
        fs::remove_file(&path)?;
        let new = Listener::unix(&path, Framing::ContentLength).await?;
        drop(old);
        UnixStream::connect(&path).await?;
        drop(new);
        assert!(!path.exists());
    }
    Ok(())
}

#[tokio::test]
async fn removing_a_socket_removes_no_other_file() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    // A simple implementation would choose one of these names for a temporary file.
    let others: Vec<_> =
        (0..2_000).map(|count| folder.path().join(format!("a.sock.{}.{count}", std::process::id()))).collect();
    for other in &others {
        fs::write(other, "precious")?;
    }
    drop(std::os::unix::net::UnixListener::bind(&path)?);
    drop(Listener::unix(&path, Framing::ContentLength).await?);
    assert!(!path.exists());
    for other in &others {
        assert_eq!(fs::read_to_string(other)?, "precious", "{}", other.display());
    }
    assert_eq!(fs::read_dir(folder.path())?.count(), others.len(), "all temporary files must be removed");
    Ok(())
}

#[tokio::test]
async fn a_socket_file_is_removed_even_if_its_folder_was_renamed() -> Test {
    let folder = tempfile::tempdir()?;
    let [mine, moved, theirs] = ["mine", "moved", "theirs"].map(|name| folder.path().join(name));
    fs::create_dir(&mine)?;
    fs::create_dir(&theirs)?;
    let socket = std::os::unix::net::UnixListener::bind(theirs.join("a.sock"))?;
    let listener = Listener::unix(mine.join("a.sock"), Framing::ContentLength).await?;
    fs::rename(&mine, &moved)?;
    fs::rename(&theirs, &mine)?;
    drop(listener);
    assert_eq!(fs::read_dir(&moved)?.count(), 0, "the file and the temporary folder must be removed");
    assert_eq!(fs::read_dir(&mine)?.count(), 1);
    UnixStream::connect(mine.join("a.sock")).await?;
    drop(socket);
    Ok(())
}

/// An attacker that can replace one folder in the path of a socket must not cause the removal of other files.
#[tokio::test]
async fn removing_a_socket_does_not_remove_files_in_other_folders() -> Test {
    let folder = tempfile::tempdir()?;
    let [mine, theirs, current, next] = ["mine", "theirs", "current", "next"].map(|name| folder.path().join(name));
    fs::create_dir(&mine)?;
    fs::create_dir(&theirs)?;
    fs::write(theirs.join("a.sock"), "precious")?;
    symlink(&mine, &current)?;
    let (is_over, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let attacker = std::thread::spawn({
        let (mine, theirs, current) = (mine.clone(), theirs.clone(), current.clone());
        let (is_over, swaps) = (Arc::clone(&is_over), Arc::clone(&swaps));
        move || {
            while !is_over.load(Ordering::Relaxed) {
                for target in [&theirs, &mine] {
                    let swapped = symlink(target, &next).and_then(|()| fs::rename(&next, &current));
                    swaps.fetch_add(usize::from(swapped.is_ok()), Ordering::Relaxed);
                }
            }
        }
    });
    let start = Instant::now();
    let mut listeners = 0;
    while start.elapsed() < Duration::from_secs(3) {
        // This call fails while the path leads to `theirs`, where a file has the name of the socket.
        if let Ok(listener) = Listener::unix(current.join("a.sock"), Framing::ContentLength).await {
            listeners += 1;
            drop(listener);
        }
        assert_eq!(fs::read_to_string(theirs.join("a.sock"))?, "precious", "after {listeners} listeners");
    }
    is_over.store(true, Ordering::Relaxed);
    attacker.join().map_err(|_| "the attacker has failed")?;
    let swaps = swaps.load(Ordering::Relaxed);
    assert!(listeners > 10 && swaps > 10, "{listeners} listeners, {swaps} swaps");
    assert_eq!(
        fs::read_dir(&mine)?.count() + fs::read_dir(&theirs)?.count(),
        1,
        "the temporary folder must be removed"
    );
    Ok(())
}

#[tokio::test]
async fn a_symbolic_link_to_a_socket_is_not_replaced() -> Test {
    let folder = tempfile::tempdir()?;
    let (path, link) = (folder.path().join("a.sock"), folder.path().join("link"));
    drop(std::os::unix::net::UnixListener::bind(&path)?);
    std::os::unix::fs::symlink(&path, &link)?;
    let error = Listener::unix(&link, Framing::ContentLength).await.err().ok_or("a link must not be replaced")?;
    assert!(error.to_string().contains("is not a socket"), "{error}");
    assert!(path.exists() && fs::symlink_metadata(&link)?.is_symlink());
    Ok(())
}

#[tokio::test]
async fn connections_that_stall_or_end_do_not_affect_other_connections() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    let connections = Arc::new(AtomicUsize::new(0));
    let listener = Listener::unix(&path, Framing::ContentLength).await?;
    let serving = tokio::spawn(listener.serve(move |peer| {
        let number = connections.fetch_add(1, Ordering::Relaxed);
        peer.method("number", move |(): (), _: Context| async move { Ok::<_, RpcError>(number) });
    }));
    // The first connection sends a part of a message, the second connection reads nothing, and the third is closed.
    let mut incomplete = UnixStream::connect(&path).await?;
    incomplete.write_all(b"Content-Length: 100\r\n\r\n{").await?;
    let mut not_reading = UnixStream::connect(&path).await?;
    for _ in 0..200 {
        let flood = b"Content-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"number\"}".repeat(100);
        if timeout(Duration::from_millis(20), not_reading.write_all(&flood)).await.is_err() {
            break;
        }
    }
    drop(UnixStream::connect(&path).await?);
    for _ in 0..10 {
        let client = Client::new(Transport::unix(&path, Framing::ContentLength).await?);
        let first = timeout(TEST_TIMEOUT, client.call::<usize>("number", &())).await??;
        assert_eq!(client.call::<usize>("number", &()).await, Ok(first));
    }
    serving.abort();
    Ok(())
}

#[tokio::test]
async fn dropping_a_peer_ends_the_calls_of_the_connected_client() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sock");
    let listener = Listener::unix(&path, Framing::ContentLength).await?;
    let accepted = tokio::spawn(async move { listener.accept().await });
    let client = Client::new(Transport::unix(&path, Framing::ContentLength).await?);
    let call = client.call::<()>("wait", &()).start();
    let peer = Peer::new(accepted.await??);
    drop(peer);
    assert!(matches!(timeout(TEST_TIMEOUT, call).await?, Err(CallError::PeerGone | CallError::Lost(_))));
    Ok(())
}

#[tokio::test]
async fn connecting_to_a_busy_socket_is_retried() -> Test {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("busy.sock");
    // The server does not accept connections yet, and its queue has less space than the four connections need.
    let listening_socket =
        rustix::net::socket(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::STREAM, None)?;
    rustix::net::bind(&listening_socket, &rustix::net::SocketAddrUnix::new(&path)?)?;
    rustix::net::listen(&listening_socket, 1)?;
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let path = path.clone();
            tokio::spawn(async move { Transport::unix(path, Framing::ContentLength).await.map(drop) })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(waiting.iter().any(|task| !task.is_finished()), "some connections must wait for the queue");
    let accepting =
        tokio::task::spawn_blocking(move || (0..4).try_for_each(|_| rustix::net::accept(&listening_socket).map(drop)));
    for task in waiting {
        timeout(TEST_TIMEOUT, task).await???;
    }
    timeout(TEST_TIMEOUT, accepting).await???;
    Ok(())
}
