// Reads the kinds of the members of a message, four bits each: the *shape* of the message. Rust decides which kind of
// message a shape is. `message/shape.rs` has the same numbers.

import { MAX_METHOD_LENGTH } from "./limit-values.js";
import { PROGRESS } from "./profile.js";
import { ITEM } from "./stream-protocol.js";

/** Returns the kind of a value. `undefined` has a kind of its own; the kind of a missing member is 0. */
export function kindOf(value) {
  if (typeof value === "string") return value === "" ? 6 : 5;
  if (typeof value === "object") return value === null ? 1 : Array.isArray(value) ? 7 : 8;
  if (typeof value === "number") return Number.isInteger(value) ? 3 : Number.isFinite(value) ? 4 : 9;
  return typeof value === "boolean" ? 2 : 9;
}

/** Returns the kind of an id or a method. A string of more than `maxLength` characters has a kind of its own. */
function limitedKindOf(value, maxLength) {
  return typeof value === "string" && value.length > maxLength ? 10 : kindOf(value);
}

/** Replaces params that share an object with the params of another message of the same event. */
export const SHARED_PARAMS = {};

/** The bit of a shape for a message with the right version. */
export const HAS_VERSION = 1 << 20;

/** Returns the shape of a message without the version bit. A string id may have up to `idLength` characters. */
export function shapeOf(message, { id, method, params, result, error }, idLength) {
  // A member that is `undefined` counts as missing, as in JSON. Exceptions are `result`, since a handler may return
  // undefined, and `id`, since a message with this key expects an answer.
  return (
    (id === undefined ? ("id" in message ? 9 : 0) : limitedKindOf(id, idLength)) |
    (method === undefined ? 0 : limitedKindOf(method, MAX_METHOD_LENGTH) << 4) |
    (params === undefined ? 0 : (params === SHARED_PARAMS ? 10 : kindOf(params)) << 8) |
    (result === undefined ? ("result" in message ? 9 << 12 : 0) : kindOf(result) << 12) |
    (error === undefined ? 0 : kindOf(error) << 16)
  );
}

/** Returns whether the id is invalid: too long, or neither a string nor a number. */
export function hasInvalidId(shape) {
  return (shape & 0xf) > 6;
}

/** Returns whether the method is a string that is not empty and not too long. */
export function hasName(shape) {
  return (shape & 0xf0) === 0x50;
}

/** Returns whether a message is a response, valid or not: it has a result or an error, and no method. */
export function isResponse(shape) {
  return (shape & 0xf0) === 0 && (shape & 0xff000) !== 0;
}

/**
 * Returns whether a value may be a message, or a batch of messages. Other values belong to other users of the boundary.
 */
export function isMessageOrBatch(value) {
  if (!Array.isArray(value)) return isMessage(value);
  // `every` would skip holes. An array with billions of holes is small when it is sent.
  return value.length > 0 && value.findIndex((item) => !isMessage(item)) < 0;
}

/** Returns whether a value may be a message. */
export function isMessage(value) {
  return typeof value === "object" && value !== null && value.jsonrpc === "2.0";
}

/**
 * Returns the answers of a list that are handled as a batch, and all other messages. An error with the id null answers
 * all calls of a batch without other answers. A list without such an error has no answers of a batch. Items and
 * progress stay with the answers, which they precede.
 */
export function separateAnswers(list) {
  if (!list.some(({ id, error }) => id === null && error !== undefined)) return [[], list];
  const isAnswer = ({ method }) => [undefined, ITEM, PROGRESS].includes(method);
  return [list.filter(isAnswer), list.filter((item) => !isAnswer(item))];
}

/** Encoded ids from here on are positions in a batch. */
const FOREIGN_ID_BASE = 2 ** 53;

/**
 * Encodes the id of a message as a number for wasm. A safe integer is encoded as itself, and any other id by the
 * position of the first message of its batch with that id, so that wasm can compare ids. Above 2^53, only every other
 * integer is a number.
 */
export function encodeId(id, position) {
  return Number.isSafeInteger(id) ? id : FOREIGN_ID_BASE + 2 * position;
}

/** Decodes an id. `ids` are those of the batch. */
export function decodeId(number, ids) {
  if (Number.isNaN(number)) return null;
  return number >= FOREIGN_ID_BASE ? ids[(number - FOREIGN_ID_BASE) / 2] : number;
}
