// Checks messages against JSON-RPC 2.0. The rules are in wasm (`crates/portway-proto/src/validate`).

import { VALIDATE } from "./driver/wasm-abi.js";
import { runGlobalCommand } from "./driver/wasm-instance.js";
import { HAS_VERSION, kindOf, shapeOf } from "./driver/envelope.js";
import { MAX_FINDINGS } from "./driver/limit-values.js";
import { collectFindings } from "./driver/wasm-callbacks.js";

// The numbers of the expected kinds; `crates/portway-web/src/validator.rs` has the same numbers.
const EXPECTATIONS = { request: 1, response: 2 };
const EMPTY_BATCH = 3;

/**
 * Returns `{ isValid, errors, warnings }` for a message or a batch. `options.type` is the expected kind.
 * @type {typeof import("../types/messages.js").validateMessage}
 */
export function validateMessage(message, options) {
  const type = options?.type;
  if (type !== undefined && !Object.hasOwn(EXPECTATIONS, type)) {
    throw new TypeError(`type must be "request" or "response", got ${String(type)}`);
  }
  const expect = EXPECTATIONS[type] ?? 0;
  const errors = [];
  const warnings = [];
  /** @type {(prefix: string, facts: number[], expect: number) => void} */
  const report = (prefix, [facts, code], expect) => {
    const findings = collectFindings(() => runGlobalCommand(VALIDATE, expect, facts, code));
    for (const { text, isError } of findings) {
      const list = isError ? errors : warnings;
      if (list.length < MAX_FINDINGS) list.push(prefix + text);
    }
  };
  const items = itemsOf(message);
  if (items === undefined) report("", elementFacts(message), expect);
  else if (items.length === 0) report("", [], EMPTY_BATCH);
  else for (const [index, item] of items.entries()) report(`[Item ${index}] `, elementFacts(item), expect);
  return { isValid: errors.length === 0, errors, warnings };
}

/**
 * Returns the items of an array, or undefined for another value. The items end with the first hole, because an array
 * may have billions of holes.
 */
function itemsOf(message) {
  try {
    if (!Array.isArray(message)) return undefined;
    const hole = message.findIndex((_, index) => !(index in message));
    return message.slice(0, hole + 1 || Infinity);
  } catch {
    return undefined;
  }
}

/**
 * Returns the facts about an item that wasm checks: an integer with the kinds of its members, and the code of its
 * error. `crates/portway-web/src/validator.rs` specifies the bits of the integer.
 */
function elementFacts(item) {
  try {
    const kind = kindOf(item);
    if (kind !== kindOf({})) return [kind << 24];
    const { code, message } = Object(item.error);
    const text = message === undefined ? 0 : kindOf(message);
    const shape = shapeOf(item, item) | (item.jsonrpc === "2.0" ? HAS_VERSION : 0);
    return [(shape | (kind << 24) | (text << 28)) >>> 0, typeof code === "number" ? code : NaN];
  } catch {
    // An item whose members cannot be read cannot be sent either. It counts as a value that is not an object.
    return [kindOf(undefined) << 24];
  }
}
