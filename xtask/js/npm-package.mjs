// The last step of `cargo xtask build`: bundles the entry modules with the glue of wasm-bindgen, and writes the other
// files of the npm package. Its argument is the path of a JSON file with the plan, which xtask/src/build.rs writes. In
// the plan, `raw` and `rawMcp` are the output folders of wasm-pack, and `features` has options of wasm-opt.
import { build } from "esbuild";
import { minify } from "terser";
import { execFileSync } from "node:child_process";
import { copyFile, mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

const {
  root,
  raw,
  rawMcp,
  out,
  entries,
  notice,
  features,
  package: manifestFields,
} = JSON.parse(await readFile(process.argv[2], "utf8"));
const wasm = "portway_bg.wasm";
const glue = join(raw, "portway.js");
/** The folder with the JavaScript of the package. */
const source = "crates/portway-web/js";
/** The folder with the TypeScript declarations of the package. */
const types = "crates/portway-web/types";
const instance = join(root, source, "driver/wasm-instance.js");
// The script writes the package to `stage`, and moves the complete package to `out`. Until this move, tests can use the
// old package.
const stage = join(root, "target/pkg-new");
/** The wasm with short names of its imports and exports. */
const shortened = join(raw, "shortened.wasm");

// wasm-opt renames the exports of the wasm to short names. This map contains the short name of each export. Short names
// reduce the size of the package, because names compress badly.
const shortNames = new Map(
  JSON.parse(execFileSync("wasm-opt", [...features, "--minify-imports-and-exports", join(raw, wasm), "-o", shortened]))
    .exports,
);

// Patterns that match code of the glue, each with the code that replaces it.
const glueReplacements = [
  // `wasm-loader.js` calls this function with a compiled module, at the start and again after a trap.
  [
    /function initSync\(module\) \{.*?\n\}/s,
    "function initSync(module) { return (wasm = new WebAssembly.Instance(module, __wbg_get_imports()).exports); }",
  ],
  // JavaScript passes only numbers to this wasm, so the wasm needs no table of JavaScript values.
  [/(__wbindgen_init_externref_table: function\(\) \{).*?\n {8}\}/s, "$1}"],
  // The strings of this wasm are ASCII, and `TextDecoder` does not exist in some realms.
  [
    /function getStringFromWasm0\(ptr, len\) \{.*?\n\}/s,
    "function getStringFromWasm0(ptr, len) { return String.fromCharCode(...new Uint8Array(wasm.memory.buffer, ptr >>> 0, len)); }",
  ],
  [/let cachedTextDecoder = .*?\nfunction decodeText\(bytes\) \{.*?\n\}/s, ""],
];

function replaceGlue(source) {
  for (const [part, replacement] of glueReplacements) {
    if (!part.test(source)) throw new Error(`the glue must match ${part}`);
    source = source.replace(part, replacement);
  }
  return source;
}

const shortExportNames = {
  name: "short-export-names",
  setup({ onLoad }) {
    onLoad({ filter: /\.js$/ }, async ({ path }) => {
      if (path !== glue && path !== instance) return;
      const source = path === glue ? replaceGlue(await readFile(glue, "utf8")) : await readFile(instance, "utf8");
      if (/\bwasm\[|\bexports\.\w/.test(source)) throw new Error(`${path} must name exports as wasm.name only`);
      const contents = source.replace(/\bwasm\.(\w+)/g, (whole, name) => {
        const short = shortNames.get(name);
        return short === undefined ? whole : `wasm.${short}`;
      });
      return { contents, resolveDir: dirname(path) };
    });
  },
};

// wasm-bindgen copies the modules that Rust imports, but not the modules that these modules import. So the bundle uses
// the sources instead of the copies. The entry module and the glue therefore share one instance of each module.
const fromSources = {
  name: "from-sources",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/snippets\/[^/]+\/js\// }, ({ path }) => ({
      path: join(root, source, path.replace(/^\.\/snippets\/[^/]+\/js\//, "")),
    }));
  },
};

// Entry modules import the bundle `wipc.js` instead of its source, so that all entry modules share the classes of WIPC.
const shareWipc = {
  name: "share-wipc",
  setup({ onResolve }) {
    onResolve({ filter: /[\\/]entry[\\/]wipc\.js$/ }, ({ kind }) =>
      kind === "entry-point" ? undefined : { path: "./wipc.js", external: true },
    );
  },
};

