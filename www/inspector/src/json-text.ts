// Reads JSON text without building its values, so that digits, escapes, repeated members and the order of members are
// shown as they are in the message. No function recurses, because a message may have any depth.

export type NodeKind = "object" | "array" | "string" | "number" | "literal" | "invalid";

/** A value in a text: its first position, and the position after it. */
export interface JsonNode {
  readonly kind: NodeKind;
  readonly start: number;
  readonly end: number;
  /** The text of the member's name with its quotes, or the index in an array. Null for the root. */
  readonly key: string | number | null;
}

export interface Children {
  readonly nodes: readonly JsonNode[];
  /** The position from which `childrenOf` reads the next nodes, or null after the last one. */
  readonly next: { readonly at: number; readonly index: number } | null;
}

const QUOTE = 34;
const BACKSLASH = 92;

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

export function skipSpace(text: string, at: number): number {
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** Returns the position after the string that begins at `at`, or the length of the text if the string has no end. */
export function endOfString(text: string, at: number): number {
  let end = at;
  for (;;) {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
    let before = end - 1;
    while (before > at && text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end + 1;
  }
}

/** Returns the position after the value that begins at `at`. */
export function endOfValue(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === QUOTE) return endOfString(text, at);
  if (first !== 123 && first !== 91) return endOfScalar(text, at);
  let depth = 0;
  for (let end = at; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (code === QUOTE) end = endOfString(text, end) - 1;
    else if (code === 123 || code === 91) depth += 1;
    else if (code === 125 || code === 93) {
      depth -= 1;
      if (depth === 0) return end + 1;
    }
  }
  return text.length;
}

function endOfScalar(text: string, at: number): number {
  let end = at;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (isSpace(code) || code === 44 || code === 125 || code === 93 || code === 58) break;
  }
  return end;
}

function kindAt(text: string, at: number, end: number): NodeKind {
  const first = text[at] ?? "";
  if (first === "{") return "object";
  if (first === "[") return "array";
  if (first === '"') return "string";
  const word = end - at > 400 ? "" : text.slice(at, end);
  if (first === "-" || (first >= "0" && first <= "9")) return "number";
  return word === "true" || word === "false" || word === "null" ? "literal" : "invalid";
}

export function rootOf(text: string): JsonNode {
  const start = skipSpace(text, 0);
  const end = endOfValue(text, start);
  return { kind: kindAt(text, start, end), start, end, key: null };
}

/** Returns up to `limit` children of an object or an array. `from` continues after the nodes of an earlier call. */
export function childrenOf(text: string, parent: JsonNode, limit: number, from?: Children["next"]): Children {
  const nodes: JsonNode[] = [];
  const isObject = parent.kind === "object";
  let at = from?.at ?? parent.start + 1;
  let index = from?.index ?? 0;
  for (;;) {
    at = skipSpace(text, at);
    const code = text.charCodeAt(at);
    if (at >= parent.end || code === 125 || code === 93) return { nodes, next: null };
    if (nodes.length === limit) return { nodes, next: { at, index } };
    let key: string | number = index;
    if (isObject) {
      if (code !== QUOTE) return { nodes: [...nodes, restOf(parent, at)], next: null };
      const end = endOfString(text, at);
      key = text.slice(at, end);
      at = skipSpace(text, end);
      if (text[at] !== ":") return { nodes: [...nodes, restOf(parent, at)], next: null };
      at = skipSpace(text, at + 1);
    }
    const end = Math.min(parent.end, endOfValue(text, at));
    if (end <= at) return { nodes: [...nodes, restOf(parent, at)], next: null };
    nodes.push({ kind: kindAt(text, at, end), start: at, end, key });
    at = skipSpace(text, end);
    index += 1;
    if (text[at] === ",") at += 1;
  }
}

/** Returns a node for the text of a container from `at` on, where the text is not JSON, or was cut. */
function restOf(parent: JsonNode, at: number): JsonNode {
  return { kind: "invalid", start: at, end: parent.end, key: null };
}

/** The largest indentation, in levels. Without this limit, the indentation of deep JSON would need quadratic memory. */
const MAX_INDENT = 40;

/** Adds line breaks and indentation to a text in steps, so that a long text does not block the page. */
export class Formatter {
  readonly lines: string[] = [];
  #line = "";
  #at = 0;
  #depth = 0;

  constructor(readonly text: string) {}

  /** Continues until `performance.now()` reaches `deadline`. Returns whether the whole text has been formatted. */
  run(deadline: number): boolean {
    const { text } = this;
    for (let tokens = 0; this.#at < text.length; tokens += 1) {
      if (tokens % 1024 === 1023 && performance.now() >= deadline) return false;
      this.#token(text);
    }
    if (this.#line) this.#break("");
    return true;
  }

  #token(text: string): void {
    const at = this.#at;
    const code = text.charCodeAt(at);
    if (isSpace(code)) this.#at = skipSpace(text, at);
    else if (code === 123 || code === 91) this.#open(text, at);
    else if (code === 125 || code === 93) {
      this.#depth = Math.max(0, this.#depth - 1);
      this.#break(this.#indent());
      this.#line += text[at];
      this.#at = at + 1;
    } else if (code === 44) {
      this.#line += ",";
      this.#break(this.#indent());
      this.#at = at + 1;
    } else if (code === 58) {
      this.#line += ": ";
      this.#at = at + 1;
    } else {
      const end = code === QUOTE ? endOfString(text, at) : Math.max(at + 1, endOfScalar(text, at));
      this.#line += text.slice(at, end);
      this.#at = end;
    }
  }

  #open(text: string, at: number): void {
    const next = skipSpace(text, at + 1);
    const close = text[at] === "{" ? "}" : "]";
    if (text[next] === close) {
      this.#line += text[at] + close;
      this.#at = next + 1;
      return;
    }
    this.#line += text[at];
    this.#depth += 1;
    this.#break(this.#indent());
    this.#at = at + 1;
  }

  #indent(): string {
    return "  ".repeat(Math.min(MAX_INDENT, this.#depth));
  }

  #break(next: string): void {
    if (this.#line.trim()) this.lines.push(this.#line);
    this.#line = next;
  }
}
