// The session transport of `connect`, in JavaScript and in Rust. It is created first and opened later, so that the
// application can add its handlers before the first message.

import { noAnswer, resolveTarget } from "./connect-target.js";
import { queueTask } from "./queue-task.js";
import { SessionTransport } from "./session-transport.js";
import { MAX_TIMEOUT_MS, setTimer } from "./timers.js";

/**
 * Returns a transport for the sessions on a target. `open` starts it, and resolves when the first session begins. It
 * rejects after `timeout` ms, or by `fail`. A negative timeout never ends the attempt, and neither does one that is too
 * long for a timer.
 * @param {any} target
 * @param {import("../js/connect.js").ConnectOptions} options
 */
export function prepareSession(target, options) {
  const connectTarget = resolveTarget(target, options.origin);
  let onOpen;
  let fail;
  const opened = new Promise((...functions) => ([onOpen, fail] = functions));
  const transport = new SessionTransport(connectTarget, options, onOpen, fail);
  return {
    transport,
    fail,
    open(timeout) {
      transport.start();
      const late = () => fail(noAnswer(timeout, connectTarget));
      const isLimited = timeout >= 0 && timeout <= MAX_TIMEOUT_MS;
      // If this thread was blocked, an answer that has arrived is handled first.
      const timer = isLimited ? setTimer(() => queueTask(late), timeout) : undefined;
      return opened.finally(() => clearTimeout(timer));
    },
  };
}
