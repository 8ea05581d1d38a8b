// Reads messages from JSON text. `JSON.parse` keeps one of several members with one name, and rounds numbers. So the
// text decides whether a member of the envelope is repeated, and it has the digits of an id. Most texts need no second
// look: each name occurs once in them, and the id is written as JavaScript writes it.

import { checkValue } from "../driver/json-values.js";
import { INVALID_REQUEST, asMessage, asMessages } from "../driver/json-text.js";
import { CANCEL, PROGRESS_TOKEN } from "../driver/profile.js";
import { CREDIT } from "../driver/stream-protocol.js";

/** The members of a message. */
const NAMES = ["jsonrpc", "id", "method", "params", "result", "error"];

/**
 * Patterns for the names in a text, or for an escape of a character that a name may contain. The index has a bit for
 * each of the names.
 */
const patterns = [];

/** Returns whether the params of a notification have the id of a request. */
const refersToRequest = (method) => method === CANCEL || method === CREDIT;

/**
 * The first character of an id that stands for an id of the peer. After it, "n" and the text of a number follow, or "s"
 * and a string that begins with this character itself. JavaScript has no number for such an id, but a string passes
 * through the core unchanged.
 */
const MARK = "\0";

const isMarked = (id) => typeof id === "string" && id[0] === MARK;

/**
 * Parses JSON text. Returns one message, an array of messages, or undefined if there is nothing to handle. Calls
 * `onRepeated` for a response with a repeated member: with its id, or with undefined if the id is repeated. Throws a
 * `SyntaxError` if the text is not JSON.
 */
export function readMessages(text, onRepeated) {
  const value = JSON.parse(text);
  const isBatch = Array.isArray(value);
  if (isBatch ? value.length === 0 : isOrdinary(text, value)) return asMessages(value);
  const envelopes = scan(text, isBatch);
  let next = 0;
  return asMessages(value, (element) => {
    const [texts, repeated] = envelopes[next++];
    const { method, params, id } = Object(element);
    if (repeated.length > 0) {
      if (method !== undefined || !("result" in element || "error" in element)) return INVALID_REQUEST;
      return onRepeated(repeated.includes("id") ? undefined : id);
    }
    if (id !== undefined) element.id = marked(id, texts.id);
    if (refersToRequest(method) && params?.id !== undefined)
      params.id = marked(params.id, scan(texts.params, false)[0][0].id);
    return asMessage(element);
  });
}

/** Returns whether an object surely has no repeated member, and an id that JavaScript can express. */
function isOrdinary(text, value) {
  if (Object(value) !== value) return true;
  // Only the members that the object has can be repeated.
  let expected = 0;
  let bits = 0;
  for (let n = 0; n < 6; n++) {
    if (value[NAMES[n]] === undefined) continue;
    expected++;
    bits |= 1 << n;
  }
  patterns[bits] ??= new RegExp(`"(?:${NAMES.filter((_, n) => bits & (1 << n)).join("|")})"|\\\\u00`, "g");
  const pattern = patterns[bits];
  let afterId = 0;
  for (pattern.lastIndex = 0; pattern.test(text); ) {
    const end = pattern.lastIndex;
    if (expected-- === 0 || text[end - 1] === "0") return false;
    // Only the name "id" has this letter here.
    if (text[end - 3] === "i") afterId = end;
  }
  const { id, method } = value;
  if (id === undefined) return !refersToRequest(method);
  if (typeof id !== "number") return !isMarked(id);
  return text.startsWith(`${id}`, afterId + 1) && ",}".includes(text[afterId + 1 + `${id}`.length]);
}

/** Returns the id for the core that stands for an id of the peer. */
function marked(id, text) {
  if (isMarked(id)) return `${MARK}s${id}`;
  return Number.isFinite(id) && text !== `${id}` ? `${MARK}n${text}` : id;
}

/** Returns the JSON text of a message, with the ids of the peer as the peer has written them. */
export function exactText(message) {
  checkValue(message);
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

/** Returns the JSON text of an object in which a member has this text. */
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
 * Finds the members of an object, or of the elements of an array, in valid JSON text. Returns the texts of the members
 * by name, and the repeated names, for each object or element.
 */
function scan(text, isBatch) {
  let at = 0;
  const found = [];

  /** Skips white space, and one of these characters. Returns whether there was one. */
  const skip = (characters = "") => {
    while (" \t\r\n".includes(text[at])) at++;
    const isThere = characters.includes(text[at]);
    if (isThere) at++;
    return isThere;
  };

  /** Skips a value. Returns its text. */
  const readValue = () => {
    skip();
    const start = at;
    let depth = 0;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) while (text.charCodeAt(++at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 1 : 0;
      // The two pairs of brackets differ by one bit.
      else if ((code | 0x20) === OPENING) depth++;
      else if ((code | 0x20) === CLOSING && depth-- === 0) break;
      else if (depth === 0 && (code === COMMA || code === COLON)) break;
    }
    return text.slice(start, at).trimEnd();
  };

  if (isBatch) skip("[");
  do {
    const texts = {};
    const repeated = [];
    if (skip("{"))
      while (!skip("}")) {
        const name = JSON.parse(readValue());
        skip(":");
        const value = readValue();
        if (Object.hasOwn(texts, name)) repeated.push(name);
        if (NAMES.includes(name)) texts[name] = value;
        skip(",");
      }
    else readValue();
    found.push([texts, repeated]);
  } while (isBatch && skip(","));
  return found;
}
