// Starts the package by `portway/inline` and by `initSync`. In both cases, the package itself reads no file.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import initInline, { validateMessage } from "portway/inline";
import init, * as portway from "portway";

await initInline();
const firstReport = validateMessage({ jsonrpc: "2.0", method: "add", id: 1 });

// The package exports its wasm file.
portway.initSync(readFileSync(createRequire(import.meta.url).resolve("portway/portway_bg.wasm")));
// The wasm has already started, so this call does not load the missing file.
await init("file:///nowhere");
const secondReport = portway.validateMessage({ jsonrpc: "2.0", method: "add", id: 1 });
console.log(JSON.stringify([firstReport.isValid, secondReport.isValid]));
