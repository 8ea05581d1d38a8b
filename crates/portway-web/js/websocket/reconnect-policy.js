// The reconnect policy: decides whether there is another attempt, and when it starts. The policy has no IO and reads no
// clock. The option `jitter` makes the delays random. `reconnect.rs` of `portway-proto` implements the same policy, and
// has a diagram of the states. `tests/data/reconnect.json` has the test vectors of both policies.

import { MAX_RECONNECT_DELAY, RECONNECT_DELAY, RECONNECT_HOLD, RESTART_DELAY } from "../driver/limit-values.js";
import { checkOptions, checkValue, resultOf } from "./check-options.js";

const MILLISECONDS = "a number of milliseconds";
const TIME = [MILLISECONDS, 0];
/** The parameters of `checkValue` for each option. */
const OPTIONS = { base: TIME, cap: TIME, hold: TIME, restart: TIME, jitter: ["a function"] };

/** Returns the verdict on a close code: "stop", "back-off" or "wait-longer". */
export function verdictOf(code) {
  if (/^(10(02|03|08|10)|300[03]|44(?!08|29)..)$/.test(code)) return "stop";
  return /^101[23]$/.test(code) ? "wait-longer" : "back-off";
}

export class ReconnectPolicy {
  /** @type {import("../../types/websocket.js").ReconnectPolicy["state"]} */
  state = "idle";
  /**
   * The number of failures since a connection was last `held`: open for at least the longer of `hold` and `delay`.
   */
  attempt = 0;
  /**
   * The last delay (ms) that the policy has chosen, or 0 before the first failure. In the state `waiting`, it is the
   * delay before the next attempt.
   */
  delay = 0;
  /**
   * The time at which `handleTimeout` must be called, or undefined.
   * @type {number | undefined}
   */
  due;
  #hold;
  /** Returns the delay before the next attempt. Its argument is the verdict on the last failure. */
  #nextDelay;
  /** Whether `hurry` has shortened a delay since `handleTimeout` last changed the state. */
  #isHurried = false;

  /**
   * `report` is called with the errors of `jitter`.
   * @param {import("../../types/websocket.js").ReconnectOptions} [options]
   * @param {(error: any) => void} [report]
   */
  constructor(options = {}, report = () => {}) {
    checkValue("reconnect", options, "false or an object");
    checkOptions(options, OPTIONS, "reconnect.");
    const {
      base = RECONNECT_DELAY,
      cap = Math.max(MAX_RECONNECT_DELAY, base),
      hold = RECONNECT_HOLD,
      restart = RESTART_DELAY,
      jitter = (delay) => delay * Math.random(),
    } = options;
    checkValue("reconnect.cap", cap, MILLISECONDS, base);
    this.#hold = hold;
    this.#nextDelay = (verdict) => {
      const least = verdict === "wait-longer" ? restart : 0;
      // After 1 024 failures, the power is infinite. If `base` is 0, the product with this power is not a number, and 0
      // replaces it.
      const delay = Math.min(cap, Math.max(base, least) * 2 ** this.attempt++ || 0);
      // If `jitter` fails, the delay is used without jitter.
      const part = resultOf("reconnect.jitter", () => jitter(delay, this.attempt - 1), delay, report, MILLISECONDS, 0);
      return Math.min(cap, least + part);
    };
  }

  start() {
    if (this.state === "idle") this.#enter("connecting");
  }

  opened(now) {
    if (this.state === "connecting") this.#enter("open", now + Math.max(this.#hold, this.delay));
  }

  handleTimeout(now) {
    // Without a due time, the comparison is false.
    if (!(now >= /** @type {number} */ (this.due))) return;
    this.#isHurried = false;
    if (this.state === "open") this.attempt = 0;
    this.#enter(this.state === "open" ? "held" : "connecting");
  }

  /**
   * Handles the end of a connection or of an attempt. `code` is the close code. `verdict` replaces the verdict on the
   * code.
   */
  lost(now, code, verdict = verdictOf(code)) {
    // The timer that sets `held` may be late, so the time decides whether the connection has reached that state.
    if (this.state === "open") this.handleTimeout(now);
    else if (!/^(conn|held)/.test(this.state)) return;
    if (verdict === "stop") return this.close();
    const delay = this.#nextDelay(verdict);
    // `jitter` may have closed the policy.
    if (this.state === "closed") return;
    this.delay = delay;
    this.#enter("waiting", now + delay);
  }

  /**
   * Starts an attempt before the delay has ended. Returns false if no attempt may start. After one such attempt, a
   * further call is refused until a delay has run to its end or a connection is `held`.
   */
  hurry() {
    if (this.state !== "waiting" || this.#isHurried) return false;
    this.#enter("connecting");
    return (this.#isHurried = true);
  }

  close() {
    this.#enter("closed");
  }

  #enter(state, due) {
    this.state = state;
    this.due = due;
  }
}
