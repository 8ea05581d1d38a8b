// Reads the envelope of a message: the kinds of its members, four bits each, which are its *shape*. Rust decides what they
// mean together (`message/shape.rs` has the same numbers).

import { MAX_METHOD_LENGTH } from "./limit-values.js";

/** The kind of a value. `undefined` is a kind of its own here; a missing member has the kind 0. */
export function kindOf(value) {
  if (typeof value === "string") return value === "" ? 6 : 5;
  if (typeof value === "object") return value === null ? 1 : Array.isArray(value) ? 7 : 8;
  if (typeof value === "number") return Number.isInteger(value) ? 3 : Number.isFinite(value) ? 4 : 9;
  return typeof value === "boolean" ? 2 : 9;
}

/** The kind of an id or a method: a string of more than `longest` is of a kind of its own. */
function limitedKindOf(value, maxLength) {
  return typeof value === "string" && value.length > maxLength ? 10 : kindOf(value);
}

/** Stands for params that share an object with those of another message of the same event. */
export const SHARED_PARAMS = {};

/** The bit that says that a message has the right version. */
export const HAS_VERSION = 1 << 20;

/** The shape of a message by its members, but for its version. An id may be a string of up to `idLength`. */
export function shapeOf(message, { id, method, params, result, error }, idLength) {
  // A member that holds `undefined` counts as missing, as it would be in JSON; but for `result`, since a handler may have
  // returned nothing, and for `id`, since a message with that key wants an answer.
  return (
    (id === undefined ? ("id" in message ? 9 : 0) : limitedKindOf(id, idLength)) |
    (method === undefined ? 0 : limitedKindOf(method, MAX_METHOD_LENGTH) << 4) |
    (params === undefined ? 0 : (params === SHARED_PARAMS ? 10 : kindOf(params)) << 8) |
    (result === undefined ? ("result" in message ? 9 << 12 : 0) : kindOf(result) << 12) |
    (error === undefined ? 0 : kindOf(error) << 16)
  );
}

/** Whether this is the shape of a message with an id that none may have: it is too long, or neither text nor a number. */
export function hasInvalidId(shape) {
  return (shape & 0xf) > 6;
}

/** Whether this is the shape of a message whose method is a name of the right length. */
export function hasName(shape) {
  return (shape & 0xf0) === 0x50;
}

/** Whether this is the shape of a response, however broken it is: what has an outcome, and no method. */
export function isResponse(shape) {
  return (shape & 0xf0) === 0 && (shape & 0xff000) !== 0;
}

/** Whether a value may be one of our messages, or a batch of them. Anything else belongs to somebody else. */
export function isMessageOrBatch(value) {
  if (!Array.isArray(value)) return isMessage(value);
  // Not by `every`, which passes over holes: an array of billions of them is small on its way, and none of ours.
  return value.length > 0 && value.findIndex((item) => !isMessage(item)) < 0;
}

/** Whether a value may be one of our messages. */
export function isMessage(value) {
  return typeof value === "object" && value !== null && value.jsonrpc === "2.0";
}

/**
 * The answers of a list that belong together, and all other messages. An error under the id null is about calls that get no other
 * answer beside it. In a list without one, all are others.
 */
export function separateAnswers(list) {
  if (!list.some(({ id, error }) => id === null && error !== undefined)) return [[], list];
  const isAnswer = ({ method }) => method === undefined;
  return [list.filter(isAnswer), list.filter((item) => !isAnswer(item))];
}

/** Ids from here on are places in a frame, see `idNumber`. */
const FOREIGN_ID_BASE = 2 ** 53;

/**
 * The id of a message as a number for wasm: a safe integer is itself; any other is told by the place of the first message
 * of its batch that has it, so that wasm can tell whether two are the same. Up there, only every other integer is a number.
 */
export function encodeId(id, position) {
  return Number.isSafeInteger(id) ? id : FOREIGN_ID_BASE + 2 * position;
}

/** The id that was told as such a number, of these in their places. */
export function decodeId(number, ids) {
  if (Number.isNaN(number)) return null;
  return number >= FOREIGN_ID_BASE ? ids[(number - FOREIGN_ID_BASE) / 2] : number;
}
