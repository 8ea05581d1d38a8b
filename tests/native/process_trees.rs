//! Child processes that start other processes. After the end of the link, none of these processes may run.

use std::error::Error;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use portway::{Client, Closed, Framing, Process, Transport};
use tokio::process::Command;
use tokio::time::timeout;

use crate::program_trees::{SHAPES, Shape, Tree};
use crate::wire::TEST_TIMEOUT;

type Test = Result<(), Box<dyn Error>>;

const GRACE: Duration = Duration::from_millis(200);

/// Maximum time for the end of a link. By the documentation, the end takes at most 700 ms: [`GRACE`], and half a second
/// until `SIGKILL`. A busy machine may need more time.
const LIMIT: Duration = Duration::from_secs(10);

fn command(tree: &Tree) -> Command {
    let words = tree.command();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

fn client(tree: &Tree) -> io::Result<Client> {
    Ok(Client::new(Transport::child(&mut command(tree), Framing::Newline)?.with_grace(GRACE)))
}

/// Starts the program of `tree`, and waits until its server runs. Returns a client that is connected to the program.
async fn started(tree: &Tree) -> Result<Client, Box<dyn Error>> {
    let client = client(tree)?;
    let call = client.call::<bool>("start", &()).timeout(None);
    assert_eq!(timeout(LIMIT * 6, call).await?, Ok(true));
    tree.wait()?;
    Ok(client)
}

#[tokio::test]
async fn a_server_behind_a_wrapper_gets_sigterm_and_ends_with_the_link() -> Test {
    for shape in SHAPES {
        let tree = Tree::new(shape, true)?;
        let client = started(&tree).await?;
        client.destroy();
        timeout(LIMIT, client.closed()).await?;
        assert_eq!(tree.processes_after(Duration::ZERO), [""; 0], "{shape:?}");
        assert!(tree.has_saved(), "{shape:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_process_that_ignores_sigterm_is_killed_after_the_grace() -> Test {
    for shape in SHAPES {
        let tree = Tree::new(shape, false)?;
        let client = started(&tree).await?;
        let start = Instant::now();
        client.destroy();
        timeout(LIMIT, client.closed()).await?;
        assert!(start.elapsed() >= GRACE, "{shape:?}");
        assert_eq!(tree.processes_after(LIMIT), [""; 0], "{shape:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_is_dropped_leaves_no_process_behind() -> Test {
    for shape in [Shape::Shell, Shape::ForksAgain, Shape::OtherGroupAndAlone] {
        let tree = Tree::new(shape, true)?;
        drop(started(&tree).await?);
        assert_eq!(tree.processes_after(LIMIT), [""; 0], "{shape:?}");
        assert!(tree.has_saved(), "{shape:?}");
    }
    Ok(())
}

#[test]
fn a_runtime_that_ends_or_an_owner_that_panics_leaves_no_process_behind() -> Test {
    for panics in [false, true] {
        for shape in [Shape::Shell, Shape::ForksAgain, Shape::OtherGroup] {
            let tree = Tree::new(shape, false)?;
            let owner = || -> Test {
                let runtime = tokio::runtime::Runtime::new()?;
                let client = runtime.block_on(started(&tree))?;
                if panics {
                    std::panic::resume_unwind(Box::new("as the test wants it"));
                }
                std::mem::forget(client);
                Ok(())
            };
            match catch_unwind(AssertUnwindSafe(owner)) {
                Ok(outcome) => outcome?,
                Err(_) => assert!(panics, "{shape:?}"),
            }
            assert_eq!(tree.processes_after(LIMIT), [""; 0], "{shape:?}, {panics}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_supervised_process_leaves_no_process_behind() -> Test {
    for shape in [Shape::Shell, Shape::ForksAgain, Shape::OtherGroup] {
        let tree = Tree::new(shape, true)?;
        let process = Process::from_command(command(&tree), Framing::Newline)
            .with(|transport| transport.with_grace(GRACE))
            .start(|_| {})?;
        let call = process.client().call::<bool>("start", &()).timeout(None);
        assert_eq!(timeout(LIMIT * 6, call).await?, Ok(true));
        drop(process);
        assert_eq!(tree.processes_after(LIMIT), [""; 0], "{shape:?}");
        assert!(tree.has_saved(), "{shape:?}");
    }
    Ok(())
}

#[tokio::test]
async fn after_a_process_was_killed_its_descendants_are_ended_without_a_grace() -> Test {
    for handles_term in [true, false] {
        let tree = Tree::new(Shape::ForksAgain, handles_term)?;
        let mut words = tree.command();
        words[2] = words[2].replace("cat >/dev/null", "kill -9 $$");
        let mut command = Command::new(&words[0]);
        let transport = Transport::child(command.args(&words[1..]), Framing::Newline)?;
        let client = Client::new(transport.with_grace(TEST_TIMEOUT * 3));
        assert_eq!(timeout(LIMIT, client.call::<bool>("start", &())).await?, Ok(true));
        assert!(matches!(timeout(LIMIT, client.closed()).await?, Closed::Exited(_)));
        assert_eq!(tree.processes_after(LIMIT), [""; 0]);
        assert_eq!(tree.has_saved(), handles_term);
    }
    Ok(())
}

#[tokio::test]
async fn a_suspended_process_ends_with_the_link() -> Test {
    let tree = Tree::new(Shape::Shell, true)?;
    let client = started(&tree).await?;
    assert!(Command::new("kill").args(["-STOP", &tree.wait()?.to_string()]).status().await?.success());
    client.destroy();
    timeout(LIMIT, client.closed()).await?;
    assert_eq!(tree.processes_after(Duration::ZERO), [""; 0]);
    assert!(tree.has_saved());
    Ok(())
}

#[tokio::test]
async fn a_process_that_the_application_has_started_ends_with_the_link() -> Test {
    let tree = Tree::new(Shape::ForksAgain, true)?;
    let mut command = command(&tree);
    let pipes = command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = pipes.process_group(0).spawn()?;
    let (reader, writer) = (
        child.stdout.take().ok_or("the output must be a pipe")?,
        child.stdin.take().ok_or("the input must be a pipe")?,
    );
    let transport = Transport::new(reader, writer, Framing::Newline)?.with_child(child, GRACE);
    let client = Client::new(transport);
    assert_eq!(timeout(LIMIT, client.call::<bool>("start", &())).await?, Ok(true));
    client.destroy();
    timeout(LIMIT, client.closed()).await?;
    assert_eq!(tree.processes_after(Duration::ZERO), [""; 0]);
    assert!(tree.has_saved());
    Ok(())
}

/// Returns the number of read calls of this thread.
#[cfg(target_os = "linux")]
fn reads() -> Result<usize, Box<dyn Error>> {
    let counts = std::fs::read_to_string("/proc/thread-self/io")?;
    let count = counts.lines().find_map(|line| line.strip_prefix("syscr: ")).ok_or("no count")?;
    Ok(count.parse()?)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn while_a_process_still_runs_the_link_lists_all_processes_only_at_intervals() -> Test {
    let grace = Duration::from_secs(3);
    for leftover in ["sh", "setsid sh"] {
        let mut command = Command::new("sh");
        // The leftover process answers the call. So it has changed its group before the answer arrives.
        let script = format!(
            r#"read line; {leftover} -c 'echo "$1"; exec sleep 77' sh '{{"jsonrpc":"2.0","id":1,"result":1}}' & cat >/dev/null"#
        );
        let transport = Transport::child(command.args(["-c", &script]), Framing::Newline)?.with_grace(grace);
        let client = Client::new(transport);
        assert_eq!(timeout(LIMIT, client.call::<u32>("start", &())).await?, Ok(1));
        let processes = std::fs::read_dir("/proc")?.count();
        let (start, before) = (Instant::now(), reads()?);
        client.destroy();
        timeout(LIMIT, client.closed()).await?;
        assert!(start.elapsed() >= grace, "{leftover}: the leftover process must delay the end of the link");
        // The intervals grow from 20 ms to 250 ms. So the link lists the processes at most 20 times during the grace of
        // 3 s, and not 150 times. A list takes one or two read calls for each process.
        let (read_calls, max_calls) = (reads()? - before, 2 * 20 * processes + 1_000);
        assert!(read_calls <= max_calls, "{leftover}: {read_calls} read calls for {processes} processes");
    }
    Ok(())
}
