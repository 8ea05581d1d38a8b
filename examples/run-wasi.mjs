// Runs a WASI command in Node, on the standard input, output and error of this process, so that whatever can spawn a
// command can have a WASI guest: `node run-wasi.mjs guest.wasm [argument …]`.
//
// It sees no files, and of the environment what `WASI_ENV` names: `WASI_ENV=HOME,LANG`.

// Neither process.stdin nor process.stdout is touched here: Node would make the pipes non-blocking, and the guest's reads fail.
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
  // As a shell tells of a command that a signal has ended.
  writeSync(2, `${file} has failed: ${error.stack}\n`);
  process.exitCode = 134;
}
