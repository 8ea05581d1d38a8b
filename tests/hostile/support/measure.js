// Measures the longest time for which the event loop is blocked.

/** Runs tasks without a pause, and measures the longest time between two tasks in milliseconds. */
export function longestTask() {
  const { port1, port2 } = new MessageChannel();
  let last = performance.now();
  let longest = 0;
  const recordTask = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  port1.onmessage = () => {
    recordTask();
    port2.postMessage(0);
  };
  port2.postMessage(0);
  return {
    /** Stops the tasks, and returns the longest time. */
    stop() {
      recordTask();
      port1.close();
      return longest;
    },
  };
}
