// The matrix of the benchmark of WIPC: libraries, workloads and promises.

/** The script that runs the libraries in Node. */
const script = "wipc-in-node.mjs";

export const libraries = [
  { id: "portway", title: "Portway in Rust", runs: { wipc: "decode" } },
  { id: "copy", title: "a copy in Rust", runs: { wipc: "copy" } },
  { id: "wasm-portway", title: "Portway in Rust, as wasm", runs: { wipc: "wasm-portway" }, script },
  { id: "wasm-copy", title: "a copy in wasm", runs: { wipc: "wasm-copy" }, script },
  { id: "js-portway", title: "portway/wipc in Node", runs: { wipc: "js-portway" }, script },
  { id: "js-copy", title: "a copy in Node", runs: { wipc: "js-copy" }, script },
  { id: "wipc-js", title: "wipc-js", runs: { wipc: "wipc-js" }, script },
];

const decode = (id, title, payload, total) => ({
  id,
  part: "wipc",
  words: [payload, total],
  title: `decode: payloads of ${title}, in chunks of 64 KiB`,
  metric: "mbs",
  unit: "MB/s",
  base: "wipc-js",
});

export const workloads = [
  decode("small", "64 bytes", 64, 8_000_000),
  decode("medium", "4 KiB", 4_096, 16_000_000),
  decode("large", "1 MiB", 1_048_576, 32_000_000),
];

/** The promises: the `min` of the ratio of `library` to `base`. */
export const promises = [
  { workload: "small", library: "portway", base: "wipc-js", min: 5 },
  { workload: "small", library: "wasm-portway", base: "wipc-js", min: 5 },
  { workload: "small", library: "js-portway", base: "wipc-js", min: 5 },
  { workload: "large", library: "portway", base: "copy", min: 0.8 },
  { workload: "large", library: "wasm-portway", base: "wasm-copy", min: 0.8 },
  { workload: "large", library: "js-portway", base: "js-copy", min: 0.8 },
];
