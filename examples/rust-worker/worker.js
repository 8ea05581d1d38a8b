// Loads the module, in the page and in the worker. The rest is in src/.
import init from "./pkg/rust_worker.js";

await init();
