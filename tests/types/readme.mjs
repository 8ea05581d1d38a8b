// Writes the JavaScript and TypeScript of README.md as modules that can be compiled. readme/names.d.ts declares the
// names that a block uses without a declaration. If a block does not import the package, an import is added to the
// module of the block.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

const values = [
  "CallError",
  "connect",
  "JSONRPCClient",
  "JSONRPCPeer",
  "JSONRPCServer",
  "portTransport",
  "RPCError",
  "selfTransport",
  "windowTransport",
  "workerTransport",
];
const imports = `import init, { ${values.join(", ")} } from "portway"; `;

/** Writes each block to its own file, and a project for all files. Returns the line of each block, by its file. */
export function writeBlocks(root, folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const files = new Map();
  for (const { line, language, code } of blocksIn(readFileSync(join(root, "README.md"), "utf8"))) {
    const name = `line-${line}.${language}`;
    files.set(name, line);
    writeFileSync(join(folder, name), moduleOf(code));
  }
  const here = relative(folder, join(root, "tests/types"));
  const config = {
    extends: `${here}/tsconfig.base.json`,
    compilerOptions: {
      allowJs: true,
      checkJs: true,
      lib: ["ES2022", "ESNext.Disposable", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
      types: ["node"],
      typeRoots: [relative(folder, join(root, "node_modules/@types"))],
      // The code of the README leaves out the annotations and checks of types that `strict` requires.
      strict: false,
      skipLibCheck: true,
      exactOptionalPropertyTypes: false,
    },
    include: ["*", `${here}/readme/names.d.ts`],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  return files;
}

/** Returns the blocks of JavaScript and TypeScript, with their lines. */
function blocksIn(text) {
  const found = [...text.matchAll(/^( *)```(js|ts)\n([\s\S]*?)^ *```$/gm)];
  const fences = text.match(/^ *```(?:js|ts|jsx|tsx|javascript|typescript)\b/gm);
  if (found.length !== fences.length)
    throw new Error(`README.md has ${fences.length} blocks, but only ${found.length} can be read`);
  return found.map(({ 1: indent, 2: language, 3: code, index }) => ({
    line: text.slice(0, index).split("\n").length + 1,
    language,
    code: code.replace(new RegExp(`^${indent}`, "gm"), ""),
  }));
}

function moduleOf(code) {
  // A block may consist of one line `if (data…) return;`, which is part of a listener with the parameter `data`. The
  // module of such a block has a listener around the line.
  const inListener = /^if \(data.* return;\n$/.test(code) ? `function listener({ data }) { ${code} }` : code;
  const checked = inListener.replace(/^.*\/\/ does not compile$/gm, "// @ts-expect-error\n$&");
  // The import is on the first line, so that all lines keep their numbers.
  return /from "portway(\/inline)?"/.test(checked) ? checked : imports + checked;
}
