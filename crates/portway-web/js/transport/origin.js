// The origins that a window may have. Origins are compared exactly; there are no patterns.

/** Returns the origin of the document of a window. */
export function ownOrigin(source) {
  // The origin of the location may differ: an iframe may have the origin of its parent, or an opaque one.
  const { origin } = source;
  if (origin === undefined || origin === "null") {
    throw new TypeError(
      "this document has no origin; name the origin of the peer: windowTransport(target, { origin })",
    );
  }
  return origin;
}

/** Returns the origins of an option as a list; the default if it is undefined. */
export function parseOrigins(origin, fallback) {
  if (origin === undefined) return [fallback()];
  // A message to an origin that is listed twice would arrive twice.
  const list = [...new Set([origin].flat())];
  if (list.length === 0) throw new TypeError("origin must not be an empty list");
  list.forEach(checkOrigin);
  return list;
}

/** Returns whether messages of an origin are received. */
export function allowsOrigin(allowed, origin) {
  return allowed.some((one) => one === "*" || one === origin);
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
    // App shells have such origins (`capacitor://localhost`). In browsers, these URLs have no origin, so no window
    // matches.
    exact = known === "null" ? `${protocol}//${host}` : known;
  } catch {
    exact = undefined;
  }
  if (exact === origin) return;
  const hint = exact === undefined ? "" : `; do you mean "${exact}"?`;
  throw new TypeError(`origin must be like "https://example.com", got "${String(origin)}"${hint}`);
}
