// The library under test: the built package. Its wasm is loaded once for all specs.

export const inNode = typeof process === "object" && process.versions?.node !== undefined;

/** Returns the URL of a file of the built package. */
export function packaged(file) {
  return new URL(`../../../pkg/${file}`, import.meta.url).href;
}

const entry = packaged(inNode ? "node.js" : "portway.js");
const library = await import(entry);
await library.default();

export const init = library.default;
export const {
  CallError,
  ErrorCode,
  JSONRPCClient,
  JSONRPCPeer,
  JSONRPCServer,
  RPCError,
  broadcastTransport,
  connect,
  initSync,
  kaiak,
  portTransport,
  selfTransport,
  validateMessage,
  wiggum,
  windowTransport,
  workerTransport,
} = library;

let copies = 0;

/** Loads another copy of the library, without its wasm. */
export function freshCopy() {
  return import(`${entry}?copy=${++copies}`);
}

/** Returns the wasm of the package. */
export async function wasmBytes() {
  const url = packaged("portway_bg.wasm");
  if (!inNode) return new Uint8Array(await (await fetch(url)).arrayBuffer());
  const { readFile } = await import("node:fs/promises");
  return readFile(new URL(url));
}
