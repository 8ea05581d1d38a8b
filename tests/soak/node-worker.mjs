import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort } from "node:worker_threads";
import "./instruments.js";
import * as portway from "../../pkg/node.js";
import { runRealm } from "./realm.js";

setFlagsFromString("--expose-gc");
globalThis.gc = runInNewContext("gc");
await portway.default();
runRealm({
  portway,
  source: parentPort,
  post: (message) => parentPort.postMessage(message),
  owner: parentPort,
  transport: () => portway.portTransport(parentPort),
});
parentPort.postMessage("ready");
