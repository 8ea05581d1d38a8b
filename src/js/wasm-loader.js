// Loads the wasm. The loader of wasm-bindgen's glue is four times as large.

import { initSync as start } from "portway-glue";
import { setInstance, needsWasm } from "../web/wasm-instance.js";
import { finishEarly } from "../web/early-buffer.js";
import { compileModule, isModule } from "./wasm-response.js";

/** Starts the wasm from bytes or a compiled module, synchronously. Does nothing while it runs. */
export function initSync(input) {
  if (!needsWasm()) return;
  const module = isModule(input) ? input : new WebAssembly.Module(input);
  // The glue would accept the module, fail, and then keep it.
  if (WebAssembly.Module.imports(module).length === 0)
    throw new Error("portway: this WebAssembly module was not built from portway");
  setInstance(start(module));
  finishEarly();
}

/**
 * Creates `init`. `defaultInput` returns its default input. `read` returns a response or the bytes of a URL or path.
 * @param {() => import("./init.js").InitInput} defaultInput
 * @param {(location: any) => Promise<Response | BufferSource>} [read]
 */
export function makeInit(defaultInput, read = (location) => fetch(location)) {
  let started;
  return function init(input) {
    if (!needsWasm()) return Promise.resolve();
    started ??= compile(input, defaultInput, read)
      .then(initSync)
      .catch(throwWithHint)
      .catch((error) => {
        if (needsWasm()) finishEarly(error);
        throw error;
      })
      // Every waiting caller gets the failure. The next call tries again.
      .finally(() => (started = undefined));
    return started;
  };
}

function throwWithHint(error) {
  const { message } = Object(error);
  // Browsers name the permission that also allows `eval`. WebAssembly needs less.
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