// Members that only modules of one bundle use. The bundle has short names for these members, so long names in the
// sources do not make the bundle larger. The list must not contain members of objects that an application, the bundle
// `wipc.js` or another copy of the library can read. Each bundle has different short names, so these readers would not
// find a shortened member. A shortened member could also have the name of a member that an application adds.
const internalMembers = [
  "abandon",
  "abandonAll",
  "abandonStreams",
  "abortAll",
  "abortOn",
  "acceptsLists",
  "addCredit",
  "addServer",
  "awaitsPong",
  "beginPlain",
  "buffersUntilStarted",
  "cancelAtPeer",
  "closeEvents",
  "closedReason",
  "copyForServer",
  "discardAll",
  "dispatch",
  "dispatchNotification",
  "dispatcher",
  "elements",
  "endSession",
  "execute",
  "executor",
  "extendOffer",
  "failAll",
  "handleMessage",
  "hasFailed",
  "hasSessionEnded",
  "idOf",
  "identity",
  "insert",
  "internals",
  "isClosed",
  "isDuplicate",
  "isIdle",
  "isLoaded",
  "isLocked",
  "isPlain",
  "isRunning",
  "isSession",
  "isStarted",
  "isTargetClosed",
  "isWatched",
  "isolateMessage",
  "isolateParams",
  "lastOrigin",
  "markConnected",
  "maxCredit",
  "maxInFlight",
  "observeProgress",
  "observers",
  "onAbort",
  "onForbiddenOrigin",
  "onIncompatibleVersion",
  "onNewHello",
  "onRefused",
  "onTrap",
  "producer",
  "receiveUnreadable",
  "receivesFrom",
  "rejectDestroyed",
  "rejectRequests",
  "release",
  "removeHandler",
  "removeServer",
  "reportIfReplyDropped",
  "resetTimeout",
  "respond",
  "runUserCode",
  "sendBatch",
  "sendEach",
  "sendIfConnected",
  "sendImmediately",
  "sendItem",
  "sendNotification",
  "sendQueue",
  "setHandler",
  "setObserver",
  "sharesLocks",
  "sharing",
  "signalIfCreated",
  "silentMs",
  "startCall",
  "suppressReplies",
  "takeBatchReply",
  "takeParams",
  "transferList",
  "trapError",
  "tryEnqueue",
  "users",
  "virtualPort",
];
for (const file of (await readdir(join(root, types))).filter((file) => file.endsWith(".d.ts"))) {
  const text = await readFile(join(root, types, file), "utf8");
  const declared = internalMembers.find((name) => new RegExp(`\\b${name}\\b`).test(text));
  if (declared !== undefined) throw new Error(`${file} declares ${declared}, which npm-package.mjs shortens`);
}
// The registry in boundaries.js contains objects that all copies of the library in a realm share.
const registry = (await readFile(join(root, source, "driver/boundaries.js"), "utf8")).replace(
  /\/\*.*?\*\/|\/\/[^\n]*/gs,
  "",
);
const shared = internalMembers.find((name) => new RegExp(`\\b${name}\\b`).test(registry));
if (shared !== undefined) throw new Error(`copies of the library share ${shared}, which npm-package.mjs shortens`);

/** The members of `internalMembers` that at least one bundle has. */
const shortenedMembers = new Set();

/**
 * The characters of short local names, in an order that compresses well. By default, Terser orders the characters by
 * their frequency in each bundle. With one order for all bundles, code that two bundles share has the same names in
 * each bundle. So a compressor finds the repeated code.
 */
const NAME_CHARACTERS = "tenasiorlcfhudpkgRPEbWyNMOwmxATCI_jvSDFGHUKVXYZBJQqz$L";

/** Returns short local names by their numbers, for Terser. A digit is never the first character of a name. */
const nameOrder = {
  get(number) {
    let name = "";
    for (let characters = NAME_CHARACTERS; number >= 0; characters = `${NAME_CHARACTERS}0123456789`) {
      name += characters[number % characters.length];
      number = Math.floor(number / characters.length) - 1;
    }
    return name;
  },
};

/** Annotations `@__PURE__` that esbuild adds to expressions which every bundler knows to be pure. */
const redundantMarks = /\/\* @__PURE__ \*\/(?=new (Weak)?(Map|Set)\b|Symbol\b)/g;

async function bundle({ name, output, platform }) {
  const { outputFiles, metafile, mangleCache } = await build({
    entryPoints: [join(root, source, "entry", `${name}.js`)],
    write: false,
    alias: {
      "portway-glue": glue,
      "portway-wasm": shortened,
      "portway-mcp-glue": join(rawMcp, "mcp.js"),
      "portway-mcp-wasm": join(rawMcp, "mcp_bg.wasm"),
    },
    plugins: [fromSources, shortExportNames, shareWipc],
    loader: { ".wasm": "base64" },
    bundle: true,
    format: "esm",
    target: "es2022",
    platform,
    // White space is not minified, because esbuild would also remove the annotations `@__PURE__`.
    minifyIdentifiers: true,
    minifySyntax: true,
    mangleProps: new RegExp(`^(${internalMembers.join("|")})$`),
    mangleCache: {},
    metafile: true,
    legalComments: "none",
    logLevel: "warning",
  });
  for (const name of Object.keys(mangleCache)) shortenedMembers.add(name);
  // A second pass by another minifier reduces the gzipped size by three percent.
  const options = {
    ecma: 2022,
    module: true,
    // gzip compresses calls better than inlined code, so only the simplest functions are inlined. `lhs_constants` would
    // move constants to the left of comparisons, and the gzipped bundle would not be smaller.
    compress: { passes: 3, inline: 1, lhs_constants: false },
    mangle: { nth_identifier: nameOrder },
    format: { preserve_annotations: true },
  };
  // Node prints the whole source line of an uncaught error, so the lines must be short.
  if (platform === "node") options.format.max_line_len = 160;
  const { code } = await minify(outputFiles[0].text, options);
  await writeFile(join(stage, output), (await licences(metafile)) + code.replace(redundantMarks, ""));
}

