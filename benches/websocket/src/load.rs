//! Measures the rate of many small requests, over one or more connections with one thread.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Builder;

use crate::frames::{Counter, connect, echo, push_masked};
use crate::worker;

const CHUNK_BYTES: usize = 64 * 1024;

/// Answers commands. A command consists of a port, the number of requests, the number of connections, the maximum
/// number of pending requests of each connection, and a text that each response contains.
pub(crate) fn run() -> Result<()> {
    let mut plan = Plan::new(0);
    worker::run(|words| {
        let [port, count, connections, depth, expected] = words else {
            bail!("the command must be PORT COUNT CONNECTIONS DEPTH EXPECTED, got {words:?}")
        };
        let (port, count, depth) = (port.parse()?, count.parse()?, depth.parse()?);
        if plan.ends.len() != count {
            plan = Plan::new(count);
        }
        let connections: usize = connections.parse()?;
        let per_connection = count / connections;
        let mut exchanges = Vec::new();
        for number in 0..connections {
            let exchange = Exchange::new(&plan, number * per_connection, per_connection, depth, expected);
            exchanges.push((connect(port)?, exchange));
        }
        let start = Instant::now();
        if let [(stream, exchange)] = exchanges.as_mut_slice() {
            exchange.run_blocking(stream)?;
        } else {
            run_all(exchanges)?;
        }
        Ok(json!({ "rps": (per_connection * connections) as f64 / start.elapsed().as_secs_f64() }))
    })
}

/// The frames of all requests.
struct Plan {
    frames: Vec<u8>,
    /// The position of the end of each frame in `frames`.
    ends: Vec<usize>,
}

impl Plan {
    fn new(count: usize) -> Self {
        let mut plan = Self { frames: Vec::new(), ends: Vec::with_capacity(count) };
        for id in 1..=count {
            push_masked(&mut plan.frames, &echo(id));
            plan.ends.push(plan.frames.len());
        }
        plan
    }

    /// Returns the bytes of the frames with the indexes `first..end`.
    fn between(&self, first: usize, end: usize) -> &[u8] {
        let start_of = |index: usize| index.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0);
        self.frames.get(start_of(first)..start_of(end)).unwrap_or_default()
    }
}

/// The requests of one connection: `count` requests from the index `first`, of which `sent` are sent. At most `depth`
/// requests are pending at a time.
struct Exchange<'a> {
    plan: &'a Plan,
    first: usize,
    count: usize,
    depth: usize,
    sent: usize,
    answers: Counter,
}

impl<'a> Exchange<'a> {
    fn new(plan: &'a Plan, first: usize, count: usize, depth: usize, expected: &str) -> Self {
        Self { plan, first, count, depth, sent: 0, answers: Counter::of_each(expected) }
    }

    /// Returns the frames of the requests that can be sent now.
    fn next(&mut self) -> &'a [u8] {
        let until = self.count.min(self.answers.count + self.depth);
        let from = core::mem::replace(&mut self.sent, until);
        self.plan.between(self.first + from, self.first + until)
    }

    const fn is_done(&self) -> bool {
        self.answers.count >= self.count
    }

    fn run_blocking(&mut self, stream: &mut TcpStream) -> Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        while !self.is_done() {
            stream.write_all(self.next())?;
            let length = stream.read(&mut chunk)?;
            self.answers.advance(chunk.get(..length).unwrap_or_default())?;
        }
        Ok(())
    }

    async fn run(mut self, mut stream: tokio::net::TcpStream) -> Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        while !self.is_done() {
            stream.write_all(self.next()).await?;
            let length = stream.read(&mut chunk).await?;
            self.answers.advance(chunk.get(..length).unwrap_or_default())?;
        }
        Ok(())
    }
}

fn run_all(exchanges: Vec<(TcpStream, Exchange<'_>)>) -> Result<()> {
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let mut running = Vec::new();
        for (stream, exchange) in exchanges {
            stream.set_nonblocking(true)?;
            running.push(exchange.run(tokio::net::TcpStream::from_std(stream)?));
        }
        futures_util::future::try_join_all(running).await?;
        Ok(())
    })
}
