// The worker. It loads the wasm module, which starts the server. The source of the module is in src/.
import init from "./pkg/one_service.js";

await init();
