// Decides whether a connection is dead. Any message is a sign of life. A silent peer is asked, and then has the same
// time for an answer. As for the heartbeat of sessions, time in which this thread was suspended or blocked does not
// count.

import { now } from "../driver/clock.js";
import { MIN_HEARTBEAT } from "../driver/limit-values.js";
import { MAX_TIMEOUT_MS, setTimer } from "../driver/timers.js";

/** The number of checks before a silent peer is asked. */
const CHECKS = 5;

/**
 * `option` is the silence (ms) before a question, and the time for its answer; 0 or false disables both. `isWaiting`
 * returns whether calls are pending. `ping` asks the peer: by a notification if its argument is true, else by a
 * request. `onDead` is called if there is no answer.
 */
export function liveness(option, isWaiting, ping, onDead) {
  const isOn = option > 0 && option <= MAX_TIMEOUT_MS;
  const interval = Math.max(option, MIN_HEARTBEAT) / CHECKS;
  /** @type {any} The timer of the next check; undefined while there are no checks. */
  let timer;
  /** The number of intervals without a message. Those of late timers do not count. */
  let silence = 0;
  /** The silence at the time of the last question; undefined if none is open. */
  let asked;
  /** Whether the peer answers `rpc.ping` by `rpc.pong`, so that it can be asked while no call is pending. */
  let answersPings = false;

  const reset = () => {
    silence = 0;
    asked = undefined;
  };

  /** Starts the checks, if they do not run. Silence without a pending call does not count. */
  const watch = () => {
    if (!isOn || timer !== undefined) return;
    silence = 0;
    schedule();
  };

  const schedule = () => {
    const due = now() + interval;
    timer = setTimer(() => {
      timer = undefined;
      if (now() < due + interval / 4) silence++;
      if (asked === undefined ? !isWaiting() && !answersPings : silence >= asked + CHECKS)
        return asked === undefined || onDead();
      schedule();
      if (silence >= (isWaiting() ? CHECKS : 2 * CHECKS)) ask();
    }, interval);
  };

  /** Asks the peer now, unless a question is open. */
  const ask = () => {
    if (!isOn || asked !== undefined || !(isWaiting() || answersPings)) return;
    watch();
    asked = silence;
    ping(answersPings);
  };

  return {
    reset,
    watch,
    ask,
    /** Called once the peer has shown that it answers `rpc.ping` by `rpc.pong`. */
    onPeer() {
      answersPings = true;
      watch();
    },
    /** Stops the checks at the end of a connection. */
    stop() {
      timer = clearTimeout(timer);
      answersPings = false;
      reset();
    },
  };
}
