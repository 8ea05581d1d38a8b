// Messages of ours, and what can be transferred with them.

import { define, nameOf, tagOf } from "./errors.js";

/** A request or, without an id, a notification. */
export function requestOrNotification(method, params, id) {
  const hasNoParams = params === undefined || params === null;
  if (id === undefined) return hasNoParams ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params };
  return hasNoParams ? { jsonrpc: "2.0", method, id } : { jsonrpc: "2.0", method, params, id };
}

/** What is wrong with a call, or undefined. */
export function validateCall(method, params) {
  if (typeof method !== "string") return new TypeError(`the name of a method is a string, not ${typeof method}`);
  if (params !== undefined && typeof params !== "object") {
    return new TypeError(`the params of "${method}" are an object or an array, not ${typeof params}`);
  }
}

/** What is wrong with the signal of a call, or undefined. */
export function validateSignal(signal) {
  if (signal !== undefined && typeof signal.addEventListener !== "function") {
    return new TypeError(`the signal of a call is an AbortSignal, not ${typeof signal}`);
  }
}

/** The reason of an aborted signal. Polyfills have none. */
export function abortReason({ reason }) {
  if (reason !== undefined) return reason;
  const text = "the call was aborted";
  return globalThis.DOMException
    ? new DOMException(text, "AbortError")
    : Object.assign(new Error(text), { name: "AbortError" });
}

/**
 * Sends a message, and returns what the transport returns: nothing, or a promise. What cannot be transferred fails here, before
 * anything is gone.
 */
export function post(transport, message, transfer) {
  const list = transfer ? orderTransferList(transfer) : undefined;
  try {
    return transport.send(message, list);
  } catch (error) {
    return retryWithPlainCopy(error, message, (copy) => transport.send(copy, list));
  }
}

/** Runs `send` with a copy of a message that could not be cloned. The copy holds no proxies. Throws the first error if that fails. */
export function retryWithPlainCopy(error, message, send) {
  if (nameOf(error) !== "DataCloneError") throw error;
  try {
    return send(plainCopy(message));
  } catch {
    throw error;
  }
}

/**
 * A copy of the plain objects, arrays, maps and sets in a value; all else is the same. Libraries for user interfaces put
 * proxies around those, which no browser clones. `copyOther`, if there is one, copies all other objects, and those with
 * `toJSON`.
 */
export function plainCopy(value, copyOther, copies = new Map()) {
  if (typeof value !== "object" || value === null) return value;
  if (copies.has(value)) return copies.get(value);
  const tag = tagOf(value);
  const copy = { "[object Array]": [], "[object Map]": new Map(), "[object Object]": {}, "[object Set]": new Set() }[
    tag
  ];
  const isOther = copy === undefined || (copyOther !== undefined && typeof value.toJSON === "function");
  copies.set(value, isOther ? (copyOther?.(value, tag) ?? value) : copy);
  if (isOther) return copies.get(value);
  const copyPart = (item) => plainCopy(item, copyOther, copies);
  if (copy instanceof Set) for (const item of value) copy.add(copyPart(item));
  else if (copy instanceof Map) for (const [key, item] of value) copy.set(copyPart(key), copyPart(item));
  else {
    for (const key of Object.keys(value)) define(copy, key, copyPart(value[key]), true);
    if (tag === "[object Array]") copy.length = value.length;
  }
  return copy;
}

/** What was given as a transfer list, as an array: it may be an iterator, which can be read once. */
export function toTransferArray(transfer) {
  if (typeof transfer[Symbol.iterator] === "function") return [...transfer];
  throw new TypeError("transfer takes a list");
}

/**
 * The items of a transfer list, in the order in which a browser that fails half-way has taken nothing away: engines check
 * some kinds only when their turn comes, when buffers may be detached already, and the caller's data with them.
 */
export function orderTransferList(transfer) {
  const list = toTransferArray(transfer);
  // One buffer alone is the usual case; and only where it is empty, it may be detached.
  if (list.length === 1 && list[0] instanceof ArrayBuffer && list[0].byteLength > 0) return list;
  for (const item of list) {
    // Throws if the buffer is detached.
    if (item?.byteLength === 0) new Uint8Array(item);
    if (item?.locked || item?.readable?.locked || item?.writable?.locked) throw dataCloneError("a locked stream");
    if (isPort(item) && isClosedPort(item)) throw dataCloneError("a port that is closed or was transferred");
  }
  return list.sort((a, b) => transferPriority(a) - transferPriority(b));
}

/** Whether a value is a port, of whichever window: each has a class of its own for them. */
export function isPort(value) {
  return typeof value?.start === "function";
}

/** The ports that were closed here. */
const closedPorts = new WeakSet();

export function closePort(port) {
  closedPorts.add(port);
  port.close();
}

/** Whether a port is known to be closed. An open port refuses to carry itself. In Chromium and WebKit a closed one does not. */
export function isClosedPort(port) {
  // An object that acts as a port may take anything.
  if (tagOf(port) !== "[object MessagePort]") return false;
  if (closedPorts.has(port)) return true;
  try {
    port.postMessage(undefined, [port]);
    return true;
  } catch {
    return false;
  }
}

/**
 * When an item has its turn: first what is no buffer; then buffers of whole pages, the smaller ones first, since they may
 * be the memory of some wasm, which nothing tells before it refuses; then all others, which never do.
 */
function transferPriority(item) {
  const bytes = item?.byteLength;
  return bytes === undefined ? -1 : bytes % 65_536 === 0 ? bytes : Infinity;
}

function dataCloneError(what) {
  return new DOMException(`${what} cannot be transferred`, "DataCloneError");
}
