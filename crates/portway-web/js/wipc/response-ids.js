// Finds the ids of the responses in an unreadable message. The text may be cut off anywhere, and need not be valid
// JSON. So members are found only by the brackets and quotes of JSON.
// `crates/portway-proto/src/codec/json/response_ids.rs` has the same rules.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const BLANKS = [0x20, 0x09, 0x0d, 0x0a];
const OPENING = [0x7b, 0x5b];
const CLOSING = [0x7d, 0x5d];
const BOM = [0xef, 0xbb, 0xbf];

/**
 * Returns the ids of the responses in the text of an unreadable message, or in its beginning. The id of a response is
 * undefined if it cannot be read.
 */
export function responseIds(bytes) {
  const reader = new Reader(bytes);
  const isBatch = reader.skip(OPENING[1]);
  const ids = [];
  do {
    if (reader.peek() === undefined && !isBatch) return [undefined];
    if (!reader.skip(OPENING[0])) return ids;
    const { isCall, id, isUnclear } = reader.readMembers();
    if (isCall) continue;
    if (Number.isSafeInteger(id) && !isUnclear) ids.push(id);
    // In a batch, a response without a readable id is skipped: other elements may be readable.
    else if ((id === undefined || isUnclear) && !isBatch) return [undefined];
  } while (isBatch && reader.skip(COMMA));
  return ids;
}

class Reader {
  #bytes;
  #at = 0;

  constructor(bytes) {
    this.#bytes = bytes;
    if (BOM.every((byte, index) => bytes[index] === byte)) this.#at = 3;
  }

  /** Returns the next byte that is not white space, or undefined at the end. */
  peek() {
    while (BLANKS.includes(this.#bytes[this.#at])) this.#at += 1;
    return this.#bytes[this.#at];
  }

  /** Skips white space, and then `byte` if it follows. Returns whether `byte` was skipped. */
  skip(byte) {
    const isNext = this.peek() === byte;
    if (isNext) this.#at += 1;
    return isNext;
  }

  /** Reads the members of an object after its opening bracket, up to its end or the end of the text. */
  readMembers() {
    /** @type {{ isCall: boolean, id: number | undefined, isUnclear: boolean }} */
    const found = { isCall: false, id: undefined, isUnclear: false };
    for (let name; (name = this.#readString()) !== undefined && this.skip(COLON); ) {
      const value = this.#readValue();
      if (name === "method" || name === "params") found.isCall = true;
      if (name === "id") {
        const id = value?.trim() ?? "";
        found.isUnclear = found.id !== undefined || !/^(-?\d+(\.\d+)?([eE][+-]?\d+)?|null|".*")$/s.test(id);
        // The response to the call 1 may have the id 1.0. NaN stands for an id that no call has, and for a text that
        // may be cut off.
        found.id = id.length < MAX_TEXT_LENGTH ? Number(id) : NaN;
      }
      if (!this.skip(COMMA)) break;
    }
    this.skip(CLOSING[0]);
    return found;
  }

  /** Returns the next string without unescaping it, or undefined if there is no complete string. */
  #readString() {
    if (!this.skip(QUOTE)) return undefined;
    const begin = this.#at;
    return this.#skipString() ? textOf(this.#bytes, begin, this.#at - 1) : undefined;
  }

  /** Skips the rest of a string. Returns false if the text ends first. */
  #skipString() {
    for (;;) {
      const end = this.#bytes.indexOf(QUOTE, this.#at);
      if (end < 0) {
        this.#at = this.#bytes.length;
        return false;
      }
      let escapes = 0;
      while (end - escapes > this.#at && this.#bytes[end - escapes - 1] === BACKSLASH) escapes += 1;
      this.#at = end + 1;
      if (escapes % 2 === 0) return true;
    }
  }

  /** Skips a value and returns its beginning, or undefined if the text ends first. */
  #readValue() {
    const begin = this.#at;
    for (let depth = 0; this.#at < this.#bytes.length; ) {
      const byte = this.#bytes[this.#at];
      if (depth === 0 && (byte === COMMA || CLOSING.includes(byte))) return textOf(this.#bytes, begin, this.#at);
      this.#at += 1;
      if (byte === QUOTE) this.#skipString();
      else if (OPENING.includes(byte)) depth += 1;
      else if (CLOSING.includes(byte)) depth -= 1;
    }
    return undefined;
  }
}

/** The maximum length of an id or a name, in bytes. The rest of a longer text is not read. */
const MAX_TEXT_LENGTH = 64;

function textOf(bytes, begin, end) {
  return String.fromCharCode(...bytes.subarray(begin, Math.min(end, begin + MAX_TEXT_LENGTH)));
}
