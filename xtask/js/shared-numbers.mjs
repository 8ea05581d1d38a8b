// Rust and JavaScript declare some numbers with the same names. `node xtask/js/shared-numbers.mjs` checks that each
// name has the same number in both languages. The script prints each name whose numbers differ, with both numbers.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const faults = [];

const read = (file) => readFileSync(join(root, file), "utf8");

/** Returns the numbers that `text` declares, by name. `text` is a Rust or JavaScript file, or a part of such a file. */
function constants(file, pattern, text = read(file)) {
  const found = [...text.matchAll(pattern)].map(([, name, number]) => [name, evaluated(number)]);
  if (found.length === 0) faults.push(`${file} must declare numbers that match ${pattern}`);
  return Object.fromEntries(found);
}

function evaluated(text) {
  const [, number, shift = "0"] = /^(-?\d+)(?: << (\d+))?$/.exec(text) ?? [];
  return Number(number) * 2 ** Number(shift);
}

const inRust = (file, text) => constants(file, /^ *(?:pub(?:\([a-z]+\))? )?const ([A-Z_]+): [iu]32 = (.+);/gm, text);
const inJs = (file) => constants(file, /^(?:export )?const ([A-Z_]+) = (\d.*);/gm);

/** Compares two sets of numbers. In a fault, `pair` names the sets. A name in `optional` may be missing in one set. */
function compare(pair, rust, js, optional = []) {
  for (const name of new Set([...Object.keys(rust), ...Object.keys(js)])) {
    if (optional.includes(name) && (rust[name] === undefined) !== (js[name] === undefined)) continue;
    if (rust[name] !== js[name]) faults.push(`${pair}: ${name} is ${rust[name]} in Rust and ${js[name]} in JavaScript`);
  }
}

// One JavaScript file declares the commands and the outputs. A name in this file is a command if `mod commands` in Rust
// also declares the name.
const abi = "crates/portway-web/js/driver/wasm-abi.js";
const abiInRust = "crates/portway-web/src/abi.rs";
const inModule = (name) =>
  inRust(`mod ${name} of ${abiInRust}`, new RegExp(`^mod ${name} \\{.*?^\\}`, "ms").exec(read(abiInRust))?.[0] ?? "");
const commands = inModule("commands");
const numbers = inJs(abi);
const inAbi = (isCommand) =>
  Object.fromEntries(Object.entries(numbers).filter(([name]) => name in commands === isCommand));
compare(`mod commands of ${abiInRust} and ${abi}`, commands, inAbi(true));

// JavaScript has no names for NOTHING and SEND. Rust does not need the mask OPERATION.
const outputs = inAbi(false);
compare(`mod outputs of ${abiInRust} and ${abi}`, inModule("outputs"), outputs, ["NOTHING", "SEND", "OPERATION"]);
if (outputs.OPERATION !== outputs.HAS_MORE - 1) faults.push(`${abi}: OPERATION must be HAS_MORE - 1`);

// JavaScript has no names for the kinds of messages, so the number of each kind is computed from an example.
const { HAS_VERSION, kindOf, shapeOf } = await import("../../crates/portway-web/js/driver/envelope.js");
const { MAX_METHOD_LENGTH } = await import("../../crates/portway-web/js/driver/limit-values.js");
const shape = (message) => shapeOf(message, message, 8);
compare(
  "enum Kind of crates/portway-proto/src/message/shape.rs and crates/portway-web/js/driver/envelope.js",
  constants("crates/portway-proto/src/message/shape.rs", /^ {4}([A-Z][A-Za-z]+) = (\d+),/gm),
  {
    Missing: shape({}),
    Null: kindOf(null),
    Boolean: kindOf(true),
    Integer: kindOf(1),
    Fraction: kindOf(0.5),
    String: kindOf("a"),
    EmptyString: kindOf(""),
    Array: kindOf([]),
    Object: kindOf({}),
    Other: kindOf(undefined),
    TooLong: shape({ id: "a".repeat(9) }),
  },
);
compare(
  "the bits of a shape in crates/portway-proto/src/message/shape.rs and crates/portway-web/js/driver/envelope.js",
  {
    id: 0,
    ...constants(
      "crates/portway-proto/src/message/shape.rs",
      /^ {12}([a-z]+): (?:Kind::from_bits\()?bits >> (\d+) & /gm,
    ),
  },
  {
    ...Object.fromEntries(
      ["id", "method", "params", "result", "error"].map((name) => [name, bit(shape({ [name]: null }))]),
    ),
    version: bit(HAS_VERSION),
  },
);
if (shape({ method: "a".repeat(MAX_METHOD_LENGTH + 1) }) >> 4 !== shape({ id: "a".repeat(9) })) {
  faults.push("crates/portway-web/js/driver/envelope.js: a long method must have the same kind as a long id");
}

/** Returns the position of the one bit that is set in `number`. */
function bit(number) {
  return Math.log2(number);
}

// The numbers of the events that JavaScript reports to clients and servers in Rust. Rust has no name for a number that
// the last arm of a `match` handles.
const roles = read("crates/portway-web/js/rust/client-server.js");
const [reasons] = /^const REASONS = \{[^}]*\}/m.exec(roles) ?? [""];
const reasonNumbers = [...reasons.matchAll(/^ {2}"?([a-z-]+)"?: (\d+),/gm)].map(([, reason, number]) => {
  const name = reason === "timeout" ? "TIMED_OUT" : reason.replaceAll("-", "_").toUpperCase();
  return [name, Number(number)];
});
if (reasonNumbers.length === 0) faults.push("crates/portway-web/js/rust/client-server.js: REASONS is not found");
const pick = (names) =>
  Object.fromEntries(names.map((name) => [name, inJs("crates/portway-web/js/rust/client-server.js")[name]]));
compare(
  "src/browser/client.rs and crates/portway-web/js/rust/client-server.js",
  inRust("src/browser/client.rs"),
  { ...pick(["RESULT", "ERROR", "PROGRESS", "FAILED"]), ...Object.fromEntries(reasonNumbers) },
  ["FAILED", "WASM_DIED"],
);
// ANSWERED and POLLED are not events. They are return values, and JavaScript checks only whether they are 0.
const { ANSWERED, POLLED, ...events } = inRust("src/browser/server.rs");
compare(
  "src/browser/server.rs and crates/portway-web/js/rust/client-server.js",
  events,
  pick(["REQUEST", "NOTIFICATION", "CANCEL", "POLL"]),
  ["POLL"],
);

if (faults.length > 0) console.error(faults.join("\n"));
process.exitCode = faults.length === 0 ? 0 : 1;
