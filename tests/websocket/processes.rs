//! Peers in other processes, which a test suspends with SIGSTOP or kills.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use portway::{CallError, Client, Closed, Listener, Peer, Transport};
use rustix::process::{Pid, Signal, kill_process};

use crate::raw::{Test, register_methods, within};

const URL: &str = "PORTWAY_TEST_URL";

/// A process that runs an ignored test of this program. Dropping the value kills the process.
pub(crate) struct Process(Child);

impl Process {
    /// Starts a process that runs `test` with these variables of the environment.
    pub(crate) fn start(test: &str, variables: &[(&str, &OsStr)]) -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.args(["--exact", test, "--ignored", "--nocapture"]).stdout(Stdio::piped());
        command.envs(variables.iter().copied());
        command.spawn().map(Self)
    }

    /// Waits for a line that contains `word`. Returns the rest of the line after `word`. May be called once, since it
    /// closes the output of the process.
    pub(crate) fn line(&mut self, word: &str) -> io::Result<String> {
        let stdout = self.0.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        for line in BufReader::new(stdout).lines() {
            // libtest writes other text to the beginning of the same line.
            if let Some((_, rest)) = line?.split_once(word) {
                return Ok(rest.to_owned());
            }
        }
        Err(io::Error::other("the process has ended"))
    }

    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        let process = Pid::from_raw(self.0.id() as i32).ok_or_else(|| io::Error::other("no process"))?;
        kill_process(process, signal)?;
        // A thread may run for a moment after the signal was sent. In this moment, it could answer a request.
        while signal == Signal::STOP && !self.is_stopped()? {
            sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Returns whether all threads of the process have the state `T` in /proc (proc(5)).
    fn is_stopped(&self) -> io::Result<bool> {
        for thread in fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            if !fs::read_to_string(thread?.path().join("stat"))?.contains(") T ") {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_notices_a_suspended_server_process() -> Test {
    let mut server = Process::start("processes::serve_process", &[])?;
    let address = server.line("LISTENS ")?;
    let client = Client::new(Transport::websocket(&format!("ws://{address}")).await?);
    assert_eq!(client.call::<(u8,)>("echo", &(1,)).await?, (1,));
    server.signal(Signal::STOP)?;
    let start = Instant::now();
    let error = within(client.call::<()>("echo", &()).timeout(Duration::from_secs(300)).into_future()).await?;
    assert!(matches!(error, Err(CallError::Lost(Closed::Io(io::ErrorKind::TimedOut, _)))), "{error:?}");
    assert!((38..50).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_notices_a_suspended_client_process_later_and_a_killed_one_at_once() -> Test {
    let listener = Listener::websocket("127.0.0.1:0").await?;
    let url = format!("ws://{}", listener.address().ok_or("the listener must have an address")?);
    for (signal, range) in [(Signal::KILL, 0..10), (Signal::STOP, 38..50)] {
        let client = Process::start("processes::call_process", &[(URL, url.as_ref())])?;
        let peer = Peer::new(within(listener.accept()).await??);
        register_methods(&peer);
        let server = peer.client().clone();
        let running = tokio::spawn(peer.run());
        assert_eq!(server.call::<String>("hello", &()).await?, "here");
        client.signal(signal)?;
        let start = Instant::now();
        within(running).await??;
        assert!(range.contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the tests above run it in a separate process"]
async fn serve_process() -> Test {
    let listener = Listener::websocket("127.0.0.1:0").await?;
    println!("LISTENS {}", listener.address().ok_or("the listener must have an address")?);
    listener.serve(register_methods).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the tests above run it in a separate process"]
async fn call_process() -> Test {
    let peer = Peer::new(Transport::websocket(&env::var(URL)?).await?);
    peer.method_sync("hello", |(): (), _: portway::Context| Ok::<_, portway::RpcError>("here"));
    peer.run().await;
    Ok(())
}
