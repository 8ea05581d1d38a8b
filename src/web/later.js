// The next task of this thread. A timer would run late in a hidden page.

/**
 * What makes a task, as it is when this module runs: tests may replace it later. In WebKit a frame of the first name would be
 * found there, of whatever origin.
 */
const tasks = /* @__PURE__ */ (({ setImmediate, MessageChannel, setTimeout }) => ({ setImmediate, MessageChannel, setTimeout }))(globalThis);
/** WebKit slows down with each port: there are two. */
let channel;
const waiting = [];

/** Runs a function in a task of its own; where there are none, once all that waits in this one is done. */
export function runLater(act) {
  const { setImmediate, MessageChannel, setTimeout } = tasks;
  if (typeof setImmediate === "function") return void setImmediate(act);
  if (MessageChannel === undefined) return void (setTimeout ?? queueMicrotask)(act);
  if (channel === undefined) {
    channel = new MessageChannel();
    channel.port1.addEventListener("message", () => waiting.shift()());
    channel.port1.start();
  }
  waiting.push(act);
  channel.port2.postMessage(0);
}
