// `portway/inline`: the module contains the wasm, for environments that cannot load a second file.

import text from "portway-wasm";
import { decodeBase64 } from "../driver/base64.js";
import { makeInit } from "../wasm-loader.js";

export * from "../index.js";

export default /* @__PURE__ */ makeInit(() => decodeBase64(text));
