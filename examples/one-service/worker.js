// Loads the module, which starts the server. The rest is in src/.
import init from "./pkg/one_service.js";

await init();
