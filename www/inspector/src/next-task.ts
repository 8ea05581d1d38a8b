const { port1, port2 } = new MessageChannel();
const queue: (() => void)[] = [];

port1.onmessage = () => queue.shift()?.();

/**
 * Calls `run` in a new task, so that the browser handles events and draws frames before it. A timer is slower, because
 * browsers delay nested timers by 4 ms.
 */
export function nextTask(run: () => void): void {
  queue.push(run);
  port2.postMessage(null);
}
