// Queues a task, as `queueMicrotask` queues a microtask. A timer would run late in a hidden page.

/**
 * The functions that queue a task. They are read when this module runs, since tests may replace them later. In WebKit,
 * the global `setImmediate` may be an iframe that has this name, so `queueTask` checks the type.
 */
const tasks = /* @__PURE__ */ (({ setImmediate, MessageChannel, setTimeout }) => ({
  setImmediate,
  MessageChannel,
  setTimeout,
}))(globalThis);
/** All tasks share one channel, because each port slows WebKit down. */
let channel;
const queue = [];

/** Runs a function in a new task. If the realm has no function that queues a task, runs it in a microtask. */
export function queueTask(run) {
  const { setImmediate, MessageChannel, setTimeout } = tasks;
  if (typeof setImmediate === "function") return void setImmediate(run);
  if (MessageChannel === undefined)
    return void (setTimeout === undefined ? Promise.resolve().then(run) : setTimeout(run));
  if (channel === undefined) {
    channel = new MessageChannel();
    channel.port1.addEventListener("message", () => queue.shift()());
    channel.port1.start();
  }
  queue.push(run);
  channel.port2.postMessage(0);
}
