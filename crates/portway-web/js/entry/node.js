// `portway` in Node, where `fetch` does not read files.

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeInit } from "../wasm-loader.js";

export * from "../index.js";
// These functions also accept workers of Node. A named export replaces the export of the same name in `export *`.
export { connect, workerTransport } from "../transport/node-worker-adapter.js";

/**
 * Returns the folder of this module. In a CommonJS bundle, the module has no URL. A `new URL` with `import.meta.url` is
 * not used, because Vite would treat that expression as the URL of an asset.
 */
const folder = () => (import.meta.url === undefined ? __dirname : dirname(fileURLToPath(import.meta.url)));

/** Reads a file by its path or `file:` URL. Fetches any other URL. */
function read(location) {
  const text = location.url ?? String(location);
  if (/^(https?|data|blob):/.test(text)) return fetch(location);
  return readFile(/^file:/.test(text) ? fileURLToPath(text) : text);
}

export default /* @__PURE__ */ makeInit(() => join(folder(), "portway_bg.wasm"), read);
