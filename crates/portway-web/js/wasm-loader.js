// Loads the wasm. This file replaces the loader of wasm-bindgen, which is four times as large.

import { initSync as start } from "portway-glue";
import { setInstance, hasInstance } from "./driver/wasm-instance.js";
import { finishEarly } from "./transport/early-buffer.js";
import { compileModule, isModule } from "./driver/wasm-response.js";

/** Starts the wasm from bytes or a compiled module, synchronously. Has no effect if the wasm already runs. */
export function initSync(input) {
  if (hasInstance()) return;
  const module = isModule(input) ? input : new WebAssembly.Module(input);
  // A module without imports was not built from portway. Without this check, the glue would fail to start the module,
  // but would still store it.
  if (WebAssembly.Module.imports(module).length === 0)
    throw new Error("portway: this WebAssembly module was not built from portway");
  setInstance(start(module));
  finishEarly();
}

/**
 * Creates the function `init`. `defaultInput` returns the input of a call without an argument. `read` fetches or reads
 * a URL or path, and resolves to a response or to bytes.
 * @param {() => import("../types/init.js").InitInput} defaultInput
 * @param {(location: any) => Promise<Response | BufferSource>} [read]
 */
export function makeInit(defaultInput, read = (location) => fetch(location)) {
  let started;
  return function init(input) {
    if (hasInstance()) return Promise.resolve();
    started ??= compile(input, defaultInput, read)
      .then(initSync)
      .catch(throwWithHint)
      .catch((error) => {
        if (!hasInstance()) finishEarly(error);
        throw error;
      })
      // All callers that wait share a failure. A later call tries again.
      .finally(() => (started = undefined));
    return started;
  };
}

function throwWithHint(error) {
  const { message } = Object(error);
  // The errors of browsers name `unsafe-eval`, which also allows `eval`. The narrower `wasm-unsafe-eval` suffices.
  if (/unsafe-eval|CSP/.test(message))
    throwError("the Content-Security-Policy needs script-src 'wasm-unsafe-eval'", error);
  if (/\bmemory/.test(message))
    throwError("this process has no memory for WebAssembly left; in Chromium it suffices for about 120 realms", error);
  throw error;
}

function throwError(text, cause) {
  throw new Error(`portway: ${text}`, { cause });
}

async function compile(input, defaultInput, read) {
  let source = await input;
  let location = "portway_bg.wasm";
  try {
    source ??= defaultInput();
    const { ok, url, href = url } = Object(source);
    if (typeof source === "string" || (href !== undefined && ok === undefined)) {
      location = source;
      source = await read(source);
    }
  } catch (error) {
    throwError(`${location} cannot be read: copy it there, import "portway/inline", or give init() its bytes`, error);
  }
  return compileModule(source, location);
}
