// `portway/early` listens before the application names the allowed senders. So strangers can send messages to it, and
// the number of messages that it buffers or answers must be limited.

import { assert } from "chai";
import { pause } from "../web/support/outcomes.js";
import { packaged } from "../web/support/portway.js";
import { origins, party } from "./support/parties.js";

const indexOf = ({ window }) => Array.from(frames).indexOf(window);

/** Opens a document of the host. The document imports `portway/early`, and records all listeners for messages. */
async function listeningFrame() {
  const frame = await party("host");
  await frame.run(async (early) => {
    globalThis.listeners = [];
    const { addEventListener: add, removeEventListener: remove } = globalThis;
    globalThis.addEventListener = function (type, listener, ...more) {
      if (type === "message") listeners.push(listener);
      return add.call(this, type, listener, ...more);
    };
    globalThis.removeEventListener = function (type, listener, ...more) {
      if (type === "message" && listeners.includes(listener)) listeners.splice(listeners.indexOf(listener), 1);
      return remove.call(this, type, listener, ...more);
    };
    await import(early);
  }, packaged("early.js"));
  assert.equal(await frame.run(() => listeners.length), 1);
  return frame;
}

/** Posts `count` notifications to an iframe. Waits until the iframe has received `total` messages since its start. */
async function flood(stranger, frame, count, total = count) {
  await stranger.run(
    (index, count) => {
      for (let n = 0; n < count; n++) parent.frames[index].postMessage(message({ method: "x", params: [n] }), "*");
    },
    indexOf(frame),
    count,
  );
  // The document itself counts the messages that it receives.
  for (let receivedTotal = 0; receivedTotal < total; await pause(50))
    receivedTotal = await frame.run(() => receivedCount);
}

describe("portway/early", function () {
  this.timeout(60_000);

  it("buffers at most 10 000 messages of all senders together", async () => {
    const frame = await listeningFrame();
    const strangers = [await party("stranger"), await party("outsider"), await party("third")];
    for (const [n, stranger] of strangers.entries()) await flood(stranger, frame, 8_000, 8_000 * (n + 1));
    const delivered = await frame.run(
      async (indexes, origins) => {
        const { JSONRPCServer, windowTransport } = await library();
        let count = 0;
        for (const [n, index] of indexes.entries()) {
          const server = new JSONRPCServer(windowTransport(parent.frames[index], { origin: origins[n] }));
          server.onNotify("x", () => count++);
        }
        await new Promise((resolve) => setTimeout(resolve, 500));
        return count;
      },
      strangers.map(indexOf),
      [origins.stranger, origins.outsider, origins.third],
    );
    assert.isAbove(delivered, 0, "the first messages must be delivered");
    assert.isAtMost(delivered, 10_000);
  });

  it("removes its listener and its buffered messages ten seconds after the wasm has started", async () => {
    const frame = await listeningFrame();
    const stranger = await party("stranger");
    await flood(stranger, frame, 5_000);
    const countListeners = () => frame.run(() => listeners.length);
    await frame.run(() => library().then(() => {}));
    const started = performance.now();
    while ((await countListeners()) > 0 && performance.now() - started < 14_000) await pause(250);
    assert.equal(await countListeners(), 0, "the listener must be removed");
    assert.isAbove(performance.now() - started, 5_000, "the listener was removed too soon after the start");
    const delivered = await frame.run(
      async (index, origin) => {
        const { JSONRPCServer, windowTransport } = await library();
        let count = 0;
        new JSONRPCServer(windowTransport(parent.frames[index], { origin })).onNotify("x", () => count++);
        await new Promise((resolve) => setTimeout(resolve, 300));
        return count;
      },
      indexOf(stranger),
      origins.stranger,
    );
    assert.equal(delivered, 0);
  });

  for (const when of ["before", "after"]) {
    it(`answers, with a fixed text, at most 100 requests that arrive ${when} the wasm fails to load`, async () => {
      const frame = await listeningFrame();
      const stranger = await party("stranger");
      const ask = () =>
        stranger.run((index) => {
          const target = parent.frames[index];
          for (let n = 0; n < 10_000; n++) target.postMessage(message({ id: n, method: "a" }), "*");
          // Each of these arrays contains one object 10 000 times.
          const one = message({ id: 1, method: "x".repeat(1_000) });
          for (let n = 0; n < 10; n++) target.postMessage(Array(10_000).fill(one), "*");
        }, indexOf(frame));
      if (when === "before") await ask();
      const failure = await frame.run(async () => {
        console.error = console.warn = () => {};
        const { default: init } = await import("/pkg/portway.js");
        return init(`${origin}/private/build-4711/portway.wasm?token=s3cret`).then(
          () => "it starts",
          ({ message }) => message,
        );
      });
      assert.match(failure, /private|404|token|failed|wasm/i);
      if (when === "after") await ask();
      await pause(2_000);
      const { answers, count } = await stranger.run(() => ({ answers: received, count: receivedCount }));
      for (const { error } of answers.flat().slice(0, 1_000)) {
        assert.equal(error.code, -32603);
        assert.notMatch(error.message, /private|4711|token|s3cret|localhost|404|http/i);
      }
      // The stranger sent 110 000 requests.
      assert.isAbove(count, 0, "the first requests must be answered");
      assert.isAtMost(count, 100);
    });
  }
});
