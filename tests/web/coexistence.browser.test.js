// A worker uses an old message protocol and this library. With one line of code, the handlers of the old protocol
// ignore all messages of the library.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, workerTransport } from "./support/portway.js";
import { connected } from "./support/connections.js";
import { worker } from "./support/workers.js";
import { afterThisTest } from "./support/cleanup.js";
import { until } from "./support/outcomes.js";

/**
 * Listens to a worker as a handler of the old protocol does, with the line of code from the README. Returns the list of
 * the messages that this line does not ignore.
 */
function recordOldMessages(started) {
  const seen = [];
  started.addEventListener("message", ({ data }) => {
    if (data?.jsonrpc || data?.portway || Array.isArray(data)) return;
    seen.push(data);
  });
  return seen;
}

/** Uses all kinds of messages: single calls, calls of one turn, a batch, progress, a cancellation and a stream. */
async function useEverything(peer) {
  assert.deepEqual(await peer.request("echo", [1]), [1]);
  await Promise.all(Array.from({ length: 50 }, (_, n) => peer.request("echo", [n])));
  for (let n = 0; n < 50; n++) peer.notify("note", [n]);
  await peer.batch([{ method: "echo", params: [1] }, { method: "missing" }, { method: "note", notify: true }]);
  await peer.request("progress", [], { onProgress: () => {} });
  const controller = new AbortController();
  const hanging = peer.request("later", [5_000, 1], { signal: controller.signal });
  controller.abort();
  await hanging.catch(() => {});
  for await (const bytes of peer.stream("count", { to: 3 })) assert.equal(bytes.length, 1);
  await peer.request("callBack", [1]);
}

describe("an old message protocol on a worker", () => {
  for (const [kind, make] of Object.entries({
    connect: (started) => connected(started, { methods: { name: () => "page" } }),
    "the plain classes": (started) => new JSONRPCPeer(workerTransport(started)).method("name", () => "page"),
    "the plain classes with columns": (started) =>
      new JSONRPCPeer(workerTransport(started), { coalesce: "columns" }).method("name", () => "page"),
  })) {
    it(`receives all of its own messages and none of the library: ${kind}`, async () => {
      const started = worker("coexisting-worker.js", kind === "connect" ? { connect: "" } : {});
      const old = recordOldMessages(started);
      for (let n = 0; n < 3; n++) started.postMessage({ type: "old", n });
      const peer = await make(started);
      afterThisTest(() => peer.destroy());
      await useEverything(peer);
      started.postMessage({ type: "old", n: 3 });
      await until(() => old.length >= 4);
      assert.deepEqual(
        old,
        [0, 1, 2, 3].map((n) => ({ type: "answer", n })),
      );
      started.postMessage({ type: "what was received" });
      await until(() => old.length >= 5);
      assert.deepEqual(
        old[4].received,
        [0, 1, 2, 3].map((n) => ({ type: "old", n })),
      );
    });
  }
});

/** Returns the code samples of a section of the README, by file name. Imports are changed to the package under test. */
async function samples(section) {
  const text = await (await fetch("/README.md")).text();
  const part = text.slice(text.indexOf(`### ${section}`)).split("\n### ")[0];
  const byName = {};
  for (const [, name, code] of part.matchAll(/```js\n\/\/ (\S+)\n([^`]*)```/g)) {
    byName[name] = code
      .replaceAll('"portway/early"', `"${new URL("/pkg/early.js", location.href)}"`)
      .replaceAll('"portway"', `"${new URL("/pkg/portway.js", location.href)}"`);
  }
  return byName;
}

const moduleUrl = (code) => URL.createObjectURL(new Blob([code], { type: "text/javascript" }));

describe("the worker of the README", () => {
  it("adds, renders with progress, refuses an invalid page, and stops its loop when the call is aborted", async () => {
    const files = await samples("Sixty seconds: a worker");
    const worker = moduleUrl(files["worker.js"]);
    const main = files["main.js"].replace('new URL("worker.js", import.meta.url)', `"${worker}"`);
    const printed = [];
    globalThis.readmeConsole = { log: (line) => printed.push(line) };
    const { client, sum } = await import(
      moduleUrl(`const console = globalThis.readmeConsole;\n${main}\nexport { client, sum };`)
    );
    assert.equal(sum, 3);
    assert.deepEqual(printed, [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]);
    assert.equal((await client.request("render", { page: 0 }).catch((error) => error)).code, -32602);
    const steps = [];
    const controller = new AbortController();
    const onProgress = (step) => steps.push(step) === 3 && controller.abort();
    const error = await client
      .request("render", { page: 1 }, { signal: controller.signal, onProgress })
      .catch((error) => error);
    assert.equal(error.name, "AbortError");
    await client.request("add", [1, 1]);
    assert.equal(steps.length, 3);
    assert.instanceOf(client, JSONRPCClient);
    client.destroy();
  });
});
