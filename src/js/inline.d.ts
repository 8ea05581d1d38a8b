// What `import … from "portway/inline"` gives: the same as "portway", with the wasm inside. `init()` takes nothing
// from the network, so that it works where nothing can be: `srcdoc` frames, `blob:` workers, bundlers without assets.

export * from "./portway.js";
export { default } from "./portway.js";
