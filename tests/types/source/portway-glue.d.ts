// Declares the glue of wasm-bindgen, which `cargo xtask build` creates: the exports that `exports.rs` lists, and the
// function that starts the wasm.

export { JSONRPCClient } from "../../../crates/portway-web/js/client.js";
export { connect } from "../../../crates/portway-web/js/connect.js";
export { ErrorCode, kaiak, wiggum } from "../../../crates/portway-web/js/error-codes.js";
export { JSONRPCPeer } from "../../../crates/portway-web/js/peer.js";
export { JSONRPCServer } from "../../../crates/portway-web/js/server.js";
export { validateMessage } from "../../../crates/portway-web/js/validate.js";
export { CallError, RPCError } from "../../../crates/portway-web/js/driver/errors.js";
export {
  broadcastTransport,
  portTransport,
  selfTransport,
  windowTransport,
  workerTransport,
} from "../../../crates/portway-web/js/transport/transports.js";

/** Creates an instance of a module, and returns its exports. */
export function initSync(module: WebAssembly.Module): WebAssembly.Exports;
