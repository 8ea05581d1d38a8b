// `wasi-worker.js`, which `portway/wipc/wasi` starts as a worker.

import "../wipc/wasi/worker.js";
