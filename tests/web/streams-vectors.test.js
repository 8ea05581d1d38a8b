// The vectors of `tests/data/streams.json` over a real port; `tests/data/README.md` defines them.

import { assert } from "chai";
import { CallError, JSONRPCPeer, RPCError, inNode } from "./support/portway.js";
import { pause, rejection } from "./support/outcomes.js";
import { scriptedChannel } from "./support/transports.js";

async function vectors() {
  const url = new URL("../data/streams.json", import.meta.url);
  if (!inNode) return (await fetch(url)).json();
  const { readFile } = await import("node:fs/promises");
  return JSON.parse(await readFile(url, "utf8"));
}

/** Serves the methods of the vectors, and adds the peer's `$/progress` notifications to `notifications`. */
function serve(transport, notifications) {
  const untilAborted = ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  return new JSONRPCPeer(transport, { onError() {} })
    .method("count", async function* ([below]) {
      for (let number = 0; number < below; number++) yield number;
    })
    .method("fail_after", async function* ([below]) {
      for (let number = 0; number < below; number++) yield number;
      throw new RPCError(-32001, "no more");
    })
    .method("silent", async function* (_, context) {
      yield await untilAborted(context);
    })
    .method("plain", () => 1)
    .method("never", (_, context) => untilAborted(context))
    .method("report", (values, context) => {
      for (const value of values) context.progress(value);
      return values.length;
    })
    .onNotify("$/progress", (params) => notifications.push(params));
}

/** Converts a message to JSON and back, and removes the texts of errors, which are not compared. */
function canonical(message) {
  const copy = JSON.parse(JSON.stringify(message));
  for (const { error } of [copy].flat()) delete error?.message;
  return copy;
}

/** Waits until the array has an entry. Removes its first entry, and returns this entry. */
async function nextOf(entries) {
  for (let attempt = 0; entries.length === 0 && attempt < 1_000; attempt++) await pause(1);
  assert.isNotEmpty(entries, "no entry was added");
  return entries.shift();
}

/** The call or the stream of a vector. */
class Operation {
  progress = [];
  #abort = new AbortController();
  #items;
  #pending;

  constructor(peer, { call, stream }) {
    if (stream === undefined) {
      const onProgress = call.progress ? (value) => this.progress.push(value) : undefined;
      this.#pending = peer.request(call.method, call.params, { onProgress, signal: this.#abort.signal });
    } else {
      this.#items = peer.stream(stream.method, stream.params, { window: stream.window });
      this.#pending = this.#items.next();
    }
    this.#pending.catch(() => {});
  }

  /** Returns a promise of the call's result, or of the stream's next item. */
  #next() {
    const pending = this.#pending ?? this.#items.next();
    this.#pending = undefined;
    return pending;
  }

  async item() {
    const { done, value } = await this.#next();
    assert.isFalse(done, "the stream has ended");
    return value ?? null;
  }

  async checkOutcome(expected) {
    if (expected === "end") {
      assert.deepEqual(await this.#next(), { done: true, value: undefined });
    } else if (expected === "invalid") {
      const error = await rejection(this.#next());
      assert.instanceOf(error, CallError);
      assert.equal(error.reason, "invalid-response");
    } else if ("error" in expected) {
      const error = await rejection(this.#next());
      assert.instanceOf(error, RPCError);
      assert.deepEqual({ code: error.code, message: error.message }, expected.error);
    } else {
      assert.deepEqual({ result: await this.#next() }, expected);
    }
  }

  async cancel() {
    if (this.#items === undefined) this.#abort.abort();
    else await this.#items.return();
  }
}

const vectorsForBoundaries = (await vectors()).filter((vector) => !("profile" in vector || "only" in vector));

describe("a peer handles the messages of streams.json:", () => {
  for (const { name, steps } of vectorsForBoundaries) {
    it(name, async () => {
      const { transport, remoteEnd } = scriptedChannel();
      const notifications = [];
      const peer = serve(transport, notifications);
      let operation;
      const runStep = {
        receive: (message) => remoteEnd.post(message),
        send: async (expected) => assert.deepEqual(canonical(await remoteEnd.next()), canonical(expected)),
        quiet: async () => assert.deepEqual(await remoteEnd.unreadBeforeResponse(), []),
        call: (call) => (operation = new Operation(peer, { call })),
        stream: (stream) => (operation = new Operation(peer, { stream })),
        item: async (expected) => assert.deepEqual(await operation.item(), expected),
        progress: async (expected) => assert.deepEqual((await nextOf(operation.progress)) ?? null, expected),
        outcome: (expected) => operation.checkOutcome(expected),
        cancel: () => operation.cancel(),
        notification: async (expected) => assert.deepEqual(await nextOf(notifications), expected),
      };
      for (const [step, value] of steps.flatMap(Object.entries)) await runStep[step](value);
      await runStep.quiet();
      assert.deepEqual([operation?.progress ?? [], notifications], [[], []]);
    });
  }
});
