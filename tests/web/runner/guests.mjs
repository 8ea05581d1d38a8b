// Builds guests for the specs, as WebAssembly files in target/guests. A guest is built again if a source file is
// newer than the built file.
//
// PORTWAY_GUESTS names further guests that behave like the guest of examples/wipc-guest-assemblyscript. Its value is a
// list of file names, relative to the repository's root and separated by commas.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const folder = "target/guests";

const builds = [
  {
    wasm: `${folder}/assemblyscript.wasm`,
    sources: "examples/wipc-guest-assemblyscript",
    command: (out) => [
      "assemblyscript/bin/asc.js",
      "examples/wipc-guest-assemblyscript/assembly/index.ts",
      ...["--config", "examples/wipc-guest-assemblyscript/asconfig.json", "--outFile", out],
    ],
  },
  {
    wasm: `${folder}/odd.wasm`,
    sources: "tests/web/guests",
    command: (out) => ["binaryen/bin/wasm-as", "tests/web/guests/odd.wat", "-o", out],
  },
];

/** Builds the guests. Returns an object with the name and the file of each guest that answers calls: all but `odd`. */
export function prepareGuests() {
  mkdirSync(join(root, folder), { recursive: true });
  for (const { wasm, sources, command } of builds) {
    if (isNewer(join(root, wasm), join(root, sources))) continue;
    const [script, ...args] = command(`${wasm}.new`);
    const options = { cwd: root, stdio: ["ignore", "inherit", "inherit"], timeout: 120_000 };
    execFileSync(process.execPath, [join(root, "node_modules", script), ...args], options);
    renameSync(join(root, `${wasm}.new`), join(root, wasm));
  }
  const furtherGuests = (process.env.PORTWAY_GUESTS ?? "").split(",").filter(Boolean);
  return Object.fromEntries([builds[0].wasm, ...furtherGuests].map((file) => [basename(file, ".wasm"), file]));
}

function isNewer(product, sources) {
  if (!existsSync(product)) return false;
  const times = readdirSync(sources, { recursive: true }).map((file) => statSync(join(sources, file)).mtimeMs);
  return statSync(product).mtimeMs > Math.max(...times);
}
