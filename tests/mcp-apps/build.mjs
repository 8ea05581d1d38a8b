// Builds the views and the official host of the suite into target/mcp-apps. PORTWAY_MCP_APPS names the folder in which
// the packages of package.json are installed.

import { build } from "esbuild";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const output = path("../../target/mcp-apps");

async function bundle(file, packages) {
  const { outputFiles } = await build({
    entryPoints: [path(file)],
    alias: { "portway/inline": path("../../pkg/inline.js") },
    nodePaths: [join(packages, "node_modules")],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  return outputFiles[0].text;
}

export async function buildAll(packages) {
  mkdirSync(output, { recursive: true });
  writeFileSync(join(output, "official-host.js"), await bundle("support/official-host.js", packages));
  for (const name of ["official", "portway"]) {
    // In HTML, `</script` would end the script.
    const code = (await bundle(`views/${name}.js`, packages)).replaceAll("</script", "<\\/script");
    const html = `<!doctype html><meta charset="utf-8"><title>A view</title><p>A view</p>
<script type="module">${code}</script>`;
    writeFileSync(join(output, `${name}-view.html`), html);
  }
}
