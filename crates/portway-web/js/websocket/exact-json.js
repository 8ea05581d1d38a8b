// Reads messages from JSON text. If an object has several members with one name, `JSON.parse` returns only the last of
// them. `JSON.parse` also rounds numbers. So this module searches the text for repeated members of the envelope, and
// for the digits of ids. For most single messages, a search with one pattern is enough.

import { checkValue as checkJsonValue } from "../driver/json-values.js";
import { INVALID_REQUEST, asMessage, asMessages, isResponse } from "../driver/json-text.js";
import { CANCEL, PROGRESS_TOKEN } from "../driver/profile.js";
import { CREDIT } from "../driver/stream-protocol.js";

/** The members of a message. */
const NAMES = ["jsonrpc", "id", "method", "params", "result", "error"];

/**
 * Patterns that find names of `NAMES` in a text. The key of a pattern is the list of its names. A pattern also finds
 * escapes, because a name may contain escaped characters.
 */
const patterns = {};

/** Returns whether the params of a notification with this method contain the id of a request. */
const refersToRequest = (method) => method === CANCEL || method === CREDIT;

/**
 * The first character of a marked id: a string that represents an id of the peer in the core. JavaScript cannot express
 * the numbers of some ids, but the core returns a string unchanged. For a number, the mark is followed by "n" and the
 * text of the number. For a string that begins with the mark itself, the mark is followed by "s" and the string.
 */
const MARK = "\0";

const isMarked = (id) => typeof id === "string" && id[0] === MARK;

/**
 * Parses JSON text. Returns one message, an array of messages, or undefined if there is nothing to handle. For
 * each response with a repeated member, adds the id of the response to the array `unreadable`, or undefined if the
 * member `id` is repeated. Throws a `SyntaxError` if the text is not JSON.
 */
export function readMessages(text, unreadable) {
  const value = JSON.parse(text);
  const isBatch = Array.isArray(value);
  if (!isBatch && isOrdinary(text, value)) return asMessages(value);
  const envelopes = scan(text, isBatch);
  let next = 0;
  return asMessages(value, (element) => {
    const [texts, repeated] = envelopes[next++] ?? [{}, []];
    if (repeated.length) {
      if (!isResponse(element)) return INVALID_REQUEST;
      return void unreadable.push(repeated.includes("id") ? undefined : element.id);
    }
    const message = asMessage(element);
    const { method, params, id } = Object(message);
    // The response to the call 1 may have the id 1.0, so the id of a response remains a number.
    if (method !== undefined && id !== undefined) message.id = marked(id, texts.id);
    if (refersToRequest(method) && params?.id !== undefined)
      params.id = marked(params.id, scan(texts.params, false)[0][0].id);
    return message;
  });
}

/**
 * Returns true if the object certainly repeats no member of a message, and if JavaScript can express its id. If this
 * function returns false, `scan` decides.
 */
function isOrdinary(text, value) {
  if (Object(value) !== value) return true;
  // Only the members that the object has can be repeated.
  const names = NAMES.filter((name) => value[name] !== undefined).join("|");
  const pattern = (patterns[names] ??= new RegExp(`"(?:${names})"|\\\\u00`, "g"));
  let expected = names.split("|").length;
  for (pattern.lastIndex = 0; pattern.test(text); )
    if (expected-- === 0 || text[pattern.lastIndex - 1] === "0") return false;
  const { id, method } = value;
  if (id === undefined) return !refersToRequest(method);
  if (typeof id !== "number") return !isMarked(id);
  const afterId = text.indexOf('"id"') + 5;
  return text.startsWith(`${id}`, afterId) && ",}".includes(text[afterId + `${id}`.length]);
}

/** Converts an id of the peer to an id for the core. `text` is the JSON text of the id. */
function marked(id, text) {
  if (isMarked(id)) return `${MARK}s${id}`;
  return Number.isFinite(id) && text !== `${id}` ? `${MARK}n${text}` : id;
}

/**
 * Returns whether a message is a request, or a notification whose loss is an error. The loss of a cancellation or of an
 * `rpc.*` notification is not an error.
 */
export const isOfApplication = ({ method, id }) =>
  method !== undefined && (id !== undefined || !(method === CANCEL || method.startsWith("rpc.")));

/** Returns the text of a binary message. Throws a `TypeError` if the bytes are not UTF-8. */
export const decode = (data) => new TextDecoder(undefined, { fatal: true, ignoreBOM: true }).decode(data);

/** Returns the JSON text of a message, with the ids of the peer as the peer has written them. */
export function exactText(message) {
  checkJsonValue(message);
  const { id, params } = message;
  if (isMarked(id)) return withId(message, "id");
  for (const name of [PROGRESS_TOKEN, "id"])
    if (id === undefined && isMarked(params?.[name])) return withMember(message, "params", withId(params, name));
  return JSON.stringify(message);
}

function withId(object, name) {
  const id = object[name];
  return withMember(object, name, id[1] === "s" ? JSON.stringify(id.slice(2)) : id.slice(2));
}

/** Returns the JSON text of an object, with `text` as the value of the member `name`. */
function withMember(object, name, text) {
  const rest = JSON.stringify({ ...object, [name]: undefined }).slice(1, -1);
  return `{"${name}":${text}${rest && `,${rest}`}}`;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = 0x7b;
const CLOSING = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;

/**
 * Finds the members of a message, or of each message of a batch, in valid JSON text. Returns an array with one pair for
 * each message with members: the texts of its members by name, and its repeated names. For other elements of a batch,
 * the array has no pair.
 */
function scan(text, isBatch) {
  const found = [];
  /** The index of the message. */
  let index = 0;
  /** The number of open brackets; 1 among the members of a message. */
  let depth = isBatch ? -1 : 0;
  /** The position after the last separator among the members. */
  let start = 0;
  /** The name of the current member, after its colon. */
  let name;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // The two pairs of brackets differ by one bit.
    const isEnd = (code | 0x20) === CLOSING;
    if (code === QUOTE) while (text.charCodeAt(++at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 1 : 0;
    else if ((code | 0x20) === OPENING) {
      if (++depth === 1) start = at + 1;
    } else if (depth < 2 && (isEnd || code === COMMA || code === COLON)) {
      if (code === COLON) name = JSON.parse(text.slice(start, at));
      else if (!depth) index++;
      else {
        if (NAMES.includes(name)) {
          const [texts, repeated] = (found[index] ??= [{}, []]);
          if (texts[name]) repeated.push(name);
          texts[name] = text.slice(start, at).trim();
        }
        name = undefined;
      }
      start = at + 1;
    }
    if (isEnd) depth--;
  }
  return found;
}
