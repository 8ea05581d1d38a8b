// `portway` in Node, whose `fetch` reads no files.

import { readFile } from "node:fs/promises";
import { makeInit } from "../load.js";

export * from "../exports.js";
// The same for Node's workers; it goes before the one of that name above.
export { connect, workerTransport } from "../node-worker.js";
export default makeInit(() => readFile(new URL("portway_bg.wasm", import.meta.url)));
