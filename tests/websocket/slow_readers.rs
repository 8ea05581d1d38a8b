//! Peers in other processes that read slowly, and peers that stop reading in the middle of a message.

use std::env;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use portway::{Client, Closed, Context, Listener, Peer, RpcError, Transport};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, timeout};

use crate::processes::Process;
use crate::raw::{FINAL, TEXT, Test, frame, request, within};

const ADDRESS: &str = "PORTWAY_TEST_URL";
const RATE: &str = "PORTWAY_TEST_RATE";
const BUFFER: &str = "PORTWAY_TEST_BUFFER";

/// The time for which the test watches the links. The library abandons a silent peer earlier, after 41 s: 20 s until
/// the ping, 20 s after the ping, and up to 1 s. After 60 s, libtest in the other process would write to its output,
/// which this test has closed.
const WATCHED: Duration = Duration::from_secs(55);

/// A peer that reads, and the message for it.
#[derive(Clone, Copy)]
struct Reader {
    /// The bytes that the peer reads in a second.
    rate: usize,
    /// The receive buffer of the peer's socket, or 0 for the default of the system.
    buffer: u32,
    /// The length of the message in bytes.
    message: usize,
}

/// Each of these peers still reads its message after [`WATCHED`]. The buffers of the system may contain the whole
/// message of the second and of the third reader.
const SLOW: [Reader; 3] = [
    Reader { rate: 8_000, buffer: 4_096, message: 9_000_000 },
    Reader { rate: 30_000, buffer: 4_096, message: 2_400_000 },
    Reader { rate: 30_000, buffer: 0, message: 2_400_000 },
];

impl Reader {
    /// Starts a process that runs `test` as this reader.
    fn start(self, test: &str, address: &str) -> io::Result<Process> {
        let (rate, buffer) = (self.rate.to_string(), self.buffer.to_string());
        Process::start(test, &[(ADDRESS, address.as_ref()), (RATE, rate.as_ref()), (BUFFER, buffer.as_ref())])
    }
}

/// Starts this reader in a separate process, and serves its connection. Returns the process, and the server.
async fn serve_reader(reader: Reader) -> io::Result<(Process, Peer)> {
    let listener = Listener::websocket("127.0.0.1:0").await?;
    let address = listener.address().ok_or_else(|| io::Error::other("no address"))?;
    let process = reader.start("slow_readers::call_process", &address.to_string())?;
    let peer = Peer::new(within(listener.accept()).await??);
    peer.method_sync("large", move |(): (), _: Context| Ok::<_, RpcError>("x".repeat(reader.message)));
    Ok((process, peer))
}

/// Starts this reader in a separate process, and connects to it. Returns the process, and the client.
async fn connect_to_reader(reader: Reader) -> io::Result<(Process, Client)> {
    let mut process = reader.start("slow_readers::serve_process", "127.0.0.1:0")?;
    let address = process.line("LISTENS ")?;
    Ok((process, Client::new(Transport::websocket(&format!("ws://{address}")).await?)))
}

#[tokio::test(flavor = "multi_thread")]
async fn links_stay_open_while_their_peers_read_steadily_but_slowly() -> Test {
    let mut links = JoinSet::new();
    for reader in SLOW {
        links.spawn(async move {
            let (_process, peer) = serve_reader(reader).await?;
            Ok::<_, io::Error>(timeout(WATCHED, peer.run()).await.map_or(None, |end| Some(format!("server: {end:?}"))))
        });
        links.spawn(async move {
            let (_process, client) = connect_to_reader(reader).await?;
            let text = "x".repeat(reader.message);
            let call = client.call::<()>("large", &(text,)).timeout(2 * WATCHED).into_future();
            Ok(timeout(WATCHED, call).await.map_or(None, |end| Some(format!("client: {end:?}"))))
        });
    }
    while let Some(ended) = links.join_next().await {
        assert_eq!(ended??, None);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn links_end_after_their_peers_stop_reading_within_a_message() -> Test {
    let reader = Reader { rate: 100_000, buffer: 0, message: 9_000_000 };
    let (server_process, peer) = serve_reader(reader).await?;
    let (client_process, client) = connect_to_reader(reader).await?;
    let serving = tokio::spawn(peer.run());
    let calling = tokio::spawn(async move {
        let text = "x".repeat(reader.message);
        client.call::<()>("large", &(text,)).timeout(2 * WATCHED).await
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    for process in [&server_process, &client_process] {
        process.signal(Signal::STOP)?;
    }
    let start = Instant::now();
    let end = within(serving).await??;
    assert!(matches!(end, Closed::Io(io::ErrorKind::TimedOut, _)), "{end:?}");
    let end = within(calling).await??;
    assert!(matches!(&end, Err(portway::CallError::Lost(Closed::Io(io::ErrorKind::TimedOut, _)))), "{end:?}");
    assert!((30..50).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    Ok(())
}

/// Returns a socket with the receive buffer of the variables.
fn socket() -> Result<TcpSocket, Box<dyn std::error::Error>> {
    let socket = TcpSocket::new_v4()?;
    match env::var(BUFFER)?.parse()? {
        0 => {}
        buffer => socket.set_recv_buffer_size(buffer)?,
    }
    Ok(socket)
}

/// Reads at the rate of the variables until the connection ends.
async fn read_slowly(mut stream: TcpStream) -> Test {
    let rate: usize = env::var(RATE)?.parse()?;
    let mut bytes = vec![0; rate / 10];
    let mut ticks = interval(Duration::from_millis(100));
    while stream.read_exact(&mut bytes).await.is_ok() {
        ticks.tick().await;
    }
    Ok(())
}

#[tokio::test]
#[ignore = "the tests above run it in a separate process"]
async fn call_process() -> Test {
    let address: SocketAddr = env::var(ADDRESS)?.parse()?;
    let mut stream = socket()?.connect(address).await?;
    stream.write_all(request(&address.to_string(), "").as_bytes()).await?;
    stream.write_all(&frame(FINAL | TEXT, br#"{"jsonrpc":"2.0","id":1,"method":"large"}"#)).await?;
    read_slowly(stream).await
}

#[tokio::test]
#[ignore = "the tests above run it in a separate process"]
async fn serve_process() -> Test {
    let socket = socket()?;
    socket.bind(env::var(ADDRESS)?.parse()?)?;
    let listener = socket.listen(1)?;
    println!("LISTENS {}", listener.local_addr()?);
    let (mut stream, _) = listener.accept().await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_buf(&mut head).await?;
    }
    let head = String::from_utf8_lossy(&head);
    let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap_or_default();
    let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
    let response = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(response.as_bytes()).await?;
    read_slowly(stream).await
}
