// The parts of Node's own errors that are sent to the peer.

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

/** Returns the error object that a server sends if its handler is `fail`. */
async function errorObjectFor(fail) {
  const { transport, remoteEnd } = scriptedChannel();
  new JSONRPCServer(transport).method("fail", fail);
  remoteEnd.post({ jsonrpc: "2.0", method: "fail", id: 1 });
  return (await remoteEnd.next()).error;
}

describe("the response for an error of fs", () => {
  const message = `ENOENT: no such file or directory, open '${PATH}'`;
  const expected = { code: -32603, message, data: { code: "ENOENT", errno: -2 } };

  // Node also puts the path into the message. The library always sends the message of an error.
  for (const [name, fail] of Object.entries({ promises: () => readFile(PATH), sync: () => readFileSync(PATH) })) {
    it(`contains message, code and errno, but neither path nor syscall (${name})`, async () => {
      assert.equal((await rejection((async () => fail())())).path, PATH);
      assert.deepEqual(await errorObjectFor(fail), expected);
    });
  }

  it("contains the same members if the error is a cause", async () => {
    const fail = async () => {
      throw new Error("no such project", { cause: await rejection(readFile(PATH)) });
    };
    assert.deepEqual(await errorObjectFor(fail), {
      code: -32603,
      message: "no such project",
      data: { cause: { name: "Error", message, ...expected.data } },
    });
  });

  it("contains the same members if the peer is a worker", async () => {
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

describe("the response for another error of Node", () => {
  it("contains code and errno if a path is a directory", async () => {
    const { code, message, data } = await errorObjectFor(() => rm("/", { recursive: false }));
    assert.equal(code, -32603);
    assert.isString(message);
    assert.deepEqual(Object.keys(data).sort(), ["code", "errno", "name"]);
  });

  it("contains the address and port of a refused connection only in the message", async () => {
    const fail = async () => {
      const socket = connectSocket(1, "127.0.0.1");
      throw await new Promise((resolve) => socket.once("error", resolve));
    };
    assert.deepEqual(await errorObjectFor(fail), {
      code: -32603,
      message: "connect ECONNREFUSED 127.0.0.1:1",
      data: { code: "ECONNREFUSED", errno: -111 },
    });
  });

  it("contains nothing of the request that axios puts into its error", async () => {
    const headers = { Authorization: "Bearer s3cret" };
    const fail = () => axios.get("http://127.0.0.1:1/s3cret", { headers });
    const error = await rejection(fail());
    const { message, data } = await errorObjectFor(fail);
    assert.equal(message, error.message);
    assert.deepEqual(data, {
      ...(error.name !== "Error" && { name: error.name }),
      code: "ECONNREFUSED",
      ...(error.errno !== undefined && { errno: error.errno }),
      ...(error.cause && { cause: { name: "Error", message: error.cause.message, code: "ECONNREFUSED", errno: -111 } }),
    });
  });

  it("contains neither actual nor expected of an AssertionError", async () => {
    const { strictEqual } = await import("node:assert");
    const { data } = await errorObjectFor(() => strictEqual("s3cret", "other", "they differ"));
    assert.deepEqual(data, { name: "AssertionError", code: "ERR_ASSERTION" });
  });
});
