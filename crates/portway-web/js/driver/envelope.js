// Computes the shape of a message: an integer with four bits for the kind of each member. From the shape alone, Rust
// decides whether the message is a request, a notification or a response, and whether it is valid. `message/shape.rs`
// of `portway-proto` has the same numbers.

import { MAX_METHOD_LENGTH } from "./limit-values.js";
import { PROGRESS } from "./profile.js";
import { ITEM } from "./stream-protocol.js";

/**
 * Returns the kind of a value. Kind 9 is for values that JSON cannot express: `undefined`, functions, BigInts, symbols,
 * NaN and infinite numbers. This function never returns 0, because kind 0 is for a missing member.
 */
export function kindOf(value) {
  if (typeof value === "string") return value === "" ? 6 : 5;
  if (typeof value === "object") return value === null ? 1 : Array.isArray(value) ? 7 : 8;
  if (typeof value === "number") return Number.isInteger(value) ? 3 : Number.isFinite(value) ? 4 : 9;
  return typeof value === "boolean" ? 2 : 9;
}

/** Returns the kind of an id or a method. Kind 10 is for strings of more than `maxLength` characters. */
function limitedKindOf(value, maxLength) {
  return typeof value === "string" && value.length > maxLength ? 10 : kindOf(value);
}

/** The replacement for params that share an object with the params of another message of the same event. */
export const SHARED_PARAMS = {};

/** The bit of a shape for a message with the member `jsonrpc: "2.0"`. */
export const HAS_VERSION = 1 << 20;

/**
 * Returns the shape of a message, without the bit `HAS_VERSION`. The second argument has the values of the message's
 * members, which the caller has already read. `idLength` is the maximum length of a string id, in characters.
 */
export function shapeOf(message, { id, method, params, result, error }, idLength) {
  // JSON omits a member that is `undefined`, so such a member counts as missing. There are two exceptions. A `result`
  // that is undefined has kind 9, because a handler may return undefined. An `id` that is undefined also has kind 9,
  // and is invalid. If the `id` counted as missing, the message would be a notification, although its sender expects an
  // answer.
  return (
    (id === undefined ? ("id" in message ? 9 : 0) : limitedKindOf(id, idLength)) |
    (method === undefined ? 0 : limitedKindOf(method, MAX_METHOD_LENGTH) << 4) |
    (params === undefined ? 0 : (params === SHARED_PARAMS ? 10 : kindOf(params)) << 8) |
    (result === undefined ? ("result" in message ? 9 << 12 : 0) : kindOf(result) << 12) |
    (error === undefined ? 0 : kindOf(error) << 16)
  );
}

/** Returns whether the id is an array, an object, a value that JSON cannot express, or a string that is too long. */
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
 * Returns whether a value may be a message, or an array of messages. Any other value was posted by code that uses the
 * same port, worker, window or channel for its own purposes.
 */
export function isMessageOrBatch(value) {
  if (!Array.isArray(value)) return isMessage(value);
  // `findIndex` ends at the first hole of an array. A small message may contain an array with billions of holes.
  // `every` would visit all of them, and so block the thread.
  return value.length > 0 && value.findIndex((item) => !isMessage(item)) < 0;
}

/** Returns whether a value may be a message. */
export function isMessage(value) {
  return typeof value === "object" && value !== null && value.jsonrpc === "2.0";
}

/**
 * Separates the messages of a list. Returns two arrays: the messages that must be handled together, as a batch, and all
 * other messages. A peer may answer a batch with one error whose id is null. This error ends all calls of the batch
 * that have no response of their own. So wasm must receive this error together with all responses of the list. A list
 * without such an error contains no responses that must be handled together. Items and progress are returned with the
 * responses, because an item or progress must be handled before the response to its call.
 */
export function separateResponses(list) {
  if (!list.some(({ id, error }) => id === null && error !== undefined)) return [[], list];
  const belongsToResponses = ({ method }) => [undefined, ITEM, PROGRESS].includes(method);
  return [list.filter(belongsToResponses), list.filter((item) => !belongsToResponses(item))];
}

/** Encoded ids that are at least this number contain a position in a batch. */
const POSITION_ID_BASE = 2 ** 53;

/**
 * Encodes the id of a message as a number for wasm. A safe integer is encoded as itself. Any other id is encoded by
 * `position`, the position of the first message with this id in the batch. So equal ids have equal numbers, and wasm
 * can compare ids. The position is doubled, because numbers above 2^53 can express only even integers.
 */
export function encodeId(id, position) {
  return Number.isSafeInteger(id) ? id : POSITION_ID_BASE + 2 * position;
}

/** Decodes an id; NaN is the id null. `ids` are the ids of the batch, by position. */
export function decodeId(number, ids) {
  if (Number.isNaN(number)) return null;
  return number >= POSITION_ID_BASE ? ids[(number - POSITION_ID_BASE) / 2] : number;
}
