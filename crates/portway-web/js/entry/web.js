// `portway` in browsers: the wasm file is beside the module. Bundlers recognize the `new URL` below and ship the file.

import { makeInit } from "../wasm-loader.js";

export * from "../index.js";
export default /* @__PURE__ */ makeInit(() => new URL("portway_bg.wasm", import.meta.url));
