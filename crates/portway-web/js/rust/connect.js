// `connect` for the Rust API, which creates the peer itself. The npm package does not contain this file.

import { noAnswer, resolveTarget } from "../session/connect-target.js";
import { queueTask } from "../driver/queue-task.js";
import { untilTrap } from "./trap-guard.js";
import { endCode } from "./client-server.js";
import { SessionTransport } from "../session/session-transport.js";
import { MAX_TIMEOUT_MS, setTimer } from "../driver/timers.js";

/**
 * Returns a transport, and the function that starts it and waits for its first session. `timeout` is in milliseconds; a
 * negative one never ends the attempt.
 */
export function sessionTo(target, origin, channel, heartbeat, timeout, sessionCallback, lossCallback) {
  const [onBegin, onEnd] = [untilTrap(sessionCallback), untilTrap(lossCallback)];
  const onSession = ({ number }) => onBegin(number);
  const onLost = (error) => onEnd(endCode(error), error);
  let onOpen;
  let onFail;
  const opened = new Promise((resolve, reject) => {
    onOpen = resolve;
    onFail = reject;
  });
  const connectTarget = resolveTarget(target, origin);
  const transport = new SessionTransport(connectTarget, { channel, heartbeat, onSession, onLost }, onOpen, onFail);
  return {
    transport,
    open() {
      const late = () => onFail(noAnswer(timeout, connectTarget));
      const timer = timeout < 0 ? undefined : setTimer(() => queueTask(late), Math.min(timeout, MAX_TIMEOUT_MS));
      transport.start();
      return new Promise((resolve, reject) => {
        opened.finally(() => clearTimeout(timer)).then(untilTrap(resolve), untilTrap(reject));
      });
    },
  };
}
