//! Random operations on several threads. The link ends at a random time. After its end, no call may stay pending.

use std::error::Error;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use portway::{CallError, Client, Context, Peer, RpcError, Transport};
use tokio::time::timeout;

use crate::wire::TEST_TIMEOUT;

/// A xorshift generator. With the same seed, the operations are the same, but threads may run them in a different
/// order.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn serve(peer: &Peer) {
    peer.method("echo", |(number,): (u64,), _: Context| async move { Ok::<_, RpcError>(number) });
    peer.method("slow", |(micros,): (u64,), _: Context| async move {
        tokio::time::sleep(Duration::from_micros(micros)).await;
        Ok::<_, RpcError>(micros)
    });
    let client = peer.client().clone();
    peer.method("back", move |(number,): (u64,), _: Context| {
        let client = client.clone();
        async move { Ok::<u64, RpcError>(client.call("echo", &(number,)).await?) }
    });
    peer.server()
        .stream_method("count", |(below,): (u64,), _: Context| stream::iter((0..below).map(Ok::<_, RpcError>)));
    peer.on_notify("notified", |_: (u64,), _: Context| {});
}

/// Runs random operations until the link has ended. Returns the number of operations.
async fn caller(client: Client, seed: u64) -> u64 {
    let mut random = Random(seed | 1);
    let mut operations = 0;
    loop {
        operations += 1;
        let number = random.below(300);
        let outcome = match random.below(7) {
            0 => client.call::<u64>("slow", &(number,)).await,
            1 => client.call::<u64>("back", &(number,)).await,
            2 => client
                .call::<u64>("slow", &(5_000,))
                .timeout(Duration::from_micros(number))
                .await
                .or_else(zero_if_timed_out),
            3 => {
                let call = client.call::<u64>("slow", &(number,));
                timeout(Duration::from_micros(number), call).await.unwrap_or(Ok(number))
            }
            4 => {
                let items = client.stream::<u64>("count", &(number,)).window(4);
                items.take(number as usize / 2).fold(Ok(0), |sum, item| async move { Ok(sum? + item?) }).await
            }
            5 => client.notify("notified", &(number,)).map(|()| number),
            _ => client.call::<u64>("echo", &(number,)).await.inspect(|echo| assert_eq!(*echo, number)),
        };
        match outcome {
            Ok(_) => {}
            Err(CallError::Destroyed | CallError::PeerGone | CallError::Lost(_)) => return operations,
            Err(error) => unexpected(&error),
        }
    }
}

fn zero_if_timed_out(error: CallError) -> Result<u64, CallError> {
    if error == CallError::TimedOut { Ok(0) } else { Err(error) }
}

#[allow(clippy::panic, reason = "a failed test is a panic")]
fn unexpected(error: &CallError) {
    panic!("{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_call_stays_pending_whenever_the_link_ends() -> Result<(), Box<dyn Error>> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut operations = 0;
    for round in 0..150 {
        let (here, there) = Transport::pair()?;
        let (near, far) = (Peer::new(here), Peer::new(there));
        serve(&near);
        serve(&far);
        let (near_client, far_client) = (near.client().clone(), far.client().clone());
        near.forget();
        far.forget();
        let mut callers = Vec::new();
        for _ in 0..4 {
            callers.push(tokio::spawn(caller(near_client.clone(), random.below(u64::MAX))));
            callers.push(tokio::spawn(caller(far_client.clone(), random.below(u64::MAX))));
        }
        tokio::time::sleep(Duration::from_micros(random.below(20_000))).await;
        if round % 2 == 0 {
            near_client.destroy()
        } else {
            far_client.destroy()
        }
        for caller in callers {
            operations += timeout(TEST_TIMEOUT, caller).await??;
        }
        assert_eq!((near_client.pending(), far_client.pending()), (0, 0));
        timeout(TEST_TIMEOUT, near_client.closed()).await?;
        timeout(TEST_TIMEOUT, far_client.closed()).await?;
    }
    assert!(operations > 1_000, "{operations}");
    Ok(())
}
