/** The maximum length of the text of a console call, in characters. */
const MAX_LENGTH = 5000;
/** The maximum number of items of a collection, or of members of an object, that are written. */
const MAX_ITEMS = 50;
/** The maximum nesting of the objects that are written. */
const MAX_DEPTH = 4;

/** Returns the arguments of a console call as one text. Replaces placeholders such as `%s`. */
export function formatMessage(values: readonly unknown[]): string {
  const rest = [...values];
  const parts: string[] = [];
  if (typeof rest[0] === "string" && /%[sdifoOc]/.test(rest[0])) {
    const template = rest.shift() as string;
    parts.push(
      template.replace(/%([sdifoOc%])/g, (placeholder, kind: string) => {
        if (kind === "%") return "%";
        if (!rest.length) return placeholder;
        const value = rest.shift();
        if (kind === "c") return "";
        return kind === "s" ? String(value) : formatValue(value);
      }),
    );
  }
  for (const value of rest) parts.push(typeof value === "string" ? value : formatValue(value));
  const text = parts.join(" ");
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}

function formatValue(value: unknown, depth = 0, parents: readonly object[] = []): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return `function ${value.name || "(anonymous)"}`;
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Error)
    return value.stack?.includes(value.message) ? value.stack : `${value.name}: ${value.message}`;
  if (value instanceof Date || value instanceof RegExp) return String(value);
  if (value instanceof Element) return value.outerHTML.slice(0, 200);
  if (parents.includes(value)) return "[circular]";
  if (depth === MAX_DEPTH) return "…";
  const withValue = [...parents, value];
  const nested = (item: unknown) => formatValue(item, depth + 1, withValue);
  if (Array.isArray(value)) return list("[", value.map(nested), "]");
  if (value instanceof Map)
    return list(
      "Map {",
      [...value].map(([key, item]) => `${nested(key)} => ${nested(item)}`),
      "}",
    );
  if (value instanceof Set) return list("Set {", [...value].map(nested), "}");
  const name = value.constructor?.name;
  const members = Object.entries(value).map(([key, item]) => `${key}: ${nested(item)}`);
  return list(name && name !== "Object" ? `${name} {` : "{", members, "}");
}

function list(open: string, items: readonly string[], close: string): string {
  if (!items.length) return open + close;
  const shown = items.slice(0, MAX_ITEMS);
  if (items.length > MAX_ITEMS) shown.push(`… ${items.length - MAX_ITEMS} more`);
  const space = open === "[" ? "" : " ";
  return `${open}${space}${shown.join(", ")}${space}${close}`;
}
