// Messages as JSON text, for the transports that carry text. Converts parsed values to messages, and messages to text.

import { checkValue } from "./json-values.js";

export const PARSE_ERROR = { jsonrpc: "2.0", error: { code: -32700, message: "Parse error" }, id: null };
export const OVERSIZE = {
  jsonrpc: "2.0",
  error: { code: -32600, message: "Invalid Request", data: { reason: "oversize" } },
  id: null,
};

/** Replaces each value that is not a message. */
export const INVALID_REQUEST = { jsonrpc: "2.0", method: null, id: null };

/**
 * Converts a parsed value to one message for the core, or to an array of messages. Returns undefined if no message
 * remains. `convert` returns the message for one value, or undefined to drop the value.
 */
export function asMessages(value, convert = asMessage) {
  if (!Array.isArray(value)) return convert(value);
  const messages = value.map(convert).filter((message) => message !== undefined);
  if (messages.length) return messages;
  return value.length ? undefined : INVALID_REQUEST;
}

/**
 * Converts one value to a message for the core. On a shared boundary, the core ignores values without `jsonrpc: "2.0"`,
 * because they belong to other code. No other code uses a transport that carries text. So a value without
 * `jsonrpc: "2.0"` becomes an invalid request, and the peer receives an error. For a response without `jsonrpc: "2.0"`,
 * returns undefined, because a response is not answered.
 */
export function asMessage(value) {
  if (Object(value) !== value || Array.isArray(value)) return INVALID_REQUEST;
  if (value.jsonrpc === "2.0") return value;
  return isResponse(value) ? undefined : { ...value, jsonrpc: "2.0", method: null };
}

/**
 * Returns the text of a message. Throws if JSON cannot express the message. For a batch, calls `checkLength` with the
 * length so far, before the texts are joined. `checkLength` throws if the length exceeds the limit.
 */
export function messageText(message, checkLength, stringify = JSON.stringify) {
  if (!Array.isArray(message)) return textOf(message, stringify);
  let size = 2 + message.length;
  const parts = message.map((part) => {
    const text = textOf(part, stringify);
    size += text.length;
    checkLength(size, "more");
    return text;
  });
  return `[${parts.join()}]`;
}

function textOf(message, stringify) {
  checkValue(message);
  return stringify(message);
}

export function isCall({ method }) {
  return method !== undefined;
}

/** Returns whether an object is a response, valid or not: it has a result or an error, and no method. */
export function isResponse(object) {
  return !isCall(object) && ("result" in object || "error" in object);
}

export function isRequest({ method, id }) {
  return method !== undefined && id !== undefined;
}

/** Returns whether a message, or a message of an array, passes a test. */
export function someMessage(message, test) {
  return Array.isArray(message) ? message.some(test) : test(message);
}
