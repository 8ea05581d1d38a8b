// Runs a thread of the soak in Node, see peer-context.js.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort } from "node:worker_threads";
import "./instruments.js";
import * as portway from "../../pkg/node.js";
import { runPeerContext } from "./peer-context.js";

setFlagsFromString("--expose-gc");
globalThis.gc = runInNewContext("gc");
await portway.default();
runPeerContext({
  portway,
  source: parentPort,
  post: (message) => parentPort.postMessage(message),
  owner: parentPort,
  transport: () => portway.portTransport(parentPort),
});
parentPort.postMessage("ready");
