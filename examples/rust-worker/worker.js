// Loads the wasm module, both in the page and in the worker. The source of the module is in src/.
import init from "./pkg/rust_worker.js";

await init();
