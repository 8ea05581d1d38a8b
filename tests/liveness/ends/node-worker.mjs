// An end in a thread of Node; it does to itself what it is told to.

import { parentPort } from "node:worker_threads";
import init, { connect } from "../../../pkg/node.js";
import { methods } from "./serve.js";

const sleeper = new Int32Array(new SharedArrayBuffer(4));
const served = { ...methods, block: ([ms]) => void Atomics.wait(sleeper, 0, 0, ms) };
let peer;
parentPort.on("message", async ({ type, port }) => {
  if (type === "exit") process.exit();
  if (type === "throw") throw new Error("this thread ends");
  if (type === "destroy") peer.destroy();
  if (type !== "port") return;
  await init();
  peer = await connect(port, { connectTimeout: 0, methods: served });
});
await init();
await connect(parentPort, { connectTimeout: 0, methods: served });
