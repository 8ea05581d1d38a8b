// `portway/early`: imported first, and for its effect. It listens at once, and keeps the messages that come before wasm
// has loaded and a transport is there to hear them. It imports numbers only, so that nothing runs before it.

import {
  EARLY_TIMEOUT,
  MAX_EARLY_COST,
  MAX_EARLY_MESSAGES,
  MAX_EARLY_TOTAL_COST,
  MAX_ID_LENGTH,
} from "../web/limit-values.js";

const EARLY = Symbol.for("portway.early");
/** Whom a transport hears by now; with the functions below, once this module has run. */
const handled = (globalThis[EARLY] ??= new WeakSet());
/** What an answer to an early request costs its sender; a message costs 1. */
const ANSWER_COST = 10;
/** A fixed text: the reason may hold addresses or tokens, and any window may ask. */
const FAILED = { code: -32603, message: "portway could not start" };

const isWindow = typeof document !== "undefined";

function isMessageOrBatch(data) {
  if (!Array.isArray(data)) return data?.jsonrpc === "2.0";
  // Ends at the first hole, of which there may be billions.
  return data.length > 0 && data.findIndex((item) => item?.jsonrpc !== "2.0") < 0;
}

/** Whether an answer can have this id: a value of another kind, or a long text, may fail to be cloned, or be costly. */
const isId = (id) => typeof id === "number" || (typeof id === "string" && id.length <= MAX_ID_LENGTH);

if (handled.take === undefined && typeof globalThis.addEventListener === "function") {
  /** The events that are kept, by sender. Their data is not read before a transport wants them: reading it costs a copy. */
  let buffered = new Map();
  let count = 0;
  let hasWarned = false;
  let hasFailed = false;
  let timer;
  /** The cost of each sender so far, and of all together. */
  const costs = new WeakMap();
  let costOfAll = 0;

  const listener = (event) => {
    // What comes from the owner of a worker has no source.
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

  /** The sender that has the most events loses its newest: a sender that floods this side leaves room for the others. */
  function dropNewest(sender, events) {
    for (const [other, more] of buffered) if (more.length > events.length) [sender, events] = [other, more];
    events.pop();
    count--;
    if (events.length === 0) buffered.delete(sender);
    if (!hasWarned) console.warn("portway: early messages are dropped, since nobody handles them");
    hasWarned = true;
  }

  /** Answers the requests in a message: this side will not serve. A sender that has cost too much gets no answer. */
  function rejectRequests(event, sender) {
    // In a window, an answer goes to the window that asked and to its origin. That window may be gone.
    if (isWindow && event.source === null) return;
    const spent = costs.get(sender) ?? 0;
    const left = Math.min(MAX_EARLY_COST - spent, MAX_EARLY_TOTAL_COST - costOfAll);
    if (left <= 0) return;
    const { data } = event;
    let cost = 1;
    for (const { id, method } of isMessageOrBatch(data) ? [data].flat() : []) {
      if (typeof method !== "string" || !isId(id)) continue;
      if (cost >= left) break;
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
    /** Takes the kept events of a sender that `accepts` accepts. */
    take(accepts, sender) {
      const taken = [];
      const rest = [];
      for (const event of buffered.get(sender) ?? []) (accepts(event) ? taken : rest).push(event);
      if (rest.length > 0) buffered.set(sender, rest);
      else buffered.delete(sender);
      count -= taken.length;
      // A worker has one owner, and a transport hears it from here on.
      if (!isWindow) globalThis.removeEventListener("message", listener);
      return taken;
    },
    /** The wasm has started, or has failed with an error; with null, the error was printed already. */
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
