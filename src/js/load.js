// Loads the wasm. The glue of wasm-bindgen could do it, too, at four times the size.

import { initSync as start } from "portway-glue";
import { install, needsWasm } from "../web/core.js";
import { settleEarly } from "../web/early-messages.js";

/** Starts from bytes or a compiled module, at once. While it runs, this does nothing. */
export function initSync(input) {
  if (!needsWasm()) return;
  const module = input instanceof WebAssembly.Module ? input : new WebAssembly.Module(input);
  // The glue would take it, fail, and keep it for good.
  if (WebAssembly.Module.imports(module).length === 0) throw new Error("portway: this is the WebAssembly of something else");
  install(start({ module }));
  settleEarly();
}

/** `init`, with what it loads if it is told nothing. */
export function makeInit(defaultInput) {
  let started;
  return function init(input) {
    if (!needsWasm()) return Promise.resolve();
    started ??= compile(input, defaultInput)
      .then(initSync)
      .catch(explain)
      .catch((error) => {
        if (needsWasm()) settleEarly(error);
        throw error;
      })
      // A failure is told to each who asked; the next call tries again.
      .finally(() => (started = undefined));
    return started;
  };
}

/** Browsers name the permission that allows `eval`, too; wasm needs less. */
function explain(error) {
  if (!/unsafe-eval|CSP/.test(error?.message)) throw error;
  throw new Error("portway: the Content-Security-Policy needs script-src 'wasm-unsafe-eval'", { cause: error });
}

async function compile(input, defaultInput) {
  const given = await (input ?? defaultInput());
  const isPlace = typeof given === "string" || given instanceof URL || given?.url !== undefined;
  if (!isPlace) return given instanceof WebAssembly.Module ? given : WebAssembly.compile(given);
  const response = typeof given.arrayBuffer === "function" && given.ok !== undefined ? given : await fetch(given);
  const place = `portway: ${response.url || given}`;
  const { status } = response;
  // It gives out nothing from outside of its root, where a linked package is.
  const hint = status === 403 ? "; linked, and so outside of Vite's root?" : "";
  if (!response.ok) throw new Error(`${place} is not there (status ${status}${hint})`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  // The MIME type does not matter; a page in place of the file does, and its compile error would puzzle.
  if (String(bytes.subarray(0, 4)) !== "0,97,115,109") {
    throw new Error(`${place} is no WebAssembly (${response.headers.get("content-type")})`);
  }
  return WebAssembly.compile(bytes);
}
