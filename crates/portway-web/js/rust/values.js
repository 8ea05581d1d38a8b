// Reads values of JavaScript for the Rust API. No function of this file throws. An exception that unwinds through Rust
// would not restore the stack pointer of the wasm, and so would use up some of its stack. The npm package does not
// contain this file.

import { tagOf } from "../driver/errors.js";
import { MAX_NESTING } from "../driver/limit-values.js";

// The results of the check before a conversion; `src/browser/convert.rs` has the same numbers.
const FITS = 0;
const TOO_DEEP = 1;
const TOO_MANY_VISITS = 2;
const UNREADABLE_VALUE = 3;

// Kinds of values; `src/browser/deserializer.rs` has the same numbers.
const NULLISH = 0;
const FALSE = 1;
const TRUE = 2;
const INTEGER = 3;
const FLOAT = 4;
const BIGINT = 5;
const OTHER = 6;
const UNREADABLE = 7;
const STRING = 8;
const OBJECT = 9;
const ITERABLE = 10;
const MAP = 11;
const ARRAY = 12;
const BYTES = 13;

// Tags of objects, which are the same in each realm.
const MAP_TAG = "[object Map]";
const SET = "[object Set]";
const BUFFER = "[object ArrayBuffer]";
const BOXED_STRING = "[object String]";

/** Returns whether a value can contain other values. */
function isNested(value) {
  return typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
}

/** Returns the values in an object. Holes of an array are left out, because there may be billions of them. */
function partsOf(object, tag) {
  if (tag === SET) return [...object];
  if (tag === BOXED_STRING) return [];
  return tag === MAP_TAG ? [...object.keys(), ...object.values()] : Object.values(object);
}

/**
 * Returns the number of visits that the parts of an object cost, without the parts of nested objects. The characters of
 * a `String` object are visited one by one.
 */
function visitsIn(object, tag, parts) {
  if (tag === BOXED_STRING) return object.length;
  if (Array.isArray(object)) return Math.max(object.length, parts.length);
  return tag === MAP_TAG || tag === SET ? parts.length : 2 * parts.length;
}

/**
 * Returns `FITS` if serde may read a value. Otherwise, returns the number of the problem. Each value, each key and each
 * 16 characters of a string count as one visit. An object counts again for each reference to it. The count of an object
 * is stored, so the time depends on the size of the value, not on the number of visits. Buffers are counted when they
 * are copied.
 */
export function conversionProblem(value, maxVisits) {
  try {
    return isNested(value) ? conversionProblemIn(value, maxVisits) : FITS;
  } catch {
    return UNREADABLE_VALUE;
  }
}

function conversionProblemIn(root, maxVisits) {
  let visits = 1;
  /** The visits and levels of each object that contains other objects; undefined while the object is on the path. */
  let known;
  const path = [];
  let object = root;
  while (object !== undefined) {
    if (path.length === MAX_NESTING) return TOO_DEEP;
    const visitsBefore = visits;
    // The length is checked before the parts are collected, because collecting takes time.
    if (Array.isArray(object) && object.length > maxVisits - visits) return TOO_MANY_VISITS;
    const tag = tagOf(object);
    const parts = partsOf(object, tag);
    visits += visitsIn(object, tag, parts);
    let nested;
    for (const part of parts) {
      if (typeof part === "string") visits += part.length >>> 4;
      else if (isNested(part)) (nested ??= []).push(part);
    }
    if (visits > maxVisits) return TOO_MANY_VISITS;
    if (nested !== undefined) {
      path.push({ object, nested, visitsBefore, levels: 1 });
      known ??= new Map();
      known.set(object, undefined);
    } else if (path.length > 0) {
      path.at(-1).levels = Math.max(path.at(-1).levels, 2);
    }
    object = undefined;
    while (path.length > 0 && object === undefined) {
      const top = path.at(-1);
      const part = top.nested.pop();
      if (part === undefined) {
        path.pop();
        known.set(top.object, { visits: visits - top.visitsBefore, levels: top.levels });
        if (path.length > 0) path.at(-1).levels = Math.max(path.at(-1).levels, top.levels + 1);
      } else if (known.has(part)) {
        const cost = known.get(part);
        // A part that is on the path contains itself.
        if (cost === undefined || path.length + cost.levels > MAX_NESTING) return TOO_DEEP;
        visits += cost.visits;
        if (visits > maxVisits) return TOO_MANY_VISITS;
        top.levels = Math.max(top.levels, cost.levels + 1);
      } else {
        object = part;
      }
    }
  }
  return FITS;
}

