// Tests programs in Rust that depend on the crate. They link no shared library of the crate, and contain nothing of the
// JavaScript API. They may have their own start function.

import assert from "node:assert/strict";
import { cp, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { visit } from "../browser.mjs";
import { withSite } from "../site.mjs";
import { root, run } from "../tool.mjs";

/** This folder keeps the compiled dependencies between runs. */
const target = join(root, "target/dependants");
const timeout = 500_000;

/** Copies an app that depends on the crate. If `features` is "default", the copy uses the default features. */
async function copyOf(name, folder, features) {
  await cp(join(root, "tests/packaging/apps", name), folder, { recursive: true });
  await cp(join(root, "Cargo.lock"), join(folder, "Cargo.lock"));
  const manifest = join(folder, "Cargo.toml");
  let text = (await readFile(manifest, "utf8")).replace('"PORTWAY"', JSON.stringify(root));
  if (features === "default") text = text.replace(", default-features = false", "");
  await writeFile(manifest, text);
  return folder;
}

/** Returns the shared libraries of portway below a folder. */
async function sharedLibraries(folder) {
  const files = await readdir(folder, { recursive: true });
  return files.filter((file) => /portway[^/]*\.(so|dylib|dll)$/.test(file));
}

export default async function rust(suite, { installation, browser }) {
  for (const features of ["no default", "default"]) {
    await suite.test(`a program with ${features} features links no shared library of the crate`, async () => {
      const app = await copyOf(
        "rust-native",
        join(installation.folder, `rust-${features.replace(" ", "-")}`),
        features,
      );
      const products = join(target, features.replace(" ", "-"));
      const { stdout } = await run("cargo", ["run", "--quiet", "--target-dir", products], { cwd: app, timeout });
      assert.equal(stdout.trim(), "1 request");
      assert.deepEqual(await sharedLibraries(products), []);
    });
  }

  const app = await copyOf("rust-browser", join(installation.folder, "rust-browser"));
  const isBuilt = await suite.test("a program for the browser can have its own start function", async () => {
    const command =
      'eval "$(cargo xtask env)" && export CARGO_TARGET_DIR="$1" && exec wasm-pack build --target web --no-pack "$0"';
    await run("sh", ["-c", command, app, join(target, "wasm")], { cwd: root, timeout });
    return true;
  });
  if (!isBuilt) return;

  await suite.test("the start function of a program for the browser makes a call", () =>
    withSite(app, async (url) => assert.deepEqual(await visit(browser, url), { outcome: 3, faults: [] })),
  );

  await suite.test("a program for the browser contains nothing of the JavaScript API", async () => {
    const files = await readdir(join(app, "pkg"), { recursive: true });
    const glue = await readFile(join(app, "pkg/rust_browser.js"), "utf8");
    const declarations = await readFile(join(app, "pkg/rust_browser.d.ts"), "utf8");
    const api = ["client", "server", "peer", "connect", "validate", "error-codes", "finish-class"];
    assert.deepEqual(
      files.filter((file) => api.some((name) => file.endsWith(`/js/${name}.js`))),
      [],
    );
    const names = ["JSONRPCClient", "JSONRPCServer", "JSONRPCPeer", "validateMessage"];
    assert.deepEqual(
      names.filter((name) => glue.includes(name) || declarations.includes(name)),
      [],
    );
  });
}
