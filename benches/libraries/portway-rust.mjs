// An adapter for the Rust API of Portway, for the client and the server. The loops of the workloads are also in Rust.

import init, { Caller, serve as serveInRust } from "../../target/bench/rust/rust_bench.js";

await init({ module_or_path: "/rust_bench_bg.wasm" });

export function call({ kind, target }) {
  const caller = new Caller(kind, target);
  return {
    inTurn: (size) => caller.in_turn(size),
    atOnce: (size) => caller.at_once(size),
    ticks: (size) => caller.ticks(size),
  };
}

export function serve({ kind, target }) {
  serveInRust(kind, target);
}
