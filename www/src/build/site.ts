import { fs } from "@zenfs/core";
import type { BuildOutput } from "portway";

/** Returns index.html of the project. It loads the bundle instead of `entry`, and has a link to the bundle's styles. */
export function renderIndex(page: string, entry: string, bundle: readonly BuildOutput[]): BuildOutput {
  let html = page.replaceAll(`"/${entry}"`, '"/main.js"').replaceAll(`"./${entry}"`, '"/main.js"');
  if (bundle.some(({ path }) => path === "/main.css")) {
    const link = '<link rel="stylesheet" href="/main.css" />';
    html = html.includes("</head>") ? html.replace("</head>", `${link}</head>`) : link + html;
  }
  return { path: "/index.html", contents: html };
}

/** Returns the files of a folder, which are copied without changes. The paths are addresses in the preview. */
export async function collectPublicFiles(folder: string, prefix = ""): Promise<BuildOutput[]> {
  const names = await fs.promises.readdir(folder + prefix).catch(() => []);
  const found: BuildOutput[] = [];
  for (const name of names) {
    const path = `${prefix}/${name}`;
    const stats = await fs.promises.stat(folder + path);
    if (stats.isDirectory()) found.push(...(await collectPublicFiles(folder, path)));
    else found.push({ path, contents: "", bytes: new Uint8Array(await fs.promises.readFile(folder + path)) });
  }
  return found;
}
