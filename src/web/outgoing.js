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

/** Sends a reply; one that cannot be sent becomes an error. */
export function sendReply(transport, { message, transfer, method }) {
  try {
    transport.send(message, transfer);
  } catch (problem) {
    transport.send(unsendable(message, problem, method));
  }
}

/**
 * Sends entries (`message`, and perhaps `transfer`) as one array. If it cannot be sent, those that are to blame are taken
 * out, so that they do no harm to the rest: a reply becomes an error; any other is handed to `drop` with the problem.
 * If nothing can be sent at all, every one is dropped, and the problem is thrown.
 */
export function sendBatch(transport, entries, drop) {
  const without = (entries, blame) =>
    entries.flatMap((entry) => {
      const problem = blame(entry);
      if (problem === undefined) return [entry];
      if ("method" in entry.message) return drop(entry, problem), [];
      return [{ message: unsendable(entry.message, problem, entry.method) }];
    });
  let rest = entries;
  let problem = sendingProblem(transport, rest);
  if (problem === undefined) return;
  rest = without(rest, ({ message, transfer }) => (transfer === undefined ? cloneProblem(message) : undefined));
  if (sendingProblem(transport, rest) === undefined) return;
  // A transfer cannot be tried out. If the others are not to blame, it is.
  rest = without(rest, ({ transfer }) => (transfer === undefined ? undefined : problem));
  problem = sendingProblem(transport, rest);
  if (problem === undefined) return;
  for (const entry of rest) drop(entry, problem);
  throw problem;
}

/** Sends entries; what was thrown at that, if anything. */
function sendingProblem(transport, entries) {
  if (entries.length === 0) return undefined;
  const transfer = entries.flatMap((entry) => entry.transfer ?? []);
  const messages = entries.map((entry) => entry.message);
  try {
    transport.send(messages, transfer.length > 0 ? transfer : undefined);
  } catch (error) {
    return error ?? new Error("the transport cannot send");
  }
}

function cloneProblem(message) {
  try {
    structuredClone(message);
  } catch (error) {
    return error;
  }
}

/** The reply in place of one that cannot be sent. */
function unsendable({ id, error }, problem, method) {
  // An error stays what it is, without the data that cannot cross.
  if (error !== undefined) return { jsonrpc: "2.0", error: { code: error.code, message: error.message }, id };
  const message = `The result of "${method}" cannot be sent: ${problem?.message ?? problem}`;
  return { jsonrpc: "2.0", error: { code: INTERNAL_ERROR, message }, id };
}
