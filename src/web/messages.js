// Messages of ours, and what can be transferred with them.

import { define, nameOf, tagOf } from "./errors.js";

/** A request or, without an id, a notification. */
export function callMessage(method, params, id) {
  const bare = params === undefined || params === null;
  if (id === undefined) return bare ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params };
  return bare ? { jsonrpc: "2.0", method, id } : { jsonrpc: "2.0", method, params, id };
}

/** What is wrong with a call, or undefined. */
export function callProblem(method, params) {
  if (typeof method !== "string") return new TypeError(`the name of a method is a string, not ${typeof method}`);
  if (params !== undefined && typeof params !== "object") {
    return new TypeError(`the params of "${method}" are an object or an array, not ${typeof params}`);
  }
}

/** What is wrong with the signal of a call, or undefined. */
export function signalProblem(signal) {
  if (signal !== undefined && typeof signal.addEventListener !== "function") {
    return new TypeError(`the signal of a call is an AbortSignal, not ${typeof signal}`);
  }
}

/** The reason of an aborted signal. Polyfills have none. */
export function reasonOf({ reason }) {
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
  const list = transfer ? transferable(transfer) : undefined;
  try {
    return transport.send(message, list);
  } catch (error) {
    return sendPlain(error, message, (copy) => transport.send(copy, list));
  }
}

/** Runs `send` with a copy of a message that could not be cloned. The copy holds no proxies. Throws the first error if that fails. */
export function sendPlain(error, message, send) {
  if (nameOf(error) !== "DataCloneError") throw error;
  try {
    return send(plain(message));
  } catch {
    throw error;
  }
}

/**
 * A copy of the plain objects, arrays, maps and sets in a value; all else is the same. Libraries for user interfaces put
 * proxies around those, which no browser clones. `copyOther`, if there is one, copies all other objects, and those with
 * `toJSON`.
 */
export function plain(value, copyOther, copies = new Map()) {
  if (typeof value !== "object" || value === null) return value;
  if (copies.has(value)) return copies.get(value);
  const tag = tagOf(value);
  const copy = { "[object Array]": [], "[object Map]": new Map(), "[object Object]": {}, "[object Set]": new Set() }[
    tag
  ];
  const isOther = copy === undefined || (copyOther !== undefined && typeof value.toJSON === "function");
  copies.set(value, isOther ? (copyOther?.(value, tag) ?? value) : copy);
  if (isOther) return copies.get(value);
  const part = (item) => plain(item, copyOther, copies);
  if (copy instanceof Set) for (const item of value) copy.add(part(item));
  else if (copy instanceof Map) for (const [key, item] of value) copy.set(part(key), part(item));
  else {
    for (const key of Object.keys(value)) define(copy, key, part(value[key]), true);
    if (tag === "[object Array]") copy.length = value.length;
  }
  return copy;
}

/** What was given as a transfer list, as an array: it may be an iterator, which can be read once. */
export function listOf(transfer) {
  if (typeof transfer[Symbol.iterator] === "function") return [...transfer];
  throw new TypeError("transfer takes a list");
}

/**
 * The items of a transfer list, in the order in which a browser that fails half-way has taken nothing away: engines check
 * some kinds only when their turn comes, when buffers may be detached already, and the caller's data with them.
 */
export function transferable(given) {
  const list = listOf(given);
  // One buffer alone is the usual case; and only where it is empty, it may be detached.
  if (list.length === 1 && list[0] instanceof ArrayBuffer && list[0].byteLength > 0) return list;
  for (const item of list) {
    // Throws if the buffer is detached.
    if (item?.byteLength === 0) new Uint8Array(item);
    if (item?.locked || item?.readable?.locked || item?.writable?.locked) throw refused("a locked stream");
    if (isPort(item) && isClosed(item)) throw refused("a port that is closed or was transferred");
  }
  return list.sort((a, b) => turn(a) - turn(b));
}

/** Whether a value is a port, of whichever window: each has a class of its own for them. */
export function isPort(value) {
  return typeof value?.start === "function";
}

/** The ports that were closed here. */
const closed = new WeakSet();

export function close(port) {
  closed.add(port);
  port.close();
}

/** Whether a port is known to be closed. An open port refuses to carry itself. In Chromium and WebKit a closed one does not. */
export function isClosed(port) {
  // An object that acts as a port may take anything.
  if (tagOf(port) !== "[object MessagePort]") return false;
  if (closed.has(port)) return true;
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
function turn(item) {
  const bytes = item?.byteLength;
  return bytes === undefined ? -1 : bytes % 65_536 === 0 ? bytes : Infinity;
}

function refused(what) {
  return new DOMException(`${what} cannot be transferred`, "DataCloneError");
}
