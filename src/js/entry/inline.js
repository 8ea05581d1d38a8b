// `portway/inline`: the wasm is part of the module, for places that cannot load a second file.

import bytes from "portway-wasm";
import { makeInit } from "../load.js";

export * from "../exports.js";
export default makeInit(() => bytes);
