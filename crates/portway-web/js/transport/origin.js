// The origins that a window may have, and the check of its messages. Origins are compared exactly; there are no
// patterns.

/** Returns the origin of the document of a window. */
export function ownOrigin(source) {
  // `location.origin` may differ: an iframe may have the origin of its parent, or an opaque origin.
  const { origin } = source;
  if (origin === undefined || origin === "null") {
    throw new TypeError(
      "this document has no origin; name the origin of the peer: windowTransport(target, { origin })",
    );
  }
  return origin;
}

/** Returns the option `origin` as a list. If the option is undefined, the list contains the default. */
export function parseOrigins(origin, fallback) {
  if (origin === undefined) return [fallback()];
  // Duplicates are removed, because a message to an origin that is listed twice would arrive twice.
  const list = [...new Set([origin].flat())];
  if (list.length === 0) throw new TypeError("origin must not be an empty list");
  list.forEach(checkOrigin);
  return list;
}

/** Returns whether messages of an origin are received. */
export function allowsOrigin(allowed, origin) {
  return allowed.some((one) => one === "*" || one === origin);
}

/**
 * Returns whether the origin of a message event is allowed, or undefined if the event is synthetic or of another
 * window. This function does not read `data`, since engines copy the data of an event when it is read.
 * @returns {boolean | undefined}
 */
export function allowsEvent({ source, origin, isTrusted }, window, allowed) {
  return isTrusted === false || source !== window ? undefined : allowsOrigin(allowed, origin);
}

/**
 * Returns the origins to post a message to. A message to an opaque origin ("null") is posted to "*", because an opaque
 * origin cannot be a target. In this case, "*" is the only element, because the message would arrive twice with another
 * origin.
 */
export function postOrigins(origins) {
  return origins.includes("*") || origins.includes("null") ? ["*"] : origins;
}

/** Returns the text of the error for a peer with an origin that is not allowed. */
export function originMismatchMessage(origin, allowed) {
  return `the peer has the origin "${origin}"; allowed is "${allowed.join('", "')}"; allow it by origin: "${origin}"`;
}

function checkOrigin(origin) {
  if (origin === "*" || origin === "null") return;
  let exact;
  try {
    const { origin: known, protocol, host } = new URL(origin);
    // For the origin of an app shell (`capacitor://localhost`), `URL` returns "null". In browsers, no window has such
    // an origin.
    exact = known === "null" ? `${protocol}//${host}` : known;
  } catch {
    exact = undefined;
  }
  if (exact === origin) return;
  const hint = exact === undefined ? "" : `; do you mean "${exact}"?`;
  throw new TypeError(`origin must be like "https://example.com", got "${String(origin)}"${hint}`);
}
