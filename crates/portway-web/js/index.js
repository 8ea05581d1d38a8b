// The exports of the package besides `init`. They come through the glue of the wasm, so that there is one instance of
// each.

export {
  CallError,
  ErrorCode,
  JSONRPCClient,
  JSONRPCPeer,
  JSONRPCServer,
  RPCError,
  broadcastTransport,
  connect,
  kaiak,
  portTransport,
  selfTransport,
  validateMessage,
  wiggum,
  windowTransport,
  workerTransport,
} from "portway-glue";
export { initSync } from "./wasm-loader.js";
