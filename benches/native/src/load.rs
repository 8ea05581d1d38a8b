//! Measures the rate of many small requests over one connection.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use memchr::memchr;
use memchr::memmem::Finder;
use serde_json::json;

use crate::worker;

/// Answers commands. A command consists of the socket of a server, the number of requests, and the maximum number of
/// pending requests. `run` makes all of these requests.
pub(crate) fn measure(run: impl Fn(&Path, usize, usize) -> Result<()>) -> Result<()> {
    worker::run(|words| {
        let [socket, count, depth] = words else { bail!("the command must be SOCKET COUNT DEPTH, got {words:?}") };
        let count: usize = count.parse()?;
        let start = Instant::now();
        run(Path::new(socket), count, depth.parse()?)?;
        Ok(json!({ "rps": count as f64 / start.elapsed().as_secs_f64() }))
    })
}

/// Answers commands. A command consists of the socket of a server and the number of requests, of which only one is
/// pending at a time. The answer is the median time of a request.
pub(crate) fn measure_round_trips() -> Result<()> {
    worker::run(|words| {
        let [socket, count] = words else { bail!("the command must be SOCKET COUNT, got {words:?}") };
        let mut connection = UnixStream::connect(socket)?;
        let mut answers = Answers::default();
        let mut micros = Vec::new();
        for id in 1..=count.parse()? {
            let request = request(id);
            let start = Instant::now();
            connection.write_all(request.as_bytes())?;
            while answers.count < id {
                answers.read(&mut connection)?;
            }
            micros.push(start.elapsed().as_secs_f64() * 1e6);
        }
        micros.sort_by(f64::total_cmp);
        Ok(json!({ "micros": micros.get(micros.len() / 2) }))
    })
}

pub(crate) fn request(id: usize) -> String {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo","params":{{"text":"hello","number":{id}}}}}"#);
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

/// Makes requests without a library. The cost of this client is negligible, so the measured rate depends on the server
/// alone.
pub(crate) fn without_library(socket: &Path, count: usize, max_pending: usize) -> Result<()> {
    let requests: Vec<String> = (1..=count).map(request).collect();
    let mut connection = UnixStream::connect(socket)?;
    let mut answers = Answers::default();
    if max_pending >= count {
        let mut writer = connection.try_clone()?;
        let all = requests.concat();
        let writing = thread::spawn(move || writer.write_all(all.as_bytes()));
        while answers.count < count {
            answers.read(&mut connection)?;
        }
        return Ok(writing.join().ok().context("the writer has panicked")??);
    }
    let mut sent = 0;
    while answers.count < count {
        let last = count.min(answers.count + max_pending);
        let next = requests.get(sent..last).unwrap_or_default().concat();
        connection.write_all(next.as_bytes())?;
        sent = last;
        answers.read(&mut connection)?;
    }
    Ok(())
}

/// Counts the responses in a stream, and checks that each response has a result.
#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) count: usize,
    buffer: Vec<u8>,
}

impl Answers {
    pub(crate) fn read(&mut self, connection: &mut impl Read) -> Result<()> {
        let mut chunk = [0; 64 * 1024];
        let length = connection.read(&mut chunk)?;
        ensure!(length > 0, "the server has closed the connection after {} answers", self.count);
        self.buffer.extend_from_slice(chunk.get(..length).unwrap_or_default());
        let result = Finder::new(br#""result":{"#);
        let mut used = 0;
        while let Some((body, length)) = first_frame(self.buffer.get(used..).unwrap_or_default())? {
            let text = String::from_utf8_lossy(body);
            ensure!(result.find(body).is_some(), "no result: {text}");
            self.count += 1;
            used += length;
        }
        self.buffer.drain(..used);
        Ok(())
    }
}

/// Returns the body of the first frame and the length of the frame, or `None` if the frame is incomplete.
fn first_frame(bytes: &[u8]) -> Result<Option<(&[u8], usize)>> {
    const NAME: &[u8] = b"Content-Length: ";
    let Some(end) = memchr(b'\r', bytes) else { return Ok(None) };
    let digits = bytes.get(..end).and_then(|line| line.strip_prefix(NAME)).context("no header")?;
    let length: usize = str::from_utf8(digits)?.parse()?;
    let start = end + 4;
    Ok(bytes.get(start..start + length).map(|body| (body, start + length)))
}
