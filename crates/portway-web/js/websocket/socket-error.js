// The errors of connections, and the codes and reasons of their ends.

/** The maximum length of a reason in a close frame, in bytes of UTF-8 (RFC 6455, section 5.5). */
const MAX_REASON_BYTES = 123;

/** Returns the code for `close`: browsers accept 1000 and 3000 to 4999, so any other code becomes 1000. */
export const closeCode = (code) => (code >= 3000 && code <= 4999 ? code : 1000);

/** Returns the beginning of a reason that fits into a close frame. No character is cut. */
export function closeReason(reason) {
  let bytes = 0;
  let fitting = "";
  for (const character of reason) {
    const code = /** @type {number} */ (character.codePointAt(0));
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (bytes > MAX_REASON_BYTES) break;
    fitting += character;
  }
  return fitting;
}

/**
 * A `CallError` with `data`: the close code, its reason, and whether the connection was closed by a handshake. The class
 * of `portway` recognizes it by its mark. This module does not load `portway`, which the application has already.
 */
export class SocketError extends Error {
  #tooLarge;

  /** The call with the id `tooLarge` rejects with the reason `too-large`. */
  constructor(reason, text, data, cause, tooLarge, method, id) {
    super(text, cause && { cause });
    this.reason = id !== undefined && id === tooLarge ? "too-large" : reason;
    this.method = method;
    this.id = id;
    this.data = data;
    this.#tooLarge = tooLarge;
  }

  /** Returns a copy of the error for a call. */
  forCall(method, id) {
    return new SocketError(this.reason, this.message, this.data, this.cause, this.#tooLarge, method, id);
  }

  get name() {
    return "CallError";
  }

  get [Symbol.for("portway.CallError")]() {
    return true;
  }
}
