//! Benchmarks of the core as native code: `cargo bench --bench core`. They compare parsing and dispatch with serde_json
//! alone, and measure many pending calls.
#![allow(missing_docs, reason = "criterion's macros make public items")]

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod native {
    use std::hint::black_box;

    use criterion::{BatchSize, Criterion, Throughput, criterion_group};
    use portway::Limits;
    use portway::codec::json::{decode, encode};
    use portway::connection::{CallKey, Config, Connection, Event};
    use portway::message::Incoming;
    use portway::profile::Profile;
    use serde_json::Value;
    use serde_json::value::{RawValue, to_raw_value};

    type Text = Box<RawValue>;

    const PENDING_CALLS: u32 = 10_000;
    const TIMEOUT_MS: u64 = 60_000;
    const REQUEST: &[u8] =
        br#"{"jsonrpc":"2.0","method":"build","params":{"entry":"src/App.tsx","minify":true},"id":17}"#;

    fn decode_message(text: &[u8]) -> Incoming<Text> {
        decode(text, &Profile::GENERIC, &Limits::DEFAULT)
    }

    fn connection() -> Connection<Text> {
        Connection::new(Config::new(Profile::GENERIC).with_time_grain(16))
    }

    fn params() -> Option<Text> {
        to_raw_value(&[1]).ok()
    }

    /// Returns a request with about 100 KB of params.
    fn large_request() -> Vec<u8> {
        let members: Vec<_> = (0..1_000)
            .map(|id| {
                format!(r#"{{"id":{id},"name":"src/components/module-{id}/index.tsx","size":37.5,"external":false}}"#)
            })
            .collect();
        format!(r#"{{"jsonrpc":"2.0","method":"build","params":[{}],"id":17}}"#, members.join(",")).into_bytes()
    }

    fn batch() -> Vec<u8> {
        let member = String::from_utf8_lossy(REQUEST);
        format!("[{}]", vec![member.as_ref(); 256].join(",")).into_bytes()
    }

    fn parse(criterion: &mut Criterion) {
        let (large, batch) = (large_request(), batch());
        let mut group = criterion.benchmark_group("parse");
        for (name, text) in [("request", REQUEST), ("request of 100 KB", &large), ("batch of 256", &batch)] {
            group.throughput(Throughput::Bytes(text.len() as u64));
            group
                .bench_function(format!("{name}, portway"), |bencher| bencher.iter(|| decode_message(black_box(text))));
            group.bench_function(format!("{name}, serde_json alone"), |bencher| {
                bencher.iter(|| serde_json::from_slice::<Value>(black_box(text)));
            });
        }
        group.finish();
    }

    /// Measures the time from the text of a request to the text of its response.
    fn dispatch(criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group("dispatch");
        group.bench_function("request to response, portway", |bencher| {
            let mut connection = connection();
            bencher.iter(|| handle_and_respond(&mut connection, black_box(REQUEST)));
        });
        group.bench_function("request to response, serde_json alone", |bencher| {
            bencher.iter(|| {
                let request: Value = serde_json::from_slice(black_box(REQUEST)).ok()?;
                let result = request.get("params")?;
                Some(serde_json::json!({ "jsonrpc": "2.0", "result": result, "id": request.get("id")? }).to_string())
            });
        });
        group.finish();
    }

    fn handle_and_respond(connection: &mut Connection<Text>, text: &[u8]) -> Option<String> {
        connection.handle(decode_message(text));
        while let Some(event) = connection.poll_event() {
            if let Event::Request { key, params: Some(params), .. } = event {
                connection.respond(key, Ok(params));
            }
        }
        connection.poll_transmit().map(|outgoing| encode(&outgoing))
    }

    /// Measures 10 000 pending calls: the time to start them, to handle their responses, and to end them by timeouts.
    fn pending(criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group("10 000 pending");
        group.throughput(Throughput::Elements(PENDING_CALLS.into()));
        group.bench_function("call", |bencher| {
            bencher.iter_batched_ref(connection, call_all, BatchSize::LargeInput);
        });
        group.bench_function("answer", |bencher| {
            let responses: Vec<_> =
                (1..=PENDING_CALLS).map(|id| format!(r#"{{"jsonrpc":"2.0","result":1,"id":{id}}}"#)).collect();
            bencher.iter_batched_ref(
                connection_with_pending_calls,
                |connection| {
                    for response in &responses {
                        connection.handle(decode_message(response.as_bytes()));
                        black_box(connection.poll_event());
                    }
                },
                BatchSize::LargeInput,
            );
        });
        group.bench_function("expiry", |bencher| {
            bencher.iter_batched_ref(
                connection_with_pending_calls,
                |connection| {
                    connection.handle_timeout(3 * TIMEOUT_MS);
                    while let Some(event) = connection.poll_event() {
                        black_box(event);
                    }
                },
                BatchSize::LargeInput,
            );
        });
        group.finish();
    }

    fn call_all(connection: &mut Connection<Text>) -> Option<CallKey> {
        let mut last = None;
        for _ in 0..PENDING_CALLS {
            last = connection.call("echo".into(), params(), Some(TIMEOUT_MS)).ok();
            black_box(connection.poll_transmit());
        }
        last
    }

    fn connection_with_pending_calls() -> Connection<Text> {
        let mut connection = connection();
        call_all(&mut connection);
        // The timeouts of the calls begin at this time.
        connection.handle_timeout(0);
        connection
    }

    criterion_group!(benches, parse, dispatch, pending);
}

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
criterion::criterion_main!(native::benches);

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
fn main() {}
