// What the package exports besides `init`. The glue passes it on, so that it is one with the wasm.

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
export { initSync } from "./init.js";
