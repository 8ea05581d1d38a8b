// Which origins a window may have. Comparison is exact; there are no patterns to get wrong.

/** The origin of the document of this window. */
export function ownOrigin(source) {
  // Not that of its location: a frame's document may have its parent's origin, or be denied its own.
  const { origin } = source;
  if (origin === undefined || origin === "null") {
    throw new TypeError(
      "this document has no origin of its own to fall back on; name the other side's: windowTransport(target, { origin })",
    );
  }
  return origin;
}

/** The origins that were asked for, as a list; the default if none were. */
export function parseOrigins(origin, fallback) {
  if (origin === undefined) return [fallback()];
  // Each once: a message to an origin that is named twice would arrive twice.
  const list = [...new Set([origin].flat())];
  if (list.length === 0) throw new TypeError("the list of origins is empty");
  list.forEach(checkOrigin);
  return list;
}

/** Whether a message of this origin is to be heard. */
export function allowsOrigin(allowed, origin) {
  return allowed.some((one) => one === "*" || one === origin);
}

/** That the other side has an origin that is not allowed. */
export function originMismatchMessage(origin, allowed) {
  return `the other side has the origin "${origin}"; allowed is "${allowed.join('", "')}"; allow it by origin: "${origin}"`;
}

function checkOrigin(origin) {
  if (origin === "*" || origin === "null") return;
  let exact;
  try {
    const { origin: known, protocol, host } = new URL(origin);
    // The origin of an app shell (`capacitor://localhost`). Elsewhere it has none, and so matches no window.
    exact = known === "null" ? `${protocol}//${host}` : known;
  } catch {
    exact = undefined;
  }
  if (exact === origin) return;
  const hint = exact === undefined ? "" : `; do you mean "${exact}"?`;
  throw new TypeError(`"${String(origin)}" is no origin such as "https://example.com"${hint}`);
}
