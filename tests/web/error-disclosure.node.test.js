// The parts that cross of errors of Node itself.

import { assert } from "chai";
import { readFile, rm } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { connect as connectSocket } from "node:net";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import axios from "axios";
import { JSONRPCServer, workerTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { scriptedChannel } from "./support/transports.js";
import { rejection } from "./support/outcomes.js";

const PATH = "/home/s3cret/token.txt";

/** The error object that crosses when a handler fails in this way. */
async function sent(fail) {
  const { transport, remoteEnd } = scriptedChannel();
  new JSONRPCServer(transport).method("fail", fail);
  remoteEnd.post({ jsonrpc: "2.0", method: "fail", id: 1 });
  return (await remoteEnd.next()).error;
}

describe("of an error of fs", () => {
  const message = `ENOENT: no such file or directory, open '${PATH}'`;
  const expected = { code: -32603, message, data: { code: "ENOENT", errno: -2 } };

  // Node puts the path into the message, too: the handler decides about messages.
  for (const [name, fail] of Object.entries({ promises: () => readFile(PATH), sync: () => readFileSync(PATH) })) {
    it(`message, code and errno cross, and neither path nor syscall (${name})`, async () => {
      assert.equal((await rejection((async () => fail())())).path, PATH);
      assert.deepEqual(await sent(fail), expected);
    });
  }

  it("the same crosses if it is a cause", async () => {
    const fail = async () => {
      throw new Error("no such project", { cause: await rejection(readFile(PATH)) });
    };
    assert.deepEqual(await sent(fail), {
      code: -32603,
      message: "no such project",
      data: { cause: { name: "Error", message, ...expected.data } },
    });
  });

  it("the same crosses to a worker", async () => {
    const source = `
      const { parentPort } = require("node:worker_threads");
      parentPort.on("message", (message) => message.jsonrpc && parentPort.postMessage({ received: message }));
      parentPort.postMessage({ jsonrpc: "2.0", method: "fail", id: 1 });`;
    const worker = new Worker(source, { eval: true });
    afterThisTest(() => worker.terminate());
    new JSONRPCServer(workerTransport(worker)).method("fail", () => readFile(PATH));
    for (;;) {
      const [{ received }] = await once(worker, "message");
      if (received === undefined) continue;
      assert.deepEqual(received, { jsonrpc: "2.0", error: expected, id: 1 });
      break;
    }
  });
});

describe("of other errors of Node", () => {
  it("of a directory that is not empty code and errno cross", async () => {
    const { code, message, data } = await sent(() => rm("/", { recursive: false }));
    assert.equal(code, -32603);
    assert.isString(message);
    assert.deepEqual(Object.keys(data).sort(), ["code", "errno", "name"]);
  });

  it("of a connection that is refused no address or port crosses beside the message", async () => {
    const fail = async () => {
      const socket = connectSocket(1, "127.0.0.1");
      throw await new Promise((resolve) => socket.once("error", resolve));
    };
    assert.deepEqual(await sent(fail), {
      code: -32603,
      message: "connect ECONNREFUSED 127.0.0.1:1",
      data: { code: "ECONNREFUSED", errno: -111 },
    });
  });

  it("of a request of axios that was refused nothing of the request crosses", async () => {
    const headers = { Authorization: "Bearer s3cret" };
    const fail = () => axios.get("http://127.0.0.1:1/s3cret", { headers });
    const error = await rejection(fail());
    const { message, data } = await sent(fail);
    assert.equal(message, error.message);
    assert.deepEqual(data, {
      ...(error.name !== "Error" && { name: error.name }),
      code: "ECONNREFUSED",
      ...(error.errno !== undefined && { errno: error.errno }),
      ...(error.cause && { cause: { name: "Error", message: error.cause.message, code: "ECONNREFUSED", errno: -111 } }),
    });
  });

  it("of an AssertionError neither actual nor expected crosses", async () => {
    const { strictEqual } = await import("node:assert");
    const { data } = await sent(() => strictEqual("s3cret", "other", "they differ"));
    assert.deepEqual(data, { name: "AssertionError", code: "ERR_ASSERTION" });
  });
});
