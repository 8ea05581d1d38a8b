// Loads the module, in the page as well as in the worker. All else is in src/.
import init from "./pkg/rust_worker.js";

await init();
