// `portway/wipc/wasi`: a WASI guest in a worker. Of the other modules of the package, it needs only `wasi-worker.js`.

export { startWasiGuest } from "../wipc/wasi/start.js";
