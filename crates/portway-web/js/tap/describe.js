// Describes the value of a message. The description is JSON data that shares no object with the value, so later changes
// of the value do not change it. docs/tap.md lists the descriptions. A walk visits the value and the values inside it.
// The walk is limited, because a peer may send any value. It reads a member at most once, as a structured clone does.

import { MAX_TAP_CHARACTERS, MAX_TAP_DEPTH, MAX_TAP_VALUES, TAP_BINARY_BYTES } from "../driver/limit-values.js";
import { isPort } from "../driver/transfer-list.js";

// Descriptions that have only the member `$type`. Other descriptions contain these objects themselves, not copies,
// because nothing changes them.
const OMITTED = { $type: "omitted" };
const CYCLE = { $type: "cycle" };
const HOLE = { $type: "hole" };
const UNDEFINED = { $type: "undefined" };
const UNREADABLE = { $type: "unreadable" };

/** The maximum number of characters of an integer of 32 bits with its comma. */
const INTEGER_CHARACTERS = 12;
/** The maximum number of characters of any other number with its comma. */
const NUMBER_CHARACTERS = 25;
/** The number of characters of a member besides its name and its value: the quotes, the colon and the comma. */
const MEMBER_CHARACTERS = 4;
/** The number of characters of a description such as `OMITTED`. */
const DESCRIPTION_CHARACTERS = 24;
/** A string of at least this length is measured as JSON, because escapes may make it six times as long. */
const LONG_STRING = 4_096;
/** The approximate memory of a described value, in bytes. */
const VALUE_BYTES = 16;
/** The memory of one character of a string, in bytes. */
const CHARACTER_BYTES = 2;

/** The cost of the last description, in bytes of memory. */
export let lastCost = 0;

/** A walk for reuse; undefined while it is in use. A getter of the application may start another walk during a walk. */
let spare;

/** Returns the description of a value. Does not throw. */
export function describe(value) {
  const walk = spare ?? new Walk();
  spare = undefined;
  let description;
  try {
    description = walk.value(value);
  } catch {
    // A getter, a proxy or an object of another realm has thrown.
    description = UNREADABLE;
  }
  lastCost = walk.reset();
  spare = walk;
  return description;
}

class Walk {
  #values = MAX_TAP_VALUES;
  #characters = MAX_TAP_CHARACTERS;
  /** The objects that contain the current value. */
  #path = [];

  /** Prepares the next walk. Returns the cost of the description. */
  reset() {
    const cost = (MAX_TAP_VALUES - this.#values) * VALUE_BYTES;
    const characters = MAX_TAP_CHARACTERS - this.#characters;
    this.#values = MAX_TAP_VALUES;
    this.#characters = MAX_TAP_CHARACTERS;
    if (this.#path.length > 0) this.#path = [];
    return cost + characters * CHARACTER_BYTES;
  }

  value(value) {
    switch (typeof value) {
      case "string":
        return this.#string(value);
      case "number":
        return this.#number(value);
      case "boolean":
        this.#count(6);
        return value;
      case "object":
        return value === null ? this.#null() : this.#object(value);
      case "undefined":
        return this.#special(UNDEFINED);
      case "bigint":
        return this.#special({ $type: "bigint", value: this.#string(`${value}`) });
      default:
        return this.#special({ $type: typeof value });
    }
  }

  get #isOver() {
    return this.#values <= 0 || this.#characters <= 0;
  }

  #count(characters) {
    this.#values--;
    this.#characters -= characters;
  }

