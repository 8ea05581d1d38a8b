import { fs } from "@zenfs/core";
import type { BuildOutput } from "portway";

/**
 * Returns the project's index.html, whose text is `html`, with changes: the page loads the bundle instead of the file
 * `entry`. If the bundle has styles, the page also has a link to them.
 */
export function renderIndex(html: string, entry: string, bundle: readonly BuildOutput[]): BuildOutput {
  let changed = html.replaceAll(`"/${entry}"`, '"/main.js"').replaceAll(`"./${entry}"`, '"/main.js"');
  if (bundle.some(({ path }) => path === "/main.css")) {
    const link = '<link rel="stylesheet" href="/main.css" />';
    changed = changed.includes("</head>") ? changed.replace("</head>", `${link}</head>`) : link + changed;
  }
  return { path: "/index.html", contents: changed };
}

/**
 * Returns the files of `folder` and of its subfolders, unchanged, as build outputs. With `prefix`, such as `/images`,
 * returns only the files of this subfolder. The `path` of an output is relative to `folder`. The preview finds the file
 * under this path. A missing folder has no files.
 */
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
