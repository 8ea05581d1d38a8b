//! Peers that are processes of their own: stopped by SIGSTOP, or killed.

use std::env;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use portway::{CallError, Client, Closed, Listener, Peer, Transport};
use rustix::process::{Pid, Signal, kill_process};

use crate::raw::{Test, methods, within};

const URL: &str = "PORTWAY_TEST_URL";

/// A process of this program, with another test of it. It is killed when it is dropped.
pub(crate) struct Process(Child);

impl Process {
    /// Starts a process that runs `test` with these variables of the environment.
    pub(crate) fn start(test: &str, variables: &[(&str, &OsStr)]) -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.args(["--exact", test, "--ignored", "--nocapture"]).stdout(Stdio::piped());
        command.envs(variables.iter().copied());
        command.spawn().map(Self)
    }

    /// Returns the line that begins with `word`, without the word.
    pub(crate) fn line(&mut self, word: &str) -> io::Result<String> {
        let stdout = self.0.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        for line in BufReader::new(stdout).lines() {
            // The runner of the tests writes to the same line.
            if let Some((_, rest)) = line?.split_once(word) {
                return Ok(rest.to_owned());
            }
        }
        Err(io::Error::other("the process has ended"))
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let process = Pid::from_raw(self.0.id() as i32).ok_or_else(|| io::Error::other("no process"))?;
        Ok(kill_process(process, signal)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_is_noticed_by_its_client() -> Test {
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
async fn a_stopped_client_is_noticed_by_its_server_and_a_killed_one_at_once() -> Test {
    let listener = Listener::websocket("127.0.0.1:0").await?;
    let url = format!("ws://{}", listener.address().ok_or("no address")?);
    for (signal, range) in [(Signal::KILL, 0..10), (Signal::STOP, 38..50)] {
        let client = Process::start("processes::call_process", &[(URL, url.as_ref())])?;
        let peer = Peer::new(within(listener.accept()).await??);
        methods(&peer);
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
#[ignore = "runs as a process of the other tests"]
async fn serve_process() -> Test {
    let listener = Listener::websocket("127.0.0.1:0").await?;
    println!("LISTENS {}", listener.address().ok_or("no address")?);
    listener.serve(methods).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "runs as a process of the other tests"]
async fn call_process() -> Test {
    let peer = Peer::new(Transport::websocket(&env::var(URL)?).await?);
    peer.method_sync("hello", |(): (), _: portway::Context| Ok::<_, portway::RpcError>("here"));
    peer.run().await;
    Ok(())
}
