// Loads the second wasm of the package: the rules of MCP over HTTP. The native client has the same rules. Only links in
// the dialect `mcp` load this wasm.

import { Detection, Events, RequestHeaders, initSync, retry_delay } from "portway-mcp-glue";
import text from "portway-mcp-wasm";
import { decodeBase64 } from "../driver/base64.js";

/** @type {Promise<typeof rules> | undefined} */
let loading;

/** The classes and functions of the wasm. */
const rules = { Detection, Events, RequestHeaders, retryDelay: retry_delay };

/** Resolves to the classes and functions of the wasm. */
export function loadRules() {
  loading ??= load().catch((error) => {
    // The next caller tries again.
    loading = undefined;
    throw error;
  });
  return loading;
}

async function load() {
  let module;
  try {
    module = await WebAssembly.compile(decodeBase64(text));
  } catch (error) {
    throw new Error("portway/mcp: the wasm cannot start; does the Content-Security-Policy allow 'wasm-unsafe-eval'?", {
      cause: error,
    });
  }
  initSync({ module });
  return rules;
}
