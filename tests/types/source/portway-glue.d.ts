// The glue of wasm-bindgen, which `cargo xtask build` makes from `src/js/mod.rs`: the exports that are listed there,
// and the function that starts the wasm.

export { JSONRPCClient } from "../../../src/js/client.js";
export { connect } from "../../../src/js/connect.js";
export { ErrorCode, kaiak, wiggum } from "../../../src/js/error-codes.js";
export { JSONRPCPeer } from "../../../src/js/peer.js";
export { JSONRPCServer } from "../../../src/js/server.js";
export { validateMessage } from "../../../src/js/validate.js";
export { CallError, RPCError } from "../../../src/web/errors.js";
export {
  broadcastTransport,
  portTransport,
  selfTransport,
  windowTransport,
  workerTransport,
} from "../../../src/web/transports.js";

/** Creates an instance of a module, and returns its exports. */
export function initSync(module: WebAssembly.Module): WebAssembly.Exports;