/** The titles and licences of bundled packages, for NOTICE. */
const bundled = new Map();

// Returns the licences of the packages in a bundle.
async function licences({ inputs }) {
  const folders = Object.keys(inputs).map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]);
  const texts = [...new Set(folders.filter(Boolean))].sort().map(async (folder) => {
    const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const text = (await readdir(folder))
      .filter((file) => /^licen[cs]e/i.test(file))
      .sort()
      .at(-1);
    if (text === undefined) throw new Error(`${name} has no licence`);
    const contents = (await readFile(join(folder, text), "utf8")).trim();
    bundled.set(`${name} ${version}: ${license}`, contents);
    return `/*!\nThis file contains ${name} ${version}, ${license}:\n\n${contents}\n*/\n`;
  });
  return (await Promise.all(texts)).join("");
}

// Copies the declarations. A module without declarations of its own gets the declarations of the main module.
async function copyDeclarations() {
  const own = (await readdir(join(root, types))).filter((file) => file.endsWith(".d.ts"));
  await Promise.all(own.map((file) => copyFile(join(root, types, file), join(stage, file))));
  const shared = 'export * from "./portway.js";\nexport { default } from "./portway.js";\n';
  const modules = entries.map(({ output }) => output.replace(/\.js$/, ".d.ts")).filter((file) => !own.includes(file));
  await Promise.all(modules.map((file) => writeFile(join(stage, file), shared)));
}

// Returns the notices for the crates in the wasm and for the packages in the bundles. `notice` of the plan contains the
// notices for the crates.
function notices() {
  const packages = [...bundled].sort().map(([title, text]) => `\n${"-".repeat(80)}\n${title}\n\n${text}\n`);
  return notice + packages.join("");
}

function manifest() {
  const module = (name) => ({ types: `./${name}.d.ts`, default: `./${name}.js` });
  return {
    name: "portway",
    version: manifestFields.version,
    description: manifestFields.description,
    keywords: manifestFields.keywords,
    license: manifestFields.license,
    repository: manifestFields.repository ?? undefined,
    type: "module",
    sideEffects: ["./early.js", "./wasi-worker.js"],
    engines: { node: ">=20" },
    types: "./portway.d.ts",
    exports: {
      ".": { types: "./portway.d.ts", node: "./node.js", default: "./portway.js" },
      "./inline": module("inline"),
      "./early": module("early"),
      "./websocket": module("websocket"),
      "./subscription": module("subscription"),
      "./mcp": module("mcp"),
      "./tap": module("tap"),
      "./wipc": module("wipc"),
      "./wipc/node": module("wipc-node"),
      "./wipc/wasi": module("wipc-wasi"),
      "./wasi-worker.js": module("wasi-worker"),
      [`./${wasm}`]: `./${wasm}`,
      "./package.json": "./package.json",
    },
    files: ["*.js", "*.d.ts", wasm, "docs", "PROTOCOL.md", "SECURITY.md", "LICENSE-*", "NOTICE"],
  };
}

await rm(stage, { recursive: true, force: true });
await mkdir(join(stage, "docs"), { recursive: true });
await copyFile(shortened, join(stage, wasm));
for (const file of [
  "README.md",
  "docs/environments.md",
  "docs/kaiak.md",
  "docs/language-servers.md",
  "docs/mcp.md",
  "docs/mcp-command.md",
  "docs/tap.md",
  "docs/websocket-client.md",
  "docs/websocket-server.md",
  "PROTOCOL.md",
  "SECURITY.md",
  "LICENSE-MIT",
  "LICENSE-APACHE",
]) {
  if (existsSync(join(root, file))) await copyFile(join(root, file), join(stage, file));
  else console.warn(`${file} is missing`);
}
const bundles = await Promise.allSettled(entries.map(bundle));
for (const { reason } of bundles.filter(({ status }) => status === "rejected")) {
  // esbuild has already printed its own errors, which have the member `errors`.
  if (reason.errors === undefined) console.error(reason);
  process.exitCode = 1;
}
if (process.exitCode) process.exit();
const unused = internalMembers.filter((name) => !shortenedMembers.has(name));
if (unused.length > 0) throw new Error(`npm-package.mjs shortens members that no module has: ${unused.join(", ")}`);
await copyDeclarations();
await writeFile(join(stage, "NOTICE"), notices());
await writeFile(join(stage, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
await rm(out, { recursive: true, force: true });
await rename(stage, out);
