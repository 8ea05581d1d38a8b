// Compiles npm `wipc-js`, which is published as TypeScript with enums, to a module that Node can load.

import { build } from "esbuild";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../../../target/tmp", import.meta.url));
mkdirSync(folder, { recursive: true });
const outfile = `${folder}wipc-js-${process.pid}.mjs`;
await build({
  entryPoints: [fileURLToPath(new URL("../../../node_modules/wipc-js/src/index.ts", import.meta.url))],
  outfile,
  format: "esm",
  platform: "node",
});

export const { Channel, MessageType } = await import(outfile);
export const compiledPath = outfile;
