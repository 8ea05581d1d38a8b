// What wasm tells in texts, while one of its functions runs. Strings go this way, and not as return values, since handing
// over values of JavaScript would take a table of them in wasm.

import { READ_FAULT } from "./wasm-abi.js";

let fault;
let findings = [];

/** @internal Called by wasm. */
export function onFault(code, message, reason, id) {
  const error = { code, message };
  if (reason !== "") error.data = { reason };
  fault = { error, id };
}

/** @internal Called by wasm. */
export function onFinding(text, isError) {
  findings.push({ text, isError });
}

/** The error of the library's own that the core speaks of, and the id that it goes to, as wasm has it. */
export function readFault(wasm) {
  wasm.run(READ_FAULT);
  return fault;
}

/** What the core finds while it runs a check. */
export function collectFindings(check) {
  findings = [];
  check();
  return findings;
}
