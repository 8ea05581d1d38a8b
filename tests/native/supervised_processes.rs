//! Supervised processes: reports of their starts, and panics in functions of the application.

use std::error::Error;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portway::{
    CallError, Client, Closed, Context, Diagnostic, Framing, Listener, Process, RpcError, Server, Transport,
};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::program_trees::{Shape, Tree};
use crate::wire::TEST_TIMEOUT;

type Test = Result<(), Box<dyn Error>>;

/// Returns a process that answers one call with the number of its starts, and then exits. A file in `folder` stores
/// this number.
fn process_with_start_count(folder: &TempDir) -> Process {
    let script = format!(
        "echo x >> '{0}'; echo started >&2; read line; printf '{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":%d}}\\n' $(wc -l < '{0}')",
        folder.path().join("count").display()
    );
    Process::new("sh", ["-c", &script], Framing::Newline)
}

async fn count(client: &Client) -> Result<Result<u32, CallError>, Box<dyn Error>> {
    Ok(timeout(TEST_TIMEOUT, client.call::<u32>("count", &()).timeout(None)).await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_of_a_new_process_is_available_during_the_set_up() -> Test {
    let folder = tempfile::tempdir()?;
    let (sender, mut starts) = mpsc::unbounded_channel();
    let process = process_with_start_count(&folder).on_exit(|_, starts| (starts < 3).then_some(Duration::ZERO)).start(
        move |_| {
            let _ = sender.send(());
            // This pause blocks one worker. On the other worker, the test calls the new process.
            std::thread::sleep(Duration::from_millis(100));
        },
    )?;
    for number in 1..=3 {
        timeout(TEST_TIMEOUT, starts.recv()).await?;
        assert_eq!(count(&process.client()).await?, Ok(number));
    }
    Ok(())
}

#[tokio::test]
async fn ready_returns_a_client_whose_calls_work() -> Test {
    let folder = tempfile::tempdir()?;
    let process = process_with_start_count(&folder)
        .on_exit(|_, starts| (starts < 5).then_some(Duration::from_millis(20)))
        .start(|_| {})?;
    for number in 1..=5 {
        let client = timeout(TEST_TIMEOUT, process.ready()).await??;
        assert_eq!(count(&client).await?, Ok(number));
        // After the exit of the process, `ready` must not return this client.
        while client.notify("tick", &()).is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    assert!(matches!(timeout(TEST_TIMEOUT, process.ready()).await?, Err(Closed::Exited(_) | Closed::Io(..))));
    Ok(())
}

#[tokio::test]
async fn each_start_is_reported_with_its_client() -> Test {
    let folder = tempfile::tempdir()?;
    let (sender, mut starts) = mpsc::unbounded_channel();
    let _process = process_with_start_count(&folder)
        .on_exit(|_, starts| (starts < 3).then_some(Duration::ZERO))
        .on_start(move |client, starts| {
            let _ = sender.send((client.clone(), starts));
        })
        .start(|_| {})?;
    for number in 1..=3 {
        let (client, starts) = timeout(TEST_TIMEOUT, starts.recv()).await?.ok_or("a start must be reported")?;
        assert_eq!((starts, count(&client).await?), (number, Ok(number)));
    }
    Ok(())
}

#[tokio::test]
async fn a_process_that_is_shut_down_leaves_no_process_behind_and_is_not_started_again() -> Test {
    let tree = Tree::new(Shape::ForksAgain, true)?;
    let words = tree.command();
    let (sender, mut starts) = mpsc::unbounded_channel();
    let process = Process::new(&words[0], &words[1..], Framing::Newline)
        .with(|transport| transport.with_grace(Duration::from_millis(100)))
        .on_exit(|_, _| Some(Duration::ZERO))
        .on_start(move |_, starts| {
            let _ = sender.send(starts);
        })
        .start(|_| {})?;
    let call = process.client().call::<bool>("start", &()).timeout(None);
    assert_eq!(timeout(TEST_TIMEOUT, call).await?, Ok(true));
    assert_eq!(timeout(TEST_TIMEOUT, process.shutdown()).await?, Closed::Local);
    assert_eq!(tree.processes_after(Duration::ZERO), [""; 0]);
    assert!(tree.has_saved());
    assert_eq!(starts.recv().await, Some(1));
    assert_eq!(timeout(TEST_TIMEOUT, starts.recv()).await?, None);

    // If the process has exited before, `shutdown` returns its exit status.
    let process = Process::new("sh", ["-c", "exit 3"], Framing::Newline).start(|_| {})?;
    timeout(TEST_TIMEOUT, process.ended()).await?;
    let Closed::Exited(status) = timeout(TEST_TIMEOUT, process.shutdown()).await? else {
        return Err("the link must end with an exit status".into());
    };
    assert_eq!(status.code(), Some(3));
    Ok(())
}

fn panics() -> ! {
    std::panic::resume_unwind(Box::new("as the test wants it"))
}

/// The names of the functions that have panicked.
type Names = Arc<Mutex<Vec<String>>>;

/// Returns the transport. Whenever a function panics, the transport adds the name of this function to `names`.
fn reporting(transport: Transport, names: &Names) -> Transport {
    let names = Arc::clone(names);
    transport.on_diagnostic(move |diagnostic| {
        if let Diagnostic::Panicked { method, message } = diagnostic {
            assert_eq!(message, "as the test wants it");
            names.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(method.to_owned());
        }
    })
}

fn names(names: &Names) -> Vec<String> {
    names.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
}

#[tokio::test]
async fn a_panic_in_a_function_for_a_supervised_process_is_reported() -> Test {
    let folder = tempfile::tempdir()?;
    let panicked = Names::default();
    let reported = Arc::clone(&panicked);
    let (lines_sender, mut lines) = mpsc::unbounded_channel();
    let (exits_sender, mut exits) = mpsc::unbounded_channel();
    let set_up_count = Mutex::new(0);
    let process = process_with_start_count(&folder)
        .with(move |transport| reporting(transport, &reported))
        .on_stderr(move |line| {
            let _ = lines_sender.send(line.to_owned());
            panics();
        })
        .on_start(|_, _| panics())
        .on_exit(move |why, starts| {
            let _ = exits_sender.send((why.clone(), starts));
            if starts < 3 { Some(Duration::ZERO) } else { panics() }
        })
        .start(move |_| {
            let mut number = set_up_count.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *number += 1;
            // The set-up of the second start panics.
            if *number == 2 {
                drop(number);
                panics();
            }
        })?;
    assert_eq!(timeout(TEST_TIMEOUT, lines.recv()).await?.as_deref(), Some("started"));
    assert_eq!(count(&timeout(TEST_TIMEOUT, process.ready()).await??).await?, Ok(1));
    assert_eq!(timeout(TEST_TIMEOUT, exits.recv()).await?.map(|(_, starts)| starts), Some(1));
    let (why, starts) = timeout(TEST_TIMEOUT, exits.recv()).await?.ok_or("an exit must be reported")?;
    assert_eq!(starts, 2);
    assert!(matches!(&why, Closed::Io(io::ErrorKind::Other, text) if text.contains("set_up")), "{why}");
    let client = timeout(TEST_TIMEOUT, process.ready()).await??;
    assert!(count(&client).await?.is_ok_and(|count| count <= 3));
    assert!(matches!(timeout(TEST_TIMEOUT, process.ended()).await?, Closed::Exited(_)));
    let found = names(&panicked);
    for name in ["on_stderr", "on_start", "set_up", "on_exit"] {
        assert!(found.iter().any(|found| found == name), "{name}: {found:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_panic_in_the_function_for_diagnostics_does_not_end_the_link() -> Test {
    let (here, there) = Transport::pair()?;
    let received = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&received);
    let server = Server::new(there.on_diagnostic(move |diagnostic| {
        reported.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(format!("{diagnostic:?}"));
        panics();
    }));
    server.method("ok", |(): (), _: Context| async { Ok::<_, RpcError>(1) });
    server.forget();
    let client = Client::new(here.on_diagnostic(|_| panics()));
    client.notify("unknown", &())?;
    for _ in 0..3 {
        assert_eq!(timeout(TEST_TIMEOUT, client.call::<u32>("ok", &())).await?, Ok(1));
    }
    let received = received.lock().unwrap_or_else(std::sync::PoisonError::into_inner).join("\n");
    assert!(received.contains("UnknownNotification"), "{received}");
    assert!(received.contains("Panicked { method: \"on_diagnostic\""), "{received}");
    Ok(())
}

#[tokio::test]
async fn a_panic_in_a_function_for_one_connection_ends_only_this_connection() -> Test {
    for in_set_up in [true, false] {
        let panicked = Names::default();
        let reported = Arc::clone(&panicked);
        let connections = Mutex::new(0);
        let panic_at_first_call = move || {
            let mut number = connections.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *number += 1;
            let is_first = *number == 1;
            drop(number);
            if is_first {
                panics();
            }
        };
        let panic_at_first_call = Arc::new(panic_at_first_call);
        let panic_in_with = Arc::clone(&panic_at_first_call);
        let listener = Listener::tcp("127.0.0.1:0", Framing::ContentLength).await?.with(move |transport| {
            if !in_set_up {
                panic_in_with();
            }
            reporting(transport, &reported)
        });
        let address = listener.address().ok_or("the listener must have an address")?;
        tokio::spawn(listener.serve(move |peer| {
            if in_set_up {
                panic_at_first_call();
            }
            peer.method("ok", |(): (), _: Context| async { Ok::<_, RpcError>(1) });
        }));
        let first = Client::new(Transport::tcp(address, Framing::ContentLength).await?);
        timeout(TEST_TIMEOUT, first.closed()).await?;
        let second = Client::new(Transport::tcp(address, Framing::ContentLength).await?);
        assert_eq!(timeout(TEST_TIMEOUT, second.call::<u32>("ok", &())).await?, Ok(1));
        assert_eq!(names(&panicked), if in_set_up { vec!["set_up"] } else { vec![] });
    }
    Ok(())
}
