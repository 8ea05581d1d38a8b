// Measures how many bytes of each library a page would load. esbuild bundles all libraries with the same settings.

import { build } from "esbuild";
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { outcome } from "./probes/channel.mjs";

const here = dirname(fileURLToPath(import.meta.url));
export const pkg = resolve(here, "../../pkg");

/**
 * Returns a plugin of esbuild that resolves Portway in the folder `pkg`. `module` is the entry of the package for
 * pages. The adapters import the entry `node.js`, and this plugin replaces it by `module`.
 */
function fromPackage(module, pkg) {
  return {
    name: "portway",
    setup({ onResolve }) {
      onResolve({ filter: /^portway\/early$/ }, () => ({ path: join(pkg, "early.js"), sideEffects: true }));
      onResolve({ filter: /^portway$|\/pkg\/node\.js$/ }, () => ({ path: join(pkg, module) }));
    },
  };
}

/** Returns the bundled code of a page or worker, from its source. `folder` has the build of Portway to bundle. */
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

/**
 * Returns an outcome with the size of the typical import of a library. If the library has `more`, adds the size of that
 * import.
 */
export async function size({ typicalImport, more, wasm }) {
  const sizes = [await compressedSize(typicalImport, wasm)];
  if (more) sizes.push(`${await compressedSize(more.typicalImport, wasm)} with ${more.has}`);
  return outcome(sizes.join("; "), sizes.join("; "));
}

/** Returns the size of an import after gzip, in KiB. The size includes the wasm file, if the library has one. */
async function compressedSize(source, wasm) {
  const parts = [await bundle(source, "portway.js")];
  if (wasm) parts.push(readFileSync(join(pkg, wasm)));
  const bytes = parts.reduce((sum, part) => sum + gzipSync(part, { level: 9 }).length, 0);
  // The size is rounded, so that a small change of the code does not change the table of the README.
  const kib = bytes / 1024;
  return `${kib.toFixed(kib < 10 ? 1 : 0)} KiB`;
}
