const MAX_LENGTH = 220;
const MAX_ITEMS = 8;
const MAX_DEPTH = 4;

/** Returns a value as one short line. Reads only the first members of a large value, to save time. */
export function summarize(value: unknown): string {
  const text = describe(value, 0);
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}

function describe(value: unknown, depth: number): string {
  if (typeof value === "string") return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  if (typeof value !== "object" || value === null) return String(value);
  if (ArrayBuffer.isView(value)) return `${value.constructor.name}(${value.byteLength} bytes)`;
  if (value instanceof ArrayBuffer) return `ArrayBuffer(${value.byteLength} bytes)`;
  if (depth === MAX_DEPTH) return Array.isArray(value) ? "[…]" : "{…}";
  if (Array.isArray(value)) {
    const items = value.slice(0, MAX_ITEMS).map((item) => describe(item, depth + 1));
    if (value.length > MAX_ITEMS) items.push(`… ${value.length - MAX_ITEMS} more`);
    return `[${items.join(", ")}]`;
  }
  const entries = Object.entries(value);
  const members = entries.slice(0, MAX_ITEMS).map(([key, item]) => `${key}: ${describe(item, depth + 1)}`);
  if (entries.length > MAX_ITEMS) members.push("…");
  return members.length ? `{ ${members.join(", ")} }` : "{}";
}
