// The wasm is not where this worker looks, and nobody is there to say so.

import init from "/pkg/portway.js";

init("/nowhere.wasm").catch(() => {});
