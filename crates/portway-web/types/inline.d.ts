// The declarations of `portway/inline`: the exports of `portway`, with the wasm inside the module. `init()` does not
// use the network, so it works in `srcdoc` iframes, `blob:` workers, and with bundlers that do not support assets.

export * from "./portway.js";
export { default } from "./portway.js";
