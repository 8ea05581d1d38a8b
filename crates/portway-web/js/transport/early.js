// `portway/early`. An application imports this module first, for its side effect: the module listens at once. It
// buffers the messages that arrive before the wasm has loaded and a transport exists. This module imports only numbers,
// so that no other code runs first.

import {
  EARLY_TIMEOUT,
  MAX_EARLY_COST,
  MAX_EARLY_MESSAGES,
  MAX_EARLY_TOTAL_COST,
  MAX_ID_LENGTH,
} from "../driver/limit-values.js";

const EARLY = Symbol.for("portway.early");
/** The senders that a transport handles. Once this module has run, the set also has the members `take` and `settle`. */
const handled = (globalThis[EARLY] ??= new WeakSet());
/** The cost of one response, charged to the sender of the request. In addition, each message costs 1. */
const ANSWER_COST = 10;
/** The text is fixed, because any window may send a request. The actual reason may contain addresses or tokens. */
const FAILED = { code: -32603, message: "portway could not start" };

const isWindow = typeof document !== "undefined";

function isMessageOrBatch(data) {
  if (!Array.isArray(data)) return data?.jsonrpc === "2.0";
  // `findIndex` stops at the first hole. `every` would step over each hole, and a small message may have billions of
  // them.
  return data.length > 0 && data.findIndex((item) => item?.jsonrpc !== "2.0") < 0;
}

/**
 * Returns whether a request with this id is answered. An id of another type may be uncloneable, and a long id is
 * costly.
 */
const isId = (id) => typeof id === "number" || (typeof id === "string" && id.length <= MAX_ID_LENGTH);

if (handled.take === undefined && typeof globalThis.addEventListener === "function") {
  /**
   * The buffered events by sender. A transport reads their data later, because an engine copies data when it is read.
   */
  let buffered = new Map();
  let count = 0;
  let hasWarned = false;
  let hasFailed = false;
  let timer;
  /** The cost of each sender so far. */
  const costs = new WeakMap();
  /** The cost of all senders together. */
  let costOfAll = 0;

  const listener = (event) => {
    // A message from the owner of a worker has no source.
    const sender = event.source ?? globalThis;
    if (event.isTrusted === false || handled.has(sender)) return;
    if (hasFailed) rejectRequests(event, sender);
    else buffer(event, sender);
  };

  function buffer(event, sender) {
    let events = buffered.get(sender);
    if (events === undefined) buffered.set(sender, (events = []));
    events.push(event);
    if (++count > MAX_EARLY_MESSAGES) dropNewest(sender, events);
  }

  /**
   * Drops the newest event of the sender with the most events, so that its many events do not displace the events of
   * other senders.
   */
  function dropNewest(sender, events) {
    for (const [other, more] of buffered) if (more.length > events.length) [sender, events] = [other, more];
    events.pop();
    count--;
    if (events.length === 0) buffered.delete(sender);
    if (!hasWarned) console.warn("portway: early messages were dropped, because no transport handles them");
    hasWarned = true;
  }

  /** Answers the requests in a message with an error, unless the cost of their sender is too high. */
  function rejectRequests(event, sender) {
    // In a window, the answer goes to the sender's window and origin. `source` is null if that window was removed.
    if (isWindow && event.source === null) return;
    const spent = costs.get(sender) ?? 0;
    const remaining = Math.min(MAX_EARLY_COST - spent, MAX_EARLY_TOTAL_COST - costOfAll);
    if (remaining <= 0) return;
    const { data } = event;
    let cost = 1;
    for (const { id, method } of isMessageOrBatch(data) ? [data].flat() : []) {
      if (typeof method !== "string" || !isId(id)) continue;
      if (cost >= remaining) break;
      cost += ANSWER_COST;
      const reply = { jsonrpc: "2.0", error: FAILED, id };
      if (isWindow) sender.postMessage(reply, event.origin === "null" ? "*" : event.origin);
      else sender.postMessage(reply);
    }
    costs.set(sender, spent + cost);
    costOfAll += cost;
  }

  function release() {
    globalThis.removeEventListener("message", listener);
    buffered = new Map();
    count = 0;
  }

  globalThis.addEventListener("message", listener);
  Object.assign(handled, {
    /** Removes the buffered events of `sender` for which `accepts` returns true, and returns these events. */
    take(accepts, sender) {
      const taken = [];
      const rest = [];
      for (const event of buffered.get(sender) ?? []) (accepts(event) ? taken : rest).push(event);
      if (rest.length > 0) buffered.set(sender, rest);
      else buffered.delete(sender);
      count -= taken.length;
      // A worker has one owner, and from now on a transport listens to this owner.
      if (!isWindow) globalThis.removeEventListener("message", listener);
      return taken;
    },
    /**
     * Called once the wasm has started, or has failed with `error`; `null` stands for an error that was printed
     * already. After a start, the buffer is dropped when `EARLY_TIMEOUT` is over. After a failure, requests are
     * answered with an error.
     */
    settle(error) {
      clearTimeout(timer);
      hasFailed = error !== undefined;
      if (!hasFailed) return void (timer = setTimeout(release, EARLY_TIMEOUT));
      if (error !== null) console.error("portway could not start:", error);
      const rejected = buffered;
      release();
      globalThis.addEventListener("message", listener);
      for (const [sender, events] of rejected) for (const event of events) rejectRequests(event, sender);
    },
  });
}
