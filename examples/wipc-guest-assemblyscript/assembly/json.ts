// A JSON scanner. It returns the members of an object or the elements of an array as JSON texts, without decoding them.

/**
 * Returns the index after the value that begins at `from`, or -1 if the value is absent or incomplete. Counts brackets,
 * but does not check the value, which may be invalid JSON.
 */
function endOfValue(text: string, from: i32): i32 {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code == 0x22) {
      at = endOfString(text, at) - 1;
      if (at < 0) return -1;
      if (depth == 0) return at + 1;
    } else if (code == 0x7b || code == 0x5b) {
      depth += 1;
    } else if (code == 0x7d || code == 0x5d) {
      // The closing bracket of the enclosing object or array ends a number, true, false or null.
      if (depth == 0) return at == from ? -1 : at;
      depth -= 1;
      if (depth == 0) return at + 1;
    } else if (depth == 0 && (code == 0x2c || isBlank(code))) {
      return at == from ? -1 : at;
    }
  }
  return depth == 0 && text.length > from ? text.length : -1;
}

/** Returns the index after the string that begins at `from`, or -1 if the string is incomplete. */
function endOfString(text: string, from: i32): i32 {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code == 0x5c) at += 1;
    else if (code == 0x22) return at + 1;
  }
  return -1;
}

function isBlank(code: i32): bool {
  return code == 0x20 || code == 0x0a || code == 0x0d || code == 0x09;
}

function skipBlanks(text: string, from: i32): i32 {
  while (from < text.length && isBlank(text.charCodeAt(from))) from += 1;
  return from;
}

/** Returns the members of an object by their names, or null for any other text. Escapes in names are not decoded. */
export function membersOf(text: string): Map<string, string> | null {
  const members = new Map<string, string>();
  const parts = partsOf(text, 0x7b, 0x7d, true);
  if (parts === null) return null;
  for (let index = 0; index < parts.length; index += 2) {
    const name = parts[index];
    members.set(name.substring(1, name.length - 1), parts[index + 1]);
  }
  return members;
}

/** Returns the elements of an array, or null for any other text. */
export function elementsOf(text: string): string[] | null {
  return partsOf(text, 0x5b, 0x5d, false);
}

/**
 * Returns the values between the brackets `open` and `close`, or null for any other text. If `named` is true, the
 * result has the name of each value before this value.
 */
function partsOf(text: string, open: i32, close: i32, named: bool): string[] | null {
  const parts = new Array<string>();
  let at = skipBlanks(text, 0);
  if (at >= text.length || text.charCodeAt(at) != open) return null;
  at = skipBlanks(text, at + 1);
  if (at < text.length && text.charCodeAt(at) == close) return isAtEnd(text, at + 1) ? parts : null;
  while (at < text.length) {
    if (named) {
      if (text.charCodeAt(at) != 0x22) return null;
      const end = endOfString(text, at);
      if (end < 0) return null;
      parts.push(text.substring(at, end));
      at = skipBlanks(text, end);
      if (at >= text.length || text.charCodeAt(at) != 0x3a) return null;
      at = skipBlanks(text, at + 1);
    }
    const end = endOfValue(text, at);
    if (end < 0) return null;
    parts.push(text.substring(at, end));
    at = skipBlanks(text, end);
    if (at >= text.length) return null;
    const code = text.charCodeAt(at);
    if (code == close) return isAtEnd(text, at + 1) ? parts : null;
    if (code != 0x2c) return null;
    at = skipBlanks(text, at + 1);
  }
  return null;
}

function isAtEnd(text: string, at: i32): bool {
  return skipBlanks(text, at) == text.length;
}
