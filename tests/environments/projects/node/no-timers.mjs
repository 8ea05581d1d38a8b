// Makes calls in a realm like that of an AudioWorklet, without timers, signals and text decoders. The only clock is
// `Date`.

import { readFile } from "node:fs/promises";

const bytes = await readFile(new URL("../node_modules/portway/portway_bg.wasm", import.meta.url));
const { log } = console;
for (const name of [
  ...["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate", "clearImmediate", "performance"],
  ...[
    "AbortController",
    "AbortSignal",
    "TextDecoder",
    "TextEncoder",
    "fetch",
    "BroadcastChannel",
    "MessageChannel",
    "URL",
    "structuredClone",
  ],
]) {
  delete globalThis[name];
}
const { JSONRPCPeer, JSONRPCServer, initSync } = await import("../node_modules/portway/portway.js");
const { pair } = await import("./calls.js");

initSync(bytes);
const [near, far] = pair();
async function* count() {
  for (let n = 0; n < 300; n++) yield n;
}
const server = new JSONRPCServer(far)
  .method("add", ([a, b]) => a + b)
  .method("count", count)
  .method("never", () => new Promise(() => {}));
const peer = new JSONRPCPeer(near, { timeout: 0 });
const outcome = { sum: await peer.request("add", [1, 2]), stream: 0 };
for await (const _ of peer.stream("count")) outcome.stream++;
const refused = await peer.request("add", [1, 2], { timeout: 10 }).catch(({ message }) => message);
const open = peer.request("never").catch(() => {});
await peer.request("add", [1, 2]);
peer.destroy();
server.destroy();
await open;
log(JSON.stringify({ ...outcome, refused }));
