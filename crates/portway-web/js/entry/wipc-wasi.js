// `portway/wipc/wasi`: a WASI guest in a worker. It needs no other module of the package.

export { startWasiGuest } from "../wipc/wasi/start.js";
