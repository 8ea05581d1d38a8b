// The codes, reasons and texts of the ends of connections.

/**
 * A call with at most this number of characters is never regarded as the reason of a close with 1009 (message too big).
 */
export const MIN_LARGE_CHARACTERS = 16_384;
export const TOO_BIG = 1009;

/** The close code that browsers report for a connection that was not closed by a handshake. */
export const ABNORMAL = 1006;

/** The maximum length of a reason in a close frame, in bytes of UTF-8 (RFC 6455, section 5.5). */
export const MAX_REASON_BYTES = 123;

/** Returns the code for `close`: browsers accept 1000 and 3000 to 4999, so any other code becomes 1000. */
export const closeCode = (code) => (code >= 3000 && code <= 4999 ? code : 1000);

/** Returns the message of a thrown value, which may have any type. */
export function textOf(thrown) {
  try {
    return String(thrown?.message ?? thrown ?? "");
  } catch {
    return "";
  }
}
