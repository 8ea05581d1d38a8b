import { fs, InMemory, resolveMountConfig, type FileSystem } from "@zenfs/core";
import hooks from "../../node_modules/preact/hooks/dist/hooks.mjs?raw";
import jsxRuntime from "../../node_modules/preact/jsx-runtime/dist/jsxRuntime.mjs?raw";
import preact from "../../node_modules/preact/dist/preact.mjs?raw";
import preactManifest from "../../node_modules/preact/package.json?raw";
import { Store } from "./store";

export const ROOT = "/project";
export const DIST = "/dist";

const samples = import.meta.glob<string>("../sample/**/*", { query: "?raw", import: "default", eager: true });

/** The installed packages of the sample, in the layout of a package manager. */
const packages: Record<string, string> = {
  "node_modules/preact/package.json": preactManifest,
  "node_modules/preact/dist/preact.mjs": preact,
  "node_modules/preact/hooks/dist/hooks.mjs": hooks,
  "node_modules/preact/jsx-runtime/dist/jsxRuntime.mjs": jsxRuntime,
};

/** The files of the project, in memory. Paths are relative to the project's root. */
export class Project {
  /** The source files in the order of the file list, without installed packages. */
  readonly files = new Store<readonly string[]>([]);

  /** Creates the file system with the sample project. Returns the file system. */
  async open(): Promise<FileSystem> {
    const memory = await resolveMountConfig({ backend: InMemory, label: "playground" });
    fs.umount("/");
    fs.mount("/", memory);
    await this.reset();
    return memory;
  }

  async reset(): Promise<void> {
    await fs.promises.rm(ROOT, { recursive: true, force: true });
    for (const [path, text] of Object.entries(samples)) await this.#put(path.replace("../sample/", ""), text);
    for (const [path, text] of Object.entries(packages)) await this.#put(path, text);
    await this.#updateFiles();
  }

  read(path: string): Promise<string> {
    return fs.promises.readFile(`${ROOT}/${path}`, "utf8");
  }

  async write(path: string, text: string): Promise<void> {
    await this.#put(path, text);
    if (!this.files.value.includes(path)) await this.#updateFiles();
  }

  async remove(path: string): Promise<void> {
    await fs.promises.rm(`${ROOT}/${path}`);
    await this.#updateFiles();
  }

  async #put(path: string, text: string): Promise<void> {
    const full = `${ROOT}/${path}`;
    await fs.promises.mkdir(full.slice(0, full.lastIndexOf("/")), { recursive: true });
    await fs.promises.writeFile(full, text);
  }

  async #updateFiles(): Promise<void> {
    const found = await filesBelow(ROOT);
    const paths = found.map((path) => path.slice(ROOT.length + 1)).filter((path) => !path.startsWith("node_modules/"));
    this.files.set(paths.sort(byFolder));
  }
}

/** Returns every file below a folder, or an empty list if the folder does not exist. */
export async function filesBelow(folder: string): Promise<string[]> {
  if (!(await fs.promises.exists(folder))) return [];
  const found: string[] = [];
  for (const name of await fs.promises.readdir(folder)) {
    const path = `${folder}/${name}`;
    const stats = await fs.promises.stat(path);
    if (stats.isDirectory()) found.push(...(await filesBelow(path)));
    else found.push(path);
  }
  return found;
}

/** Compares two paths. Folders are before files. Folders and files are sorted by name. */
function byFolder(a: string, b: string): number {
  const [left, right] = [a.split("/"), b.split("/")];
  for (let i = 0; ; i += 1) {
    const [x, y] = [left[i] ?? "", right[i] ?? ""];
    const [xIsFile, yIsFile] = [i === left.length - 1, i === right.length - 1];
    if (xIsFile !== yIsFile) return xIsFile ? 1 : -1;
    if (x !== y) return x.localeCompare(y);
    if (xIsFile) return 0;
  }
}
