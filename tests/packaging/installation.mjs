// Packs the built package once, and installs the tarball into copies of the apps in the folder `apps`.

import { cp, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, run } from "./tool.mjs";

export class Installation {
  /** The folder of all copies. It is outside of the repository, so that no app finds node_modules of the repository. */
  folder;
  tarball;
  /** The files that `npm pack` reports, each as `{ path, size, mode }`. */
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
   * Copies an app, and installs the package in the copy. Resolves to the folder of the copy.
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
