// Random calls between two peers of Portway, and the methods that answer them.
import { randomValue } from "./random.js";

const KINDS = ["echo", "echo", "fail", "note", "note", "batch", "count", "unknown"];

/** Adds the methods that `makeCalls` uses. */
export function serveCalls(peer) {
  return peer
    .method("echo", (params) => params)
    .method("fail", () => {
      throw Object.assign(new Error("no"), { code: -32001, data: { why: ["a", "b"] } });
    })
    .method("count", async function* ({ to }) {
      for (let n = 0; n < to; n += 1) yield { n };
    })
    .onNotify("note", () => {});
}

/** Makes random calls of all kinds at once, and waits until they have ended. */
export async function makeCalls(peer, random, count) {
  const value = () => [randomValue(random)];
  const calls = Array.from({ length: count }, async () => {
    switch (KINDS[random(KINDS.length)]) {
      case "echo":
        return peer.request("echo", value());
      case "fail":
        return peer.request("fail", value()).catch(() => {});
      case "note":
        return peer.notify("note", value());
      case "batch":
        return peer.batch([
          { method: "echo", params: value() },
          { method: "note", params: value(), notify: true },
          { method: "unknown", params: value() },
        ]);
      case "count": {
        let last;
        for await (last of peer.stream("count", { to: 2 }));
        return last;
      }
      default:
        return peer.request("unknown", value()).catch(() => {});
    }
  });
  await Promise.all(calls);
}

/** Makes random calls until `count` messages have crossed. `crossed` returns the number of messages so far. */
export async function exchange(peer, random, count, crossed) {
  while (crossed() < count) await makeCalls(peer, random, Math.min(200, Math.ceil((count - crossed()) / 2)));
}
