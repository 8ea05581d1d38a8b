// Builds and sends messages, and checks the arguments of calls.

import { define, nameOf, tagOf } from "./errors.js";
import { orderTransferList } from "./transfer-list.js";

/** Returns a request or, without an id, a notification. */
export function requestOrNotification(method, params, id) {
  const hasNoParams = params === undefined || params === null;
  if (id === undefined) return hasNoParams ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params };
  return hasNoParams ? { jsonrpc: "2.0", method, id } : { jsonrpc: "2.0", method, params, id };
}

/** Returns the error for an invalid method or params, or undefined. */
export function validateCall(method, params) {
  if (typeof method !== "string") return new TypeError(`method must be a string, got ${typeof method}`);
  if (params !== undefined && typeof params !== "object") {
    return new TypeError(`params of "${method}" must be an object or an array, got ${typeof params}`);
  }
}

/** Returns the error for an invalid signal of a call, or undefined. */
export function validateSignal(signal) {
  if (signal !== undefined && typeof signal.addEventListener !== "function") {
    return new TypeError(`signal must be an AbortSignal, got ${typeof signal}`);
  }
}

/** Returns the reason of an aborted signal. The signal of a polyfill may have no reason. */
export function abortReason({ reason }) {
  return reason === undefined ? abortError("the call was aborted") : reason;
}

export function abortError(text) {
  return globalThis.DOMException
    ? new DOMException(text, "AbortError")
    : Object.assign(new Error(text), { name: "AbortError" });
}

/**
 * Sends a message, and returns the result of the transport: undefined or a promise. If an object cannot be transferred,
 * throws before any object is detached.
 */
export function post(transport, message, transfer) {
  const list = transfer ? orderTransferList(transfer) : undefined;
  try {
    return transport.send(message, list);
  } catch (error) {
    return retryWithPlainCopy(error, message, (copy) => transport.send(copy, list));
  }
}

/**
 * Runs `send` with a copy of a message that could not be cloned. The copy contains no proxies. `error` is the error of
 * the first attempt. Throws `error` if it is not a `DataCloneError`, or if the second attempt also fails.
 */
export function retryWithPlainCopy(error, message, send) {
  if (nameOf(error) !== "DataCloneError") throw error;
  try {
    return send(plainCopy(message));
  } catch {
    throw error;
  }
}

/**
 * Copies the plain objects, arrays, maps and sets in a value. User interface libraries wrap such objects in proxies,
 * and no browser clones a proxy. Any other object is not copied, unless `copyOther` returns a copy of it. `copyOther`
 * is also called for plain objects with `toJSON`.
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
