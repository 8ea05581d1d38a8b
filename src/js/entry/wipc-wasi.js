// `portway/wipc/wasi`: a WASI guest in a worker. It needs nothing else of the package.

export { startWasiGuest } from "../wipc/wasi/start.js";
