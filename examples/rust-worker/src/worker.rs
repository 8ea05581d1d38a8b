//! The code of the worker. It serves the method `countPrimes`.

use gloo_timers::future::TimeoutFuture;
use portway::{Context, RpcError, Server, Transport};
use wasm_bindgen::JsValue;

use crate::CountPrimes;

const MAX_BELOW: u32 = 10_000_000;

/// Runs in the worker.
pub(crate) fn run() -> Result<(), JsValue> {
    let server = Server::new(Transport::current_worker()?);
    server.method("countPrimes", count_primes);
    server.forget();
    Ok(())
}

async fn count_primes(CountPrimes { below }: CountPrimes, context: Context) -> Result<usize, RpcError> {
    if below > MAX_BELOW {
        return Err(RpcError::invalid_params(format!("{below} is more than {MAX_BELOW}")));
    }
    let mut count = 0;
    for start in (0..below).step_by(10_000) {
        count += (start..below.min(start + 10_000)).filter(|&n| is_prime(n)).count();
        context.progress(&(f64::from(start) / f64::from(below)))?;
        // The worker handles messages during this timer. If a cancellation arrives, the server drops the future of this
        // request.
        TimeoutFuture::new(0).await;
    }
    Ok(count)
}

fn is_prime(n: u32) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}
