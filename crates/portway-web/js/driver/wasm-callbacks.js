// The functions that wasm calls to pass strings to JavaScript. If wasm returned strings, it would need a table of
// JavaScript values.

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

/** Returns the error object for the last output of a connection, and the encoded id of the reply with this error. */
export function readFault(wasm) {
  wasm.run(READ_FAULT);
  return fault;
}

/** Returns the findings that wasm reports while the function `check` runs. */
export function collectFindings(check) {
  findings = [];
  check();
  return findings;
}
