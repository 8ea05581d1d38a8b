// Loads the wasm from the input that the argument names, and makes a call.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { relative } from "node:path";
import init, { JSONRPCClient, JSONRPCServer } from "portway";
import { pair } from "./calls.js";

const url = import.meta.resolve("portway/portway_bg.wasm");
const path = fileURLToPath(url);
const inputs = {
  "a path": () => path,
  "a relative path": () => relative(process.cwd(), path),
  "a file: URL": () => new URL(url),
  bytes: () => readFile(path),
  "a module": async () => WebAssembly.compile(await readFile(path)),
  nothing: () => undefined,
};
await init(await inputs[process.argv[2]]());
const [near, far] = pair();
new JSONRPCServer(far).method("add", ([a, b]) => a + b);
console.log(await new JSONRPCClient(near, { timeout: 0 }).request("add", [1, 2]));
