import { fs } from "@zenfs/core";
import type { Loader, Plugin } from "esbuild-wasm";
import { exports as resolveExports } from "resolve.exports";

const EXTENSIONS = ["", ".tsx", ".ts", ".jsx", ".js", ".mjs", ".css", ".json", "/index.tsx", "/index.ts", "/index.js"];
const LOADERS: Record<string, Loader> = {
  css: "css",
  gif: "dataurl",
  jpg: "dataurl",
  js: "js",
  json: "json",
  jsx: "jsx",
  mjs: "js",
  png: "dataurl",
  svg: "dataurl",
  ts: "ts",
  tsx: "tsx",
  txt: "text",
  webp: "dataurl",
  woff2: "dataurl",
};

const textLoaders = new Set<Loader>(["js", "jsx", "ts", "tsx"]);

/**
 * Returns a plugin that resolves and loads every module from the mounted file system. `onLoad` is called with the path
 * of each loaded file, relative to `root`.
 */
export function projectFiles(root: string, onLoad: (file: string) => void): Plugin {
  return {
    name: "project-files",
    setup(build) {
      build.onResolve({ filter: /.*/ }, async ({ path, resolveDir, importer, kind }) => {
        if (/^(https?:|data:)/.test(path) || (kind === "url-token" && path.startsWith("#")))
          return { path, external: true };
        const from = resolveDir || folderOf(importer) || root;
        const file = await resolve(path, from, root);
        if (file) return { path: file };
        return { errors: [{ text: `Could not resolve "${path}"` }] };
      });

      build.onLoad({ filter: /.*/ }, async ({ path }) => {
        const loader = LOADERS[path.slice(path.lastIndexOf(".") + 1)] ?? "text";
        const contents = textLoaders.has(loader)
          ? // The project does not contain the source maps of installed packages, so references to them are removed.
            (await fs.promises.readFile(path, "utf8")).replace(/^\/\/# sourceMappingURL=.*$/m, "")
          : await fs.promises.readFile(path);
        onLoad(path.slice(root.length + 1));
        return { contents, loader, resolveDir: folderOf(path) };
      });
    },
  };
}

async function resolve(path: string, from: string, root: string): Promise<string | undefined> {
  if (path.startsWith("/")) return findFile(path.startsWith(`${root}/`) ? path : root + path);
  if (path.startsWith(".")) return findFile(join(from, path));
  return findPackage(path, from);
}

async function findFile(path: string): Promise<string | undefined> {
  for (const extension of EXTENSIONS) {
    const candidate = path + extension;
    const stats = await fs.promises.stat(candidate).catch(() => undefined);
    if (stats?.isFile()) return candidate;
  }
  return undefined;
}

/** Searches for a package in the folders `node_modules` of `from` and of its parent folders. */
async function findPackage(path: string, from: string): Promise<string | undefined> {
  const segments = path.split("/");
  const name = segments.slice(0, path.startsWith("@") ? 2 : 1).join("/");
  for (let folder = from; folder; folder = folderOf(folder)) {
    const packageFolder = `${folder}/node_modules/${name}`;
    const manifest = await fs.promises.readFile(`${packageFolder}/package.json`, "utf8").catch(() => undefined);
    if (manifest === undefined) continue;
    const parsed = JSON.parse(manifest) as { exports?: unknown; module?: string; main?: string };
    const subpath = path.slice(name.length + 1);
    const target = parsed.exports
      ? resolveExports(parsed, subpath ? `./${subpath}` : ".", { browser: true })?.[0]
      : subpath || parsed.module || parsed.main || "index.js";
    return target && findFile(join(packageFolder, target));
  }
  return undefined;
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function join(folder: string, path: string): string {
  const parts = folder.split("/");
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/");
}
