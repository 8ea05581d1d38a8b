// `wasi-worker.js`: the worker script of `portway/wipc/wasi`.

import "../wipc/wasi/worker.js";
