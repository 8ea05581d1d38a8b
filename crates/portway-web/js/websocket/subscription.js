// Subscriptions: the peer answers a request with an id, and sends the items in notifications with this id. A new
// connection has no subscriptions, so this module subscribes again on each connection, and reports the gap.

import { MAX_SUBSCRIPTION_ITEMS } from "../driver/limit-values.js";
import { checkOptions, checkValue } from "./check-options.js";
import { runUserCode } from "../driver/error-reporter.js";

const FUNCTION = ["a function"];
const STRING = ["a string"];
/** The parameters of `checkValue` for each option. */
const OPTIONS = {
  transport: ["an object"],
  method: STRING,
  params: ["an object, an array or a function"],
  unsubscribe: STRING,
  notification: STRING,
  readId: FUNCTION,
  readEventId: FUNCTION,
  readItem: FUNCTION,
  onGap: FUNCTION,
  buffer: ["a number", 1],
  timeout: ["a number of milliseconds", 0],
  signal: ["an object"],
};

/** @type {typeof import("../../types/subscription.js").subscribe} */
export function subscribe(client, options) {
  checkValue("client.request", client?.request, ...FUNCTION);
  checkValue("options", options, "an object");
  checkOptions(options, OPTIONS);
  const {
    method,
    params,
    notification,
    unsubscribe,
    timeout,
    onGap,
    buffer = MAX_SUBSCRIPTION_ITEMS,
    readId = (result) => result,
    readEventId = (event) => event?.subscription,
    readItem = (event) => event?.result,
  } = options;
  /** @type {any} */
  const { transport, signal } = options;
  checkValue("method", method, ...STRING);
  checkValue("notification", notification, ...STRING);
  if (transport?.watch === undefined) throw new TypeError("transport must be made by webSocketTransport");
  if (signal)
    for (const name of ["addEventListener", "removeEventListener"])
      checkValue(`signal.${name}`, signal[name], ...FUNCTION);
  /** The items that were not read yet, and the reads that wait for an item. */
  const items = [];
  const reads = [];
  /** The number of the session; 0 if there is none. */
  let session = 0;
  /** The id of the subscription, in an object; undefined until the peer has answered in this session. */
  let current;
  /** The events that have arrived before the id of the subscription. */
  let early = [];
  /** The time of the last item or subscription; undefined before the first subscription. */
  let since;
  let isOver = false;
  let failure;
  /** Removes the watcher of the transport. Undefined until `watch` has returned. */
  let stopWatching;

  const settle = () => {
    while (reads.length > 0 && (items.length > 0 || isOver)) {
      const { resolve, reject } = reads.shift();
      const error = failure;
      if (items.length > 0) resolve({ done: false, value: items.shift() });
      else if (error === undefined) resolve({ done: true, value: undefined });
      else {
        failure = undefined;
        reject(error);
      }
    }
  };

  const end = (error) => {
    if (isOver) return;
    isOver = true;
    failure = error;
    stopWatching?.();
    signal?.removeEventListener("abort", onAbort);
    if (current) remove(current.id);
    settle();
  };
  const onAbort = () => end(signal.reason);

  /** Unsubscribes. A peer that has forgotten the subscription answers with an error, which is ignored. */
  const remove = (id) => unsubscribe && client.request(unsubscribe, [id]).catch(() => {});

  const reportGap = (dropped) => {
    const gap = { since, dropped };
    runUserCode(() => onGap?.(gap), end);
  };

  const onEvent = (event) => {
    runUserCode(() => {
      if (readEventId(event) !== current.id) return;
      items.push(readItem(event));
      settle();
      if (items.length > buffer) reportGap(items.splice(0, items.length - buffer).length);
      since = Date.now();
    }, end);
  };

  const begin = async () => {
    const own = session;
    try {
      const currentParams = typeof params === "function" ? await params() : params;
      const id = readId(await client.request(method, currentParams, { timeout }));
      if (session !== own) return;
      if (isOver) return void remove(id);
      current = { id };
      if (since !== undefined) reportGap(0);
      since = Date.now();
      early.splice(0).forEach(onEvent);
    } catch (/** @type {any} */ error) {
      // If the session has ended, the next session subscribes again, so this error does not end the subscription.
      if (session === own) end(error);
    }
  };

  stopWatching = transport.watch({
    onMessage({ method, params, id }) {
      if (method !== notification || id !== undefined) return;
      if (current) return onEvent(params);
      // The peer may send events before its answer. These events may belong to other subscriptions, so `onEvent` checks
      // the ids later. The array keeps one event more than `buffer`, so that `onEvent` reports a gap if events were
      // dropped here.
      early = [...early, params].slice(-buffer - 1);
    },
    onSession(number) {
      session = number;
      current = undefined;
      early = [];
      if (number > 0) begin();
    },
    onEnd: end,
  });
  // If the connection is open, `watch` calls `params`, which may throw.
  if (isOver) stopWatching();
  else signal?.addEventListener("abort", onAbort);
  if (signal?.aborted) onAbort();

  return {
    next: () =>
      new Promise((resolve, reject) => {
        reads.push({ resolve, reject });
        settle();
      }),
    async return(value) {
      items.length = 0;
      end();
      failure = undefined;
      return { done: true, value };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
