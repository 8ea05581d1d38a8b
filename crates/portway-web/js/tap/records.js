// Entries, and the records that are made of them. An entry is made while a message crosses the link, so it contains
// only the values that must be read at that time. The text of a record is made later, in the task that passes the
// record to the sink.

import { MAX_TAP_CHARACTERS } from "../driver/limit-values.js";
import { microseconds } from "./clock.js";
import { toBase64 } from "./describe.js";

/**
 * The part of a record that is known while a message crosses the link.
 * @typedef {object} Entry
 * @property {import("./link.js").TapLink} link
 * @property {number} at
 * @property {boolean} isSent
 * @property {unknown} [value] The description of a cloned value.
 * @property {string} [text] The text of a message on a link that carries text, cut to the limit.
 * @property {Uint8Array} [bytes] The beginning of a message that is not UTF-8.
 * @property {number} [omitted] The number of characters that were cut.
 * @property {number} [size]
 * @property {number} [group]
 * @property {number} [transfer]
 * @property {string} [reason] The reason why the bytes or the text are not a message.
 * @property {boolean} isCancelled
 * @property {number} cost
 */

/** @param {Entry} entry */
export function toRecord(entry) {
  const { link, at, isSent, value, text, bytes, omitted = 0, size, group, transfer = 0 } = entry;
  const isValue = text === undefined && bytes === undefined;
  const reason = entry.reason ?? (text === undefined ? undefined : textProblem(text, omitted));
  /** @type {any} */
  const record = {
    kind: reason === undefined ? "message" : "invalid",
    at: microseconds(at),
    link: link.id,
    direction: isSent ? "sent" : "received",
  };
  if (reason === undefined) record.form = isValue ? "value" : "text";
  else record.reason = reason;
  if (bytes === undefined) record.text = isValue ? textOf(value) : text;
  else record.base64 = toBase64(bytes);
  if (size !== undefined) record.size = size;
  if (omitted > 0) record.omitted = omitted;
  if (group !== undefined) record.group = group;
  if (transfer > 0) record.transfer = transfer;
  return record;
}

/** Returns the JSON text of a description. */
function textOf(description) {
  // A script may have added the method `toJSON` to a built-in class. This method may throw.
  try {
    const text = JSON.stringify(description);
    // Escapes may make a text longer than `describe` has estimated.
    if (text.length <= 2 * MAX_TAP_CHARACTERS) return text;
  } catch {}
  return '{"$type":"omitted"}';
}

function textProblem(text, omitted) {
  if (!/^[ \t\r\n]*[[{]/.test(text)) return "a message must be a JSON object or array";
  // The text was cut, so it cannot be parsed.
  if (omitted > 0) return undefined;
  try {
    JSON.parse(text);
  } catch (/** @type {any} */ error) {
    return `a message must be JSON: ${error.message}`;
  }
}

/**
 * Returns the members of an entry for a text: the text, cut to the limit, and the number of omitted characters.
 * @param {string} text
 */
export function cutText(text) {
  const { length } = text;
  if (length <= MAX_TAP_CHARACTERS) return { text, omitted: 0 };
  const last = text.charCodeAt(MAX_TAP_CHARACTERS - 1);
  const isPairCut = last >= 0xd800 && last < 0xdc00;
  const kept = isPairCut ? MAX_TAP_CHARACTERS - 1 : MAX_TAP_CHARACTERS;
  // A part of a string shares the memory of the whole string. The conversion to JSON and back makes a copy.
  return { text: JSON.parse(JSON.stringify(text.slice(0, kept))), omitted: length - kept };
}
