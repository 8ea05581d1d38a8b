// The next task of this thread. A timer would run late in a hidden page.

/**
 * The functions that make a task, read when this module runs: tests may replace them later. In WebKit, the first name may also
 * be that of a frame of any origin.
 */
const tasks = /* @__PURE__ */ (({ setImmediate, MessageChannel, setTimeout }) => ({
  setImmediate,
  MessageChannel,
  setTimeout,
}))(globalThis);
/** WebKit slows down with each port: there are two. */
let channel;
const queue = [];

/** Runs a function in a new task. In a realm without tasks, it is a microtask. */
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
