// The errors of connections, and the codes and reasons of their ends.

/** The maximum length of a reason in a close frame, in bytes of UTF-8 (RFC 6455, section 5.5). */
const MAX_REASON_BYTES = 123;

/** Returns the code for `close`: browsers accept 1000 and 3000 to 4999, so any other code becomes 1000. */
export const closeCode = (code) => (code >= 3000 && code <= 4999 ? code : 1000);

/** Returns the beginning of a reason that fits into a close frame. No character is cut. */
export const closeReason = (reason) =>
  reason.slice(0, new TextEncoder().encodeInto(reason, new Uint8Array(MAX_REASON_BYTES)).read);

/**
 * A `CallError` with `data`: the close code, its reason, and whether the connection was closed by a handshake. This
 * module does not load the class `CallError` of `portway`. The `instanceof` of that class recognizes a `SocketError` by
 * a symbol.
 */
export class SocketError extends Error {
  // Consoles show this name.
  static name = "CallError";

  constructor(reason, text, data, cause, tooLarge, method, id) {
    super(text, cause && { cause });
    // Until all calls have ended, `tooLarge` contains the id of the call whose message was too large for the peer.
    this.reason = tooLarge?.has(id) ? "too-large" : reason;
    this.method = method;
    this.id = id;
    this.data = data;
    /** @internal Returns a copy of the error for a call. */
    Object.defineProperty(this, "forCall", {
      value: (method, id) => new SocketError(reason, text, data, cause, tooLarge, method, id),
    });
  }

  get name() {
    return "CallError";
  }

  get [Symbol.for("portway.CallError")]() {
    return true;
  }
}
