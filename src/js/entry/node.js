// `portway` in Node, whose `fetch` reads no files.

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeInit } from "../init.js";

export * from "../index.js";
// The same for Node's workers; it goes before the one of that name above.
export { connect, workerTransport } from "../node-worker-adapter.js";

/**
 * The folder of this module. In a CommonJS bundle, the module has no URL. (Vite would take `new URL(…, import.meta.url)` for an
 * asset of a page.)
 */
const folder = () => (import.meta.url === undefined ? __dirname : dirname(fileURLToPath(import.meta.url)));

/** The bytes of a file, by its path or URL; other URLs are fetched. */
function read(location) {
  const text = location.url ?? String(location);
  if (/^(https?|data|blob):/.test(text)) return fetch(location);
  return readFile(/^file:/.test(text) ? fileURLToPath(text) : text);
}

export default /* @__PURE__ */ makeInit(() => join(folder(), "portway_bg.wasm"), read);
