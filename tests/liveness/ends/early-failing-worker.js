// The wasm is not where this worker looks, and `portway/early` is there to say so.

import "/pkg/early.js";
import init from "/pkg/portway.js";

postMessage({ type: "starts" });
init("/nowhere.wasm").catch(() => {});
