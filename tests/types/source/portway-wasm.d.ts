// The wasm as base64 text, which `cargo xtask build` puts into `portway/inline`.

declare const text: string;
export default text;
