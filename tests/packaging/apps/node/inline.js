// `portway/inline` and `initSync`, where nothing is read from disk by the package.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import initInline, { validateMessage } from "portway/inline";
import init, * as portway from "portway";

await initInline();
const report = validateMessage({ jsonrpc: "2.0", method: "add", id: 1 });

// The address of the wasm is an export of the package.
portway.initSync(readFileSync(createRequire(import.meta.url).resolve("portway/portway_bg.wasm")));
// It has been started, so this loads nothing.
await init("file:///nowhere");
const same = portway.validateMessage({ jsonrpc: "2.0", method: "add", id: 1 });
console.log(JSON.stringify([report.isValid, same.isValid]));
