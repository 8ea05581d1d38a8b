// How deep values are nested, for the Rust API: serde follows them with a stack of wasm, which has an end. The npm package
// has none of this file.

const MOST_LEVELS = 128;

function isNested(value) {
  return typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
}

/** What is in a value; of an array, not its holes, of which there may be billions. */
function partsOf(value) {
  if (value instanceof Set) return value;
  return value instanceof Map ? [...value.keys(), ...value.values()] : Object.values(value);
}

/** Whether objects and arrays are nested deeper than serde is to follow them. Goes level by level, so rings end, too. */
export function isTooDeep(value) {
  let level = new Set(isNested(value) ? [value] : []);
  for (let depth = 0; level.size > 0; depth++) {
    if (depth === MOST_LEVELS) return true;
    const next = new Set();
    for (const whole of level) for (const part of partsOf(whole)) if (isNested(part)) next.add(part);
    level = next;
  }
  return false;
}
