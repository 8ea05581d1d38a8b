// What may wait for the end of a turn: messages that hold little, and nothing but plain values.
//
// They are copied, so that what the caller changes later in the turn does not show. Anything else is sent at once: it may
// fail to be cloned here or to be read there, and would take those that it is sent with along; and what is large gains
// nothing by company.

import { MAX_COALESCED_STRING, MAX_COALESCED_VALUES } from "./limit-values.js";

let left;
let moved;
let refused;
const seen = [];

/**
 * Copies what a message holds into it, but for what is transferred, and says so; or leaves it as it is. A message that holds
 * one of the objects in `known` is left.
 */
export function settle(message, transfer, known) {
  const part = partOf(message);
  left = MAX_COALESCED_VALUES;
  moved = transfer;
  refused = known;
  try {
    const copy = copied(message[part]);
    if (left < 0) return false;
    if (copy !== undefined) message[part] = copy;
    return true;
  } catch {
    // A getter of the application's: it throws again when it is sent.
    return false;
  } finally {
    seen.length = 0;
    moved = refused = undefined;
  }
}

/** The name of the member that holds the payload of a message. */
export function partOf(message) {
  return "params" in message ? "params" : "error" in message ? "error" : "result";
}

/** A copy of a value, which is of no use if `left` is negative after it. */
function copied(value) {
  left--;
  if (left < 0) return;
  switch (typeof value) {
    case "string":
      if (value.length <= MAX_COALESCED_STRING) return value;
      break;
    case "number":
    case "boolean":
    case "undefined":
      return value;
    case "object":
      // That of a view is the same as that of its buffer.
      if (value === null || moved?.includes(ArrayBuffer.isView(value) ? value.buffer : value)) return value;
      return copiedObject(value);
  }
  left = -1;
}

function copiedObject(value) {
  const isArray = Array.isArray(value);
  // Before its keys are listed, of which there may be many.
  if ((isArray && value.length > left) || refused?.has(value)) return void (left = -1);
  const isPlain = isArray
    ? Object.keys(value).length === value.length
    : Object.getPrototypeOf(value) === Object.prototype;
  // What is in there twice would become two.
  if (!isPlain || seen.includes(value)) return void (left = -1);
  seen.push(value);
  const copy = isArray ? [] : {};
  for (const key in value) {
    // Somebody may have given all objects a member.
    if (!Object.hasOwn(value, key)) continue;
    if (key === "__proto__") left = -1;
    if (left < 0) return;
    copy[key] = copied(value[key]);
  }
  return copy;
}
