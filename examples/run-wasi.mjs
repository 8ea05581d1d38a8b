// Runs a WASI command in Node: `node run-wasi.mjs guest.wasm [argument …]`. The command uses the standard input, output
// and error of this process. So any host that can spawn a command can run a WASI guest.
//
// The guest has no access to files. It receives only the environment variables that `WASI_ENV` names, for example with
// `WASI_ENV=HOME,LANG`.

// This script must not use `process.stdin` or `process.stdout`. Node would make the pipes non-blocking, and the reads
// of the guest would fail.
import { readFileSync, writeSync } from "node:fs";
import { WASI } from "node:wasi";

const [file, ...args] = process.argv.slice(2);
if (file === undefined) {
  writeSync(2, "usage: node run-wasi.mjs guest.wasm [argument ...]\n");
  process.exit(2);
}
const env = Object.fromEntries(
  (process.env.WASI_ENV ?? "")
    .split(",")
    .filter(Boolean)
    .map((name) => [name, process.env[name] ?? ""]),
);
const wasi = new WASI({ version: "preview1", args: [file, ...args], env });
let instance;
try {
  instance = await WebAssembly.instantiate(await WebAssembly.compile(readFileSync(file)), wasi.getImportObject());
} catch (error) {
  writeSync(2, `${file} cannot be started: ${error.message}\n`);
  process.exit(126);
}
try {
  process.exitCode = wasi.start(instance);
} catch (error) {
  // A shell reports 134 for a command that SIGABRT has ended.
  writeSync(2, `${file} has failed: ${error.stack}\n`);
  process.exitCode = 134;
}
