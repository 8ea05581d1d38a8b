// Loads the module, which serves. All else is in src/.
import init from "./pkg/one_service.js";

await init();