/** Returns the kind of a value. */
export function kindOf(value) {
  switch (typeof value) {
    case "undefined":
      return NULLISH;
    case "boolean":
      return value ? TRUE : FALSE;
    case "number":
      return Number.isSafeInteger(value) ? INTEGER : FLOAT;
    case "bigint":
      return BIGINT;
    case "string":
      return STRING;
    case "object":
      return value === null ? NULLISH : kindOfObject(value);
    default:
      return OTHER;
  }
}

function kindOfObject(value) {
  try {
    if (Array.isArray(value)) return ARRAY;
    const tag = tagOf(value);
    if (tag === "[object Uint8Array]" || tag === BUFFER) return BYTES;
    if (tag === MAP_TAG) return MAP;
    return Symbol.iterator in value ? ITERABLE : OBJECT;
  } catch {
    return UNREADABLE;
  }
}

/** Returns the value if it is a number, or NaN otherwise. */
export function numberOf(value) {
  return typeof value === "number" ? value : NaN;
}

/** Returns the value if it is a string of at most `maxLength` characters, or undefined otherwise. */
export function textOf(value, maxLength) {
  return typeof value === "string" && value.length <= maxLength ? value : undefined;
}

/** Returns the first characters of a string. */
export function firstCharacters(text, length) {
  return text.slice(0, length);
}

/**
 * Returns the values of the members with these names, followed by the indices in `names` of the members that are
 * missing. Returns undefined if reading throws.
 */
export function fieldsOf(object, names) {
  try {
    const values = [];
    let missing;
    for (let index = 0; index < names.length; index++) {
      const value = object[names[index]];
      if (value === undefined && !(names[index] in object)) (missing ??= []).push(index);
      values.push(value);
    }
    return missing === undefined ? values : values.concat(missing);
  } catch {
    return undefined;
  }
}

/**
 * Returns a copy of the elements of an array or an iterable. Returns null if there are more than `maxCount` elements,
 * and undefined if reading throws.
 */
export function elementsOf(value, maxCount) {
  try {
    if (Array.isArray(value)) {
      const { length } = value;
      if (length > maxCount) return null;
      const copy = new Array(length);
      for (let index = 0; index < length; index++) copy[index] = value[index];
      return copy;
    }
    const elements = [];
    for (const element of value) {
      if (elements.length >= maxCount) return null;
      elements.push(element);
    }
    return elements;
  } catch {
    return undefined;
  }
}

/**
 * Returns the keys and values of a map, an iterable of pairs, or an object, alternating. Returns null if there are more
 * than `maxPairs` pairs, and undefined if reading throws or an element is not a pair.
 */
export function entriesOf(value, maxPairs) {
  try {
    if (typeof value[Symbol.iterator] !== "function") return ownEntriesOf(value, maxPairs);
    const entries = [];
    for (const [key, part] of value) {
      if (entries.length >= 2 * maxPairs) return null;
      entries.push(key, part);
    }
    return entries;
  } catch {
    return undefined;
  }
}

/** Returns the names and values of the own members of an object, as `entriesOf` does. */
export function ownEntriesOf(object, maxPairs) {
  try {
    const keys = Object.keys(object);
    if (keys.length > maxPairs) return null;
    const entries = [];
    for (const key of keys) entries.push(key, object[key]);
    return entries;
  } catch {
    return undefined;
  }
}

/**
 * Returns a view of the bytes of a buffer. The length of the view is fixed. Returns undefined if the buffer is
 * detached.
 */
export function bytesOf(value) {
  try {
    if (tagOf(value) === BUFFER) return new Uint8Array(value, 0, value.byteLength);
    return new Uint8Array(value.buffer, value.byteOffset, value.length);
  } catch {
    return undefined;
  }
}
