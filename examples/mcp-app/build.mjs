// Writes the view as one file, as MCP servers send it: `node examples/mcp-app/build.mjs`.

import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const SCRIPT = '<script type="module" src="view.js"></script>';
const path = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Writes `dist/view.html`. Returns its text. */
export async function buildView() {
  const { outputFiles } = await build({
    entryPoints: [path("view.js")],
    // An application with the package `portway` in node_modules needs no alias.
    alias: { "portway/inline": path("../../pkg/inline.js") },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  // In HTML, `</script` would end the script.
  const code = outputFiles[0].text.replaceAll("</script", "<\\/script");
  const source = await readFile(path("view.html"), "utf8");
  const html = source.replace(SCRIPT, () => `<script type="module">${code}</script>`);
  if (html === source) throw new Error(`view.html must contain ${SCRIPT}`);
  await mkdir(path("dist"), { recursive: true });
  await writeFile(path("dist/view.html"), html);
  return html;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildView();
