// Sends messages, and what to do about those that cannot be sent.

import { INTERNAL_ERROR } from "./errors.js";

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

/** Sends a message. What cannot be transferred fails here, before anything is gone. */
export function post(transport, message, transfer) {
  transport.send(message, transfer && transferable(transfer));
}

/**
 * The items of a transfer list, in the order in which a browser that fails half-way has taken nothing away: engines check
 * some kinds only when their turn comes, when buffers may be detached already, and the caller's data with them.
 */
function transferable(list) {
  for (const item of list) {
    // Throws if the buffer is detached.
    if (item?.byteLength === 0) new Uint8Array(item);
    if (item?.locked || item?.readable?.locked || item?.writable?.locked) throw refused("a locked stream");
    if (isPort(item) && isClosed(item)) throw refused("a port that is closed or was transferred");
  }
  return [...list].sort((a, b) => turn(a) - turn(b));
}

/** Whether a value is a port, of whichever window: each has a class of its own for them. */
export function isPort(value) {
  return typeof value?.start === "function";
}

/** Nothing goes through itself: a port that is alive refuses, and some engines are silent if it is not. */
function isClosed(port) {
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

/** Sends a reply; one that cannot be sent becomes an error. */
export function sendReply(transport, { message, transfer, method }) {
  try {
    post(transport, message, transfer);
  } catch (problem) {
    transport.send(unsendable(message, problem, method));
  }
}

/** Refuses the requests in a message: this side will never serve them. */
export function refuse(transport, message, error) {
  for (const { method, id } of [message].flat()) {
    if (method !== undefined && id !== undefined) sendReply(transport, { message: { jsonrpc: "2.0", error, id } });
  }
}

/**
 * Sends entries (`message`, and perhaps `transfer`) as one array. If it cannot be sent, those that are to blame are taken
 * out, so that they do no harm to the rest: a reply becomes an error; any other is handed to `drop` with the problem.
 * If nothing can be sent at all, every one is dropped, and the problem is thrown.
 */
export function sendBatch(transport, entries, drop) {
  if (sendingProblem(transport, entries) === undefined) return;
  const rest = entries.flatMap((entry) => {
    const problem = thrownBy(() => tryOut(entry));
    if (problem === undefined) return [entry];
    if ("method" in entry.message) return drop(entry, problem), [];
    return [{ message: unsendable(entry.message, problem, entry.method) }];
  });
  const problem = sendingProblem(transport, rest);
  if (problem === undefined) return;
  for (const entry of rest) drop(entry, problem);
  throw problem;
}

/** Fails if this entry cannot be sent. What it transfers can be moved more than once, and is not copied by that. */
function tryOut(entry) {
  const { message } = entry;
  const transfer = entry.transfer && transferable(entry.transfer);
  if (transfer === undefined) structuredClone(message);
  else Object.assign(entry, structuredClone({ message, transfer }, { transfer }));
}

/** Sends entries; what was thrown at that, if anything. */
function sendingProblem(transport, entries) {
  if (entries.length === 0) return undefined;
  const transfer = entries.flatMap((entry) => entry.transfer ?? []);
  const messages = entries.map((entry) => entry.message);
  return thrownBy(() => post(transport, messages, transfer.length > 0 ? transfer : undefined));
}

function thrownBy(run) {
  try {
    run();
  } catch (error) {
    return error ?? new Error("the transport cannot send");
  }
}

/** The reply in place of one that cannot be sent. */
function unsendable({ id, error }, problem, method) {
  // An error stays what it is, without the data that cannot cross.
  if (error !== undefined) return { jsonrpc: "2.0", error: { code: error.code, message: error.message }, id };
  // By name only: engines put the source of a function that cannot be cloned into the text.
  const message = `The result of "${method}" cannot be sent: ${nameOf(problem)}`;
  return { jsonrpc: "2.0", error: { code: INTERNAL_ERROR, message }, id };
}

/** What is thrown while a result is read may be anything. */
function nameOf(problem) {
  try {
    return String(problem.name);
  } catch {
    return "Error";
  }
}
