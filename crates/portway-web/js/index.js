// The named exports of the package. The default export, `init`, is in `entry`. The classes and functions are imported
// through the glue that wasm-bindgen generates (`portway-glue`), so that each of them exists only once.

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
