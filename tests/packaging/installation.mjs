// Packs the built package once, and installs the tarball into fresh copies of the apps beside this file.

import { cp, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, run } from "./tool.mjs";

export class Installation {
  /** Everything is made in here, far from the node_modules of this repository. */
  folder;
  tarball;
  /** The files that `npm pack` reports: `{ path, size, mode }` each. */
  files;

  static async make() {
    const installation = new Installation();
    installation.folder = await mkdtemp(join(tmpdir(), "portway-packaging-"));
    const { stdout } = await run("npm", ["pack", join(root, "pkg"), "--json"], { cwd: installation.folder });
    const output = JSON.parse(stdout);
    const [packed] = Array.isArray(output) ? output : Object.values(output);
    installation.tarball = join(installation.folder, packed.filename);
    installation.files = packed.files;
    return installation;
  }

  /**
   * A fresh copy of an app with the package installed; resolves to its folder.
   *
   * @param rewrite Gets the text of each source file of the app, and returns the text to write.
   */
  async app(name, copy, rewrite) {
    const folder = join(this.folder, copy ?? name);
    await cp(join(root, "tests/packaging/apps", name), folder, { recursive: true });
    if (rewrite) {
      const files = (await readdir(folder, { recursive: true })).filter((file) => /\.m?js$/.test(file));
      await Promise.all(
        files.map(async (file) => {
          const path = join(folder, file);
          await writeFile(path, rewrite(await readFile(path, "utf8")));
        }),
      );
    }
    await run("npm", ["install", "--offline", "--no-audit", "--no-fund", this.tarball], { cwd: folder });
    return folder;
  }

  remove() {
    return rm(this.folder, { recursive: true, force: true });
  }
}
