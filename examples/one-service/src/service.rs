//! The service, which is independent of its transport.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use portway::{Context, ErrorCode, RpcError, Server};
use serde::{Deserialize, Serialize};

use crate::pause::pause;

/// The error for a number that cannot be factored.
const NO_FACTORS: ErrorCode = ErrorCode::new(-32001);

/// The number of integers that are checked between two pauses.
const PAUSE_INTERVAL: u32 = 10_000;

/// Registers the handlers of the service. The methods are:
/// - `countPrimes { below }` returns `{ count, largest }`. It reports progress `{ checked, of }` and can be cancelled;
/// - `factor [number]` returns a list of `{ prime, exponent }`;
/// - `status` returns `{ most, counting }`: the maximum of `below`, and the number of running `countPrimes` requests.
///
/// The notification `limit { most }` sets the maximum of `below`.
pub fn add_methods(server: &Server) {
    let session = Arc::new(Session { most: AtomicU32::new(10_000_000), counting: AtomicU32::new(0) });

    let count_session = Arc::clone(&session);
    server.method("countPrimes", move |params, context| count_primes(Arc::clone(&count_session), params, context));
    server.method_sync("factor", |params, _| factor(params));
    let limit_session = Arc::clone(&session);
    server.on_notify("limit", move |Limit { most }, _| limit_session.most.store(most, Ordering::Relaxed));
    server.method_sync("status", move |(), _| Ok::<_, RpcError>(session.status()));
}

/// The state for one caller. A worker has one caller. On a socket, each connection has a separate server and session.
struct Session {
    most: AtomicU32,
    counting: AtomicU32,
}

#[derive(Serialize)]
struct Status {
    most: u32,
    counting: u32,
}

impl Session {
    fn status(&self) -> Status {
        Status { most: self.most.load(Ordering::Relaxed), counting: self.counting.load(Ordering::Relaxed) }
    }
}

/// Counts a running request as long as this guard exists. The future of the handler owns the guard, so a cancellation
/// drops the guard.
struct Counting(Arc<Session>);

impl Counting {
    fn begin(session: Arc<Session>) -> Self {
        session.counting.fetch_add(1, Ordering::Relaxed);
        Self(session)
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.0.counting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Serialize, Deserialize)]
struct Limit {
    most: u32,
}

#[derive(Deserialize)]
struct CountPrimes {
    below: u32,
}

#[derive(Serialize)]
struct Progress {
    checked: u32,
    of: u32,
}

#[derive(Default, Serialize)]
struct Primes {
    count: u32,
    largest: Option<u32>,
}

async fn count_primes(
    session: Arc<Session>,
    CountPrimes { below }: CountPrimes,
    context: Context,
) -> Result<Primes, RpcError> {
    let Status { most, .. } = session.status();
    if below > most {
        return Err(RpcError::invalid_params(format!("{below} is more than {most}")).with_data(&Limit { most }));
    }
    let _counting = Counting::begin(session);
    let mut primes = Primes::default();
    for checked in (0..below).step_by(PAUSE_INTERVAL as usize) {
        context.progress(&Progress { checked, of: below })?;
        // Other requests are handled during the pause. A cancellation during the pause drops this future.
        pause().await;
        for prime in (checked..below.min(checked.saturating_add(PAUSE_INTERVAL))).filter(|&number| is_prime(number)) {
            primes = Primes { count: primes.count + 1, largest: Some(prime) };
        }
    }
    Ok(primes)
}

#[derive(Serialize)]
struct Factor {
    prime: u32,
    exponent: u32,
}

fn factor((mut number,): (u32,)) -> Result<Vec<Factor>, RpcError> {
    if number == 0 {
        return Err(RpcError::new(NO_FACTORS, "0 has no prime factors"));
    }
    let mut factors = Vec::new();
    while let Some(prime) = smallest_factor(number) {
        let mut exponent = 0;
        while number.is_multiple_of(prime) {
            number /= prime;
            exponent += 1;
        }
        factors.push(Factor { prime, exponent });
    }
    Ok(factors)
}

fn is_prime(number: u32) -> bool {
    smallest_factor(number) == Some(number)
}

/// Returns the smallest prime that divides the number, or `None` for 0 and 1.
fn smallest_factor(number: u32) -> Option<u32> {
    let proper_divisor =
        (2..).take_while(|&divisor| divisor <= number / divisor).find(|&divisor| number.is_multiple_of(divisor));
    proper_divisor.or_else(|| (number > 1).then_some(number))
}
