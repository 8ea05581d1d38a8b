// The session transport of `connect`, for the JavaScript API and for the Rust API. The transport is created first and
// opened later, so that the application can add its handlers before the first message.

import { noAnswer, resolveTarget } from "./connect-target.js";
import { queueTask } from "../driver/queue-task.js";
import { SessionTransport } from "./session-transport.js";
import { MAX_TIMEOUT_MS, setTimer } from "../driver/timers.js";

/**
 * Returns a transport for the sessions on a target, and two functions. `open` starts the transport, and resolves when
 * the first session begins. `open` rejects after `timeout` ms. If the timeout is negative, or too long for a timer,
 * `open` waits without a limit. `fail` makes `open` reject with an error.
 * @param {any} target
 * @param {import("../../types/connect.js").ConnectOptions} options
 */
export function prepareSession(target, options) {
  const connectTarget = resolveTarget(target, options.origin);
  let onOpen;
  let fail;
  const opened = new Promise((...functions) => ([onOpen, fail] = functions));
  const transport = new SessionTransport(connectTarget, options, onOpen, fail);
  options.tap?.(transport, connectTarget, options);
  return {
    transport,
    fail,
    open(timeout) {
      transport.start();
      const onTimeout = () => fail(noAnswer(timeout, connectTarget));
      const isLimited = timeout >= 0 && timeout <= MAX_TIMEOUT_MS;
      // `fail` is called in a queued task, so that an answer that arrived while this thread was blocked is handled
      // first.
      const timer = isLimited ? setTimer(() => queueTask(onTimeout), timeout) : undefined;
      return opened.finally(() => clearTimeout(timer));
    },
  };
}