  #special(description) {
    this.#count(DESCRIPTION_CHARACTERS);
    return description;
  }

  #null() {
    this.#count(5);
    return null;
  }

  #number(value) {
    if ((value | 0) === value && (value !== 0 || 1 / value > 0)) {
      this.#count(INTEGER_CHARACTERS);
      return value;
    }
    this.#count(NUMBER_CHARACTERS);
    if (value !== 0 && value - value === 0) return value;
    return this.#special({ $type: "number", value: value === 0 ? "-0" : `${value}` });
  }

  #string(value) {
    const { length } = value;
    if (length < LONG_STRING && length < this.#characters) {
      this.#count(length + 3);
      return value;
    }
    // A part of a string shares the memory of the whole string. The conversion to JSON and back makes a copy.
    const json = JSON.stringify(value.slice(0, Math.max(this.#characters, 0)));
    const isWhole = json.length - 2 <= this.#characters && length <= this.#characters;
    if (isWhole) {
      this.#count(json.length);
      return value;
    }
    const start = JSON.parse(json).slice(0, Math.max(Math.floor((this.#characters * length) / json.length), 0));
    this.#count(this.#characters + DESCRIPTION_CHARACTERS);
    return { $type: "string", length, value: start };
  }

  #object(value) {
    const path = this.#path;
    if (path.length > 0) {
      if (path.length >= MAX_TAP_DEPTH) return this.#special(OMITTED);
      if (path.includes(value)) return this.#special(CYCLE);
    }
    this.#count(2);
    const { length } = path;
    const description =
      Object.getPrototypeOf(value) === Object.prototype
        ? this.#plain(value)
        : Array.isArray(value)
          ? this.#array(value)
          : this.#other(value);
    if (path.length > length) path.pop();
    return description;
  }

  #array(value) {
    const items = [];
    const { length } = value;
    this.#path.push(value);
    for (let n = 0; n < length; n++) {
      if (this.#isOver) {
        items.push(OMITTED);
        break;
      }
      const item = value[n];
      items.push(item === undefined && !(n in value) ? this.#special(HOLE) : this.value(item));
    }
    return items;
  }

  /** Describes the own members of an object. */
  #plain(value) {
    // The spread reads each member once, and takes a fraction of the time of a loop.
    const copy = { ...value };
    let hasType = false;
    let count = 0;
    let characters = 0;
    let isOnPath = false;
    for (const name in copy) {
      if (this.#characters <= characters || this.#values <= count) return this.#shortened(copy, count);
      count++;
      characters += name.length + MEMBER_CHARACTERS;
      if (name === "$type") hasType = true;
      const member = copy[name];
      // Most members are short strings and small integers. For speed, they are handled here.
      if (typeof member === "string" && member.length < LONG_STRING) characters += member.length;
      else if (typeof member === "number" && (member | 0) === member && member !== 0) characters += INTEGER_CHARACTERS;
      else {
        this.#characters -= characters;
        characters = 0;
        // Most objects have only members that are handled above. Any other object is added to the path here.
        if (!isOnPath) this.#path.push(value);
        isOnPath = true;
        const description = this.value(member);
        // A script may have added an enumerable member to `Object.prototype`.
        if (description !== member && Object.hasOwn(copy, name)) copy[name] = description;
      }
    }
    this.#characters -= characters;
    this.#values -= count;
    return hasType ? { $type: "Object", entries: Object.entries(copy) } : copy;
  }

  /** Returns the first members of an object. The last member shows that the others were omitted. */
  #shortened(copy, count) {
    const entries = [];
    for (const name in copy) {
      if (entries.length >= count) break;
      if (Object.hasOwn(copy, name) && name !== "$type") entries.push([name, copy[name]]);
    }
    return Object.fromEntries([...entries, ["$type", "omitted"]]);
  }

  /** Describes an object that is neither an array nor an object literal of this realm. */
  #other(/** @type {any} */ value) {
    const tag = Object.prototype.toString.call(value).slice(8, -1);
    if (ArrayBuffer.isView(value)) {
      const { buffer, byteOffset, byteLength, length = byteLength } = /** @type {any} */ (value);
      return this.#binary(tag, length, buffer, byteOffset, byteLength);
    }
    switch (tag) {
      case "ArrayBuffer":
      case "SharedArrayBuffer":
        return this.#binary(tag, value.byteLength, value, 0, value.byteLength);
      case "Date": {
        const time = Date.prototype.getTime.call(value);
        return this.#special({ $type: tag, value: Number.isNaN(time) ? null : new Date(time).toISOString() });
      }
      case "Map":
        return {
          $type: tag,
          entries: this.#items(value, Map.prototype.entries.call(value), (entry) => this.#object(entry)),
        };
      case "Set":
        return { $type: tag, values: this.#items(value, Set.prototype.values.call(value), (item) => this.value(item)) };
      case "RegExp":
        return { $type: tag, value: this.#string(RegExp.prototype.toString.call(value)) };
      case "Error":
        return { $type: tag, name: this.#string(`${value.name}`), message: this.#string(`${value.message}`) };
      // A class of the application, an object of another realm, or an object without a prototype.
      case "Object":
        return this.#plain(value);
      default:
        // In Node, a `MessagePort` has the tag `EventTarget`.
        return this.#special({ $type: tag === "EventTarget" && isPort(value) ? "MessagePort" : tag });
    }
  }

  #items(value, iterator, describeItem) {
    const items = [];
    this.#path.push(value);
    for (const item of iterator) {
      if (this.#isOver) {
        items.push(OMITTED);
        break;
      }
      items.push(describeItem(item));
    }
    return items;
  }

  /**
   * Describes bytes by their number, and by a copy of the first bytes. A later transfer would empty the buffer itself.
   */
  #binary($type, length, buffer, offset, byteLength) {
    const start = new Uint8Array(buffer, offset, Math.min(byteLength, TAP_BINARY_BYTES));
    this.#count(DESCRIPTION_CHARACTERS + 2 * TAP_BINARY_BYTES);
    return { $type, length, bytes: toBase64(start) };
  }
}

/** Returns bytes in base64. */
export function toBase64(bytes) {
  return btoa(String.fromCharCode(...bytes));
}
