// `portway` in browsers: the wasm lies beside the module. Bundlers know this form of the URL, and ship the file.

import { makeInit } from "../init.js";

export * from "../index.js";
export default /* @__PURE__ */ makeInit(() => new URL("portway_bg.wasm", import.meta.url));
