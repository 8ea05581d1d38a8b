// The longest block of a thread.

/** Takes turns without a pause, and keeps the longest time between two of them, in milliseconds. */
export function longestTask() {
  const { port1, port2 } = new MessageChannel();
  let last = performance.now();
  let longest = 0;
  const turn = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  port1.onmessage = () => {
    turn();
    port2.postMessage(0);
  };
  port2.postMessage(0);
  return {
    /** The maximum so far. */
    stop() {
      turn();
      port1.close();
      return longest;
    },
  };
}
