// Loads the wasm. The glue of wasm-bindgen could do it, too, at four times the size.

import { initSync as start } from "portway-glue";
import { setInstance, needsWasm } from "../web/wasm-instance.js";
import { finishEarly } from "../web/early-buffer.js";
import { tagOf } from "../web/errors.js";

/** Starts from bytes or a compiled module, at once. While it runs, this does nothing. */
export function initSync(input) {
  if (!needsWasm()) return;
  const module = isModule(input) ? input : new WebAssembly.Module(input);
  // The glue would take it, fail, and keep it for good.
  if (WebAssembly.Module.imports(module).length === 0)
    throw new Error("portway: this is the WebAssembly of something else");
  setInstance(start(module));
  finishEarly();
}

/** Also true for a module of another realm: a test runner has several. */
const isModule = (value) => tagOf(value) === "[object WebAssembly.Module]";

/** Makes `init`. `defaultInput` returns its default input, and `read` reads a URL or path to a response or bytes. */
export function makeInit(defaultInput, read = (place) => fetch(place)) {
  let started;
  return function init(input) {
    if (!needsWasm()) return Promise.resolve();
    started ??= compile(input, defaultInput, read)
      .then(initSync)
      .catch(explain)
      .catch((error) => {
        if (needsWasm()) finishEarly(error);
        throw error;
      })
      // A failure is told to each who asked; the next call tries again.
      .finally(() => (started = undefined));
    return started;
  };
}

function explain(error) {
  const { message } = Object(error);
  // Browsers name the permission that allows `eval`, too; wasm needs less.
  if (/unsafe-eval|CSP/.test(message)) fail("the Content-Security-Policy needs script-src 'wasm-unsafe-eval'", error);
  if (/\bmemory/.test(message))
    fail("this process has no memory for WebAssembly left; Chromium has some for 120 realms", error);
  throw error;
}

function fail(text, cause) {
  throw new Error(`portway: ${text}`, { cause });
}

async function compile(input, defaultInput, read) {
  let given = await input;
  let place = "portway_bg.wasm";
  try {
    given ??= defaultInput();
    const { ok, url, href = url } = Object(given);
    if (typeof given === "string" || (href !== undefined && ok === undefined)) {
      place = given;
      given = await read(given);
    }
  } catch (error) {
    fail(`${place} cannot be read: copy it there, import "portway/inline", or give init() its bytes`, error);
  }
  if (given?.ok === undefined) return isModule(given) ? given : WebAssembly.compile(given);
  const { status, url } = given;
  place = `${url || place}`;
  // It gives out nothing from outside of its root, where a linked package is.
  const hint = status === 403 ? "; linked, and so outside of Vite's root?" : "";
  if (!given.ok) fail(`${place} is not there (status ${status}${hint})`);
  const bytes = new Uint8Array(await given.arrayBuffer());
  // The MIME type does not matter; a page in place of the file does, and its compile error would puzzle.
  if (String(bytes.subarray(0, 4)) !== "0,97,115,109")
    fail(`${place} is no WebAssembly (${given.headers.get("content-type")})`);
  return WebAssembly.compile(bytes);
}
