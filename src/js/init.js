// Loads the wasm. The glue of wasm-bindgen could do it, too, at four times the size.

import { initSync as start } from "portway-glue";
import { install, needsWasm } from "../web/wasm-instance.js";
import { settleEarly } from "../web/early-buffer.js";
import { tagOf } from "../web/errors.js";
import { readWasm } from "./wasm-response.js";

/** Starts from bytes or a compiled module, at once. While it runs, this does nothing. */
export function initSync(input) {
  if (!needsWasm()) return;
  const module = isModule(input) ? input : new WebAssembly.Module(input);
  // The glue would take it, fail, and keep it for good.
  if (WebAssembly.Module.imports(module).length === 0)
    throw new Error("portway: this is the WebAssembly of something else");
  install(start(module));
  settleEarly();
}

/** Also true for a module of another realm: a test runner has several. */
const isModule = (value) => tagOf(value) === "[object WebAssembly.Module]";

/** Makes `init`. `defaultInput` returns its default input, and `read` reads a URL or path to a response or bytes. */
export function makeInit(defaultInput, read = (location) => fetch(location)) {
  let started;
  return function init(input) {
    if (!needsWasm()) return Promise.resolve();
    started ??= compile(input, defaultInput, read)
      .then(initSync)
      .catch(throwWithHint)
      .catch((error) => {
        if (needsWasm()) settleEarly(error);
        throw error;
      })
      // A failure is told to each who asked; the next call tries again.
      .finally(() => (started = undefined));
    return started;
  };
}

function throwWithHint(error) {
  const { message } = Object(error);
  // Browsers name the permission that allows `eval`, too; wasm needs less.
  if (/unsafe-eval|CSP/.test(message))
    throwError("the Content-Security-Policy needs script-src 'wasm-unsafe-eval'", error);
  if (/\bmemory/.test(message))
    throwError("this process has no memory for WebAssembly left; Chromium has some for 120 realms", error);
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
  if (source?.ok === undefined) return isModule(source) ? source : WebAssembly.compile(source);
  return WebAssembly.compile(await readWasm(source, source.url || location));
}
