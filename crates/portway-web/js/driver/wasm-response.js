// Compiles WebAssembly from a module, bytes, or a response of a server.

import { tagOf } from "./errors.js";

/** The first bytes of a WebAssembly file. */
const MAGIC = "0,97,115,109";

/** Returns whether a value is a compiled module of any realm. A test runner may have several realms. */
export const isModule = (value) => tagOf(value) === "[object WebAssembly.Module]";

/**
 * Returns the compiled module. Throws if a response does not contain WebAssembly. The error contains the URL of the
 * response, or `location` if the response has no URL.
 * @param {any} source
 */
export async function compileModule(source, location) {
  if (isModule(source)) return source;
  return WebAssembly.compile(source?.ok === undefined ? source : await readWasm(source, source.url || location));
}

async function readWasm(response, location) {
  const { ok, status, headers } = response;
  // Vite refuses files outside of its root, such as those of a linked package.
  const hint = status === 403 ? "; linked, and so outside of Vite's root?" : "";
  if (!ok) throw new Error(`portway: ${location} was not found (status ${status}${hint})`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  // A server may send a page in place of the file, and the error of the compiler would not name this cause. So the
  // first bytes are checked. The MIME type is not checked.
  if (String(bytes.subarray(0, 4)) !== MAGIC)
    throw new Error(`portway: ${location} is not WebAssembly (${headers.get("content-type")})`);
  return bytes;
}
