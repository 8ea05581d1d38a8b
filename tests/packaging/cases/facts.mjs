// Tests the files of the tarball, the fields of its package.json, and the size of bundles that use a small part of the
// package.

import { nodeResolve } from "@rollup/plugin-node-resolve";
import assert from "node:assert/strict";
import { build } from "esbuild";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { rollup } from "rollup";
import { root, run } from "../tool.mjs";

const modules = [
  "portway.js",
  "node.js",
  "inline.js",
  "early.js",
  "websocket.js",
  "subscription.js",
  "mcp.js",
  "tap.js",
  "wipc.js",
  "wipc-node.js",
  "wipc-wasi.js",
  "wasi-worker.js",
];

export default async function facts(suite, { installation }) {
  const app = await installation.app("node", "facts");
  const folder = join(app, "node_modules/portway");
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const files = installation.files.map(({ path }) => path).sort();

  await suite.test(
    "the tarball has the modules, wasm, declarations, documents, licences and notices, and nothing else",
    () => {
      const fixed = [
        ...modules,
        "portway_bg.wasm",
        "package.json",
        "README.md",
        "docs/environments.md",
        "docs/kaiak.md",
        "docs/language-servers.md",
        "docs/mcp-command.md",
        "docs/mcp.md",
        "docs/tap.md",
        "docs/websocket-client.md",
        "docs/websocket-server.md",
        "PROTOCOL.md",
        "SECURITY.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "NOTICE",
      ];
      const missing = fixed.filter((file) => !files.includes(file));
      const unexpected = files.filter((file) => !fixed.includes(file) && !/^[a-z-]+\.d\.ts$/.test(file));
      assert.deepEqual({ missing, unexpected }, { missing: [], unexpected: [] });
    },
  );

  await suite.test(
    "NOTICE names each crate in the wasm and each package in the modules, with its licence",
    async () => {
      const notice = await readFile(join(folder, "NOTICE"), "utf8");
      const titles = [...notice.matchAll(/^-{80}\n(.+?): (.+)\n\n(?=\S)/gm)].map(([, title]) => title);
      const tree = [
        "tree",
        "--target",
        "wasm32-unknown-unknown",
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
      ];
      let stdout = "";
      for (const krate of ["npm", "npm/mcp"]) {
        const manifest = join(root, krate, "Cargo.toml");
        stdout += (await run("cargo", [...tree, "--locked", "--manifest-path", manifest], { cwd: root })).stdout;
      }
      const crates = [...stdout.matchAll(/^(\S+) v(\S+)(?! \(\/)/gm)].map(([, name, version]) => `${name} ${version}`);
      const isOurCrate = (title) => /^portway(-[a-z]+)* /.test(title);
      const bundled = [];
      for (const file of modules) {
        const text = await readFile(join(folder, file), "utf8");
        bundled.push(...[...text.matchAll(/^This file contains (.+), .+:$/gm)].map(([, title]) => title));
      }
      assert.ok(
        crates.some((title) => title.startsWith("wasm-bindgen ")) && bundled.length > 0,
        "the lists of crates and packages must not be empty",
      );
      const wanted = new Set([...crates.filter((title) => !isOurCrate(title)), ...bundled]);
      const others = titles.filter((title) => !title.startsWith("core, alloc and compiler_builtins, of rustc "));
      assert.deepEqual(others.sort(), [...wanted].sort());
      assert.equal(titles.length, others.length + 1, "NOTICE must name the crates of Rust itself");
    },
  );

  await suite.test("npm installs exactly the files that `npm pack` lists", async () => {
    const found = await readdir(folder, { recursive: true, withFileTypes: true });
    const paths = found
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
    assert.deepEqual(paths.sort(), files);
  });

  await suite.test("every module has declarations, and the declarations import only files of the tarball", async () => {
    const declared = files.filter((file) => file.endsWith(".d.ts"));
    assert.deepEqual(
      modules.map((file) => file.replace(".js", ".d.ts")).filter((file) => !files.includes(file)),
      [],
    );
    for (const file of declared) {
      const text = await readFile(join(folder, file), "utf8");
      for (const [, name] of text.matchAll(/from "\.\/([^"]+)\.js"/g)) {
        assert.ok(
          files.includes(`${name}.d.ts`),
          `${file} imports ./${name}.js, so the tarball must have ${name}.d.ts`,
        );
      }
    }
  });

  await suite.test("package.json has exactly the documented exports, and their files exist", () => {
    const ours = [
      ".",
      "./inline",
      "./early",
      "./websocket",
      "./subscription",
      "./mcp",
      "./tap",
      "./wipc",
      "./wipc/node",
      "./wipc/wasi",
      "./wasi-worker.js",
    ];
    const documented = [...ours, "./portway_bg.wasm", "./package.json"];
    assert.deepEqual(Object.keys(manifest.exports), documented);
    const targets = Object.values(manifest.exports).flatMap((to) => (typeof to === "string" ? to : Object.values(to)));
    assert.deepEqual(
      targets.filter((target) => !files.includes(target.slice(2))),
      [],
    );
    for (const to of Object.values(manifest.exports).filter((to) => typeof to !== "string")) {
      assert.equal(Object.keys(to)[0], "types", "types must be the first condition");
      assert.equal(Object.keys(to).at(-1), "default");
    }
  });

  await suite.test("package.json has the right name and licence, and neither scripts nor dependencies", () => {
    const { name, type, license, engines, scripts, dependencies, peerDependencies, bin } = manifest;
    assert.deepEqual(
      { name, type, license, engines, scripts, dependencies, peerDependencies, bin },
      {
        name: "portway",
        type: "module",
        license: "MIT OR Apache-2.0",
        engines: { node: ">=20" },
        scripts: undefined,
        dependencies: undefined,
        peerDependencies: undefined,
        bin: undefined,
      },
    );
  });

  await suite.test("no file contains a path of the machine that built the package", async () => {
    const folders = [root, `${homedir()}/`, `${tmpdir()}/`, "/home/", "/rustc/", ".cargo/registry"];
    for (const file of files) {
      const text = await readFile(join(folder, file), "latin1");
      assert.deepEqual(
        folders.filter((folder) => text.includes(folder)),
        [],
        file,
      );
    }
  });

  await suite.test("every relative link of the README leads to a file of the tarball", async () => {
    const text = await readFile(join(folder, "README.md"), "utf8");
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)\s]+)/g)].map(([, to]) => to.replace(/#.*/, ""));
    assert.deepEqual(
      links.filter((to) => !files.includes(to)),
      [],
    );
  });

  const bundle = async (contents, target) => {
    const stdin = { contents, resolveDir: app };
    const options = { stdin, bundle: true, format: "esm", platform: "node", minify: true, write: false };
    const { outputFiles } = await build({ ...options, logLevel: "silent", ...target });
    return outputFiles[0].text;
  };
  const output = async (script) => {
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: app });
    return stdout;
  };

  const bundleByRollup = async (contents) => {
    const file = join(app, "used.js");
    await writeFile(file, contents);
    const used = await rollup({ input: file, plugins: [nodeResolve()], external: /^node:/ });
    const { output } = await used.generate({ format: "es" });
    return output[0].code;
  };

  for (const entry of ["portway", "portway/inline"]) {
    for (const [tool, make] of [
      ["esbuild", bundle],
      ["Rollup", bundleByRollup],
    ]) {
      await suite.test(
        `a bundle of ${tool} that uses only RPCError of ${entry} works, and has less than 1 100 bytes`,
        async () => {
          const use = `import { RPCError } from "${entry}"; const e = new RPCError(-32001, "no");`;
          const script = await make(`${use} console.log(e instanceof Error, e.name, e.code, e.message);`);
          assert.equal(await output(script), "true RPCError -32001 no\n");
          assert.ok(script.length < 1_100, `the bundle has ${script.length} bytes`);
        },
      );

      await suite.test(
        `a bundle of ${tool} that uses only codes and errors of ${entry} has less than 2 200 bytes`,
        async () => {
          const names = "CallError, ErrorCode, RPCError, kaiak, wiggum";
          const script = await make(`import { ${names} } from "${entry}"; console.log(${names});`);
          assert.ok(script.length < 2_200, `the bundle has ${script.length} bytes`);
        },
      );
    }
  }

  await suite.test("an unused import of the package adds no code to a bundle", async () => {
    assert.equal((await bundle('import "portway"; import "portway/inline"; import "portway/wipc";')).trim(), "");
  });

  await suite.test("a bundle contains portway/early, because loading this module has an effect", async () => {
    assert.match(await bundle('import "portway/early";'), /portway\.early/);
  });

  await suite.test(
    "in a classic script, whose address is unknown, init() returns a promise that rejects, and does not throw",
    async () => {
      const use = 'import init from "portway"; init().catch(({ message, cause }) => console.log(message, cause.name));';
      const script = await bundle(use, { format: "iife", platform: "browser" });
      assert.equal(
        await output(script),
        'portway: portway_bg.wasm cannot be read: copy it there, import "portway/inline", or give init() its bytes TypeError\n',
      );
    },
  );
}
