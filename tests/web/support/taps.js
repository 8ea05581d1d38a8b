// Helpers for the specs of taps: a recorder that collects its records, functions that compare records with messages,
// and random calls and values.

import { assert } from "chai";
import { afterThisTest } from "./cleanup.js";
import { until } from "./outcomes.js";
import { packaged } from "./portway.js";

export const { TapRecorder, readTaps, sessionTap, tap } = await import(packaged("tap.js"));

/** Returns a recorder whose sink adds each record to the array `records`, and functions that select records. */
export function collected(options) {
  const records = [];
  const recorder = new TapRecorder({ sink: (batch) => void records.push(...batch), ...options });
  afterThisTest(() => recorder.destroy());
  const found = {
    recorder,
    records,
    /** The messages of one direction, or of both directions. */
    messages: (direction) =>
      records.filter((record) => record.kind === "message" && (direction ?? record.direction) === record.direction),
    /** The texts of the messages of one direction. */
    texts: (direction) => found.messages(direction).map(({ text }) => text),
    /** Waits until the records have this number of messages, and returns the messages. */
    async untilMessages(count, direction) {
      await until(() => found.messages(direction).length >= count, `${count} messages must be recorded`);
      return found.messages(direction);
    },
    /** The records of one kind. */
    ofKind: (kind) => records.filter((record) => record.kind === kind),
  };
  return found;
}

/** Checks that `receiver` has received the messages of `sender`, in the same order. `text` begins the error texts. */
export async function assertSameMessages(sender, receiver, text) {
  const sent = () => sender.texts("sent");
  const received = () => receiver.texts("received");
  await until(
    () => sent().length === received().length,
    () => `${text}: ${sent().length} and ${received().length}`,
  );
  sent().forEach((message, n) => assert.equal(received()[n], message, `${text}, message ${n}`));
}

/** Returns the value that a description stands for. Buffers must have at most 64 bytes. */
export function revived(description) {
  if (typeof description !== "object" || description === null) return description;
  if (Array.isArray(description)) {
    const items = new Array(description.length);
    description.forEach((item, n) => {
      if (item?.$type !== "hole") items[n] = revived(item);
    });
    return items;
  }
  const { $type, value, values, entries, bytes, name, message } = description;
  switch ($type) {
    case undefined:
      return Object.fromEntries(Object.entries(description).map(([name, member]) => [name, revived(member)]));
    case "undefined":
      return undefined;
    case "number":
      return Number(value);
    case "bigint":
      return BigInt(value);
    case "Date":
      return new Date(value ?? NaN);
    case "Map":
      return new Map(entries.map(([key, item]) => [revived(key), revived(item)]));
    case "Set":
      return new Set(values.map(revived));
    case "Object":
      return Object.fromEntries(entries.map(([name, member]) => [name, revived(member)]));
    case "RegExp":
      return new RegExp(...value.match(/^\/(.*)\/(\w*)$/s).slice(1));
    case "Error":
      return new globalThis[name](message);
    case "ArrayBuffer":
      return bytesOf(bytes).buffer;
    default:
      return new globalThis[$type](bytesOf(bytes).buffer);
  }
}

const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

/** Returns the messages in a posted value, which is an array of messages, a notification of columns, or a message. */
export function messagesIn(value) {
  if (Array.isArray(value)) return value;
  if (value.method !== "rpc.columns") return [value];
  const { ids, methods, values } = value.params;
  return values.map((payload, n) => {
    const method = typeof methods === "string" ? methods : methods?.[n];
    const members = { jsonrpc: "2.0", ...(method === undefined ? { result: payload } : { method, params: payload }) };
    return ids === undefined ? members : { ...members, id: ids[n] };
  });
}

/** Records copies of the messages that a port sends and receives, without a tap. */
export function spyOn(port) {
  const crossed = { sent: [], received: [] };
  const { postMessage } = port;
  port.postMessage = (message, transfer) => {
    const copies = messagesIn(structuredClone(message));
    postMessage.call(port, message, transfer);
    crossed.sent.push(...copies);
  };
  port.addEventListener("message", ({ data }) => crossed.received.push(...messagesIn(structuredClone(data))));
  return crossed;
}

/** Returns a generator of numbers between 0 and 1. The sequence depends only on the seed. */
export function randomOf(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Returns a random value that can be cloned. */
export function randomValue(random, depth = 3) {
  const below = (limit) => Math.floor(random() * limit);
  const some = (make) => Array.from({ length: below(4) }, make);
  const part = () => randomValue(random, depth - 1);
  const leaves = [
    () => below(1000),
    () => random() * 1e9,
    () => ["", "text", '"quoted"\n', "😀", "\ud800", "\u2028", "__proto__"][below(7)],
    () => [true, false, null, undefined, NaN, Infinity, -Infinity, -0][below(8)],
    () => BigInt(below(2 ** 31)) ** 3n,
    () => new Date(below(2 ** 41)),
    () => Uint8Array.from(some(() => below(256))),
    () => new Float64Array(some(random)),
    () => /a(b)*\/c/gi,
    () => new RangeError(`error ${below(10)}`),
  ];
  const branches = [
    () => some(part),
    () => [part(), , part()],
    () => Object.fromEntries(some(() => [`key ${below(100)}`, part()])),
    () => ({ $type: part(), other: part() }),
    () => new Map(some(() => [part(), part()])),
    () => new Set(some(part)),
  ];
  const makers = depth > 0 && random() < 0.7 ? branches : leaves;
  return makers[below(makers.length)]();
}

const CALLS = ["echo", "fail", "notify", "batch", "stream", "transfer", "progress", "unknown"];

/** Adds the methods that `randomCalls` uses. The peers in the fixtures already have methods with these names. */
export function serveRandom(peer) {
  return peer
    .method("echo", ([value]) => value)
    .method("fail", () => {
      throw Object.assign(new Error("no"), { data: new Map([[1, 2]]) });
    })
    .method("count", async function* ({ to }) {
      for (let n = 0; n < to; n++) yield { n };
    })
    .method("take", ({ bytes }, { transfer }) => {
      transfer([bytes.buffer]);
      return bytes;
    })
    .method("steps", (_, { progress }) => {
      progress(1);
      progress({ half: true });
    })
    .onNotify("note", () => {});
}

/** Makes random calls of all kinds at once, and waits until they have ended. */
export async function randomCalls(peer, random, count) {
  const calls = Array.from({ length: count }, async () => {
    const value = () => randomValue(random);
    switch (CALLS[Math.floor(random() * CALLS.length)]) {
      case "echo":
        return peer.request("echo", [value()]);
      case "fail":
        return peer.request("fail").catch(() => {});
      case "notify":
        return peer.notify("note", [value()]);
      case "batch":
        return peer.batch([
          { method: "echo", params: [value()] },
          { method: "note", params: [value()], notify: true },
          { method: "unknown", params: { value: value() } },
        ]);
      case "stream": {
        let last;
        for await (last of peer.stream("count", { to: 3 }));
        return last;
      }
      case "transfer": {
        const bytes = new Uint8Array(16).fill(7);
        return peer.request("take", { bytes }, { transfer: [bytes.buffer] });
      }
      case "progress":
        return peer.request("steps", { count: 2, ms: 0 }, { onProgress() {} });
      default:
        return peer.request("unknown", { value: value() }).catch(() => {});
    }
  });
  await Promise.all(calls);
}
