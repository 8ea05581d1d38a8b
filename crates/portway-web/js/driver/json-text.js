// Messages as JSON text, for the transports that carry text: which values are messages, and the text of a message.

import { checkValue } from "./json-values.js";

export const PARSE_ERROR = { jsonrpc: "2.0", error: { code: -32700, message: "Parse error" }, id: null };
export const OVERSIZE = {
  jsonrpc: "2.0",
  error: { code: -32600, message: "Invalid Request", data: { reason: "oversize" } },
  id: null,
};

/** Replaces each value that is not a message: one object suffices for millions of them. */
export const INVALID_REQUEST = { jsonrpc: "2.0", method: null, id: null };

/**
 * Returns a parsed value as one message for the core, or as an array of messages, or undefined. `convert` returns the
 * message for an element, or undefined to drop it.
 */
export function asMessages(value, convert = asMessage) {
  if (!Array.isArray(value)) return convert(value);
  const messages = value.map(convert).filter((message) => message !== undefined);
  if (messages.length > 0) return messages;
  return value.length === 0 ? INVALID_REQUEST : undefined;
}

/**
 * Returns a value as a message for the core, or undefined. On a shared boundary, the core ignores values without
 * `jsonrpc: "2.0"`, because they belong to other code. The text belongs to its transport, so a value without this
 * member becomes an invalid request, which is answered. A response without a version is not answered.
 */
export function asMessage(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return INVALID_REQUEST;
  const { jsonrpc, method, id } = value;
  if (jsonrpc === "2.0") return value;
  if (method === undefined && ("result" in value || "error" in value)) return undefined;
  return typeof id === "string" || typeof id === "number" ? { jsonrpc: "2.0", method: null, id } : INVALID_REQUEST;
}

/**
 * Returns the text of a message. Throws if JSON cannot express it. `checkLength` throws if a length exceeds the limit.
 * It is called before the parts of a batch are joined.
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

export function isRequest({ method, id }) {
  return method !== undefined && id !== undefined;
}

/** Returns whether a message, or a message of an array, passes a test. */
export function someMessage(message, test) {
  return Array.isArray(message) ? message.some(test) : test(message);
}
