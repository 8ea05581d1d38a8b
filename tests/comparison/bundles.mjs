// The bytes that a page would ship of each library: bundles by esbuild, all with the same settings.

import { build } from "esbuild";
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { outcome } from "./probes/channel.mjs";

const here = dirname(fileURLToPath(import.meta.url));
export const pkg = resolve(here, "../../pkg");

/** Portway comes from the folder where it was built, and in a page it is not the module for Node. */
function fromPackage(module, pkg) {
  return {
    name: "portway",
    setup({ onResolve }) {
      onResolve({ filter: /^portway\/early$/ }, () => ({ path: join(pkg, "early.js"), sideEffects: true }));
      onResolve({ filter: /^portway$|\/pkg\/node\.js$/ }, () => ({ path: join(pkg, module) }));
    },
  };
}

/** The code of a page or worker, from its source. `folder` has the build of Portway that goes into it. */
export async function bundle(contents, module = "inline.js", folder = pkg) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: here },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2022",
    plugins: [fromPackage(module, folder)],
  });
  return outputFiles[0].contents;
}

/** The size of the typical import, and of another that includes more. */
export async function size({ typicalImport, more, wasm }) {
  const says = [await weight(typicalImport, wasm)];
  if (more) says.push(`${await weight(more.typicalImport, wasm)} with ${more.has}`);
  return outcome(says.join("; "), says.join("; "));
}

/** The size of an import, with its wasm if it has one, in KiB after gzip. */
async function weight(source, wasm) {
  const parts = [await bundle(source, "portway.js")];
  if (wasm) parts.push(readFileSync(join(pkg, wasm)));
  const bytes = parts.reduce((sum, part) => sum + gzipSync(part, { level: 9 }).length, 0);
  // Coarse, so that not every changed line shows.
  const kib = bytes / 1024;
  return `${kib.toFixed(kib < 10 ? 1 : 0)} KiB`;
}
