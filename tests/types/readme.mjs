// The JavaScript and TypeScript of README.md as modules that can be compiled. Names that a block takes for granted are
// declared in readme/names.d.ts; the package is imported where the block does not import it.

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

/** Writes each block into a file of its own, and a project. Returns the names, each with its line in README.md. */
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
      // A page shows the use of the package, not how each value is narrowed.
      strict: false,
      skipLibCheck: true,
      exactOptionalPropertyTypes: false,
    },
    include: ["*", `${here}/readme/names.d.ts`],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  return files;
}

/** The blocks of JavaScript and TypeScript, with their lines. */
function blocksIn(text) {
  const found = [...text.matchAll(/^( *)```(js|ts)\n([\s\S]*?)^ *```$/gm)];
  const fences = text.match(/^ *```(?:js|ts|jsx|tsx|javascript|typescript)\b/gm);
  if (found.length !== fences.length)
    throw new Error(`README.md has ${fences.length} blocks, ${found.length} are read`);
  return found.map(({ 1: indent, 2: language, 3: code, index }) => ({
    line: text.slice(0, index).split("\n").length + 1,
    language,
    code: code.replace(new RegExp(`^${indent}`, "gm"), ""),
  }));
}

function moduleOf(code) {
  // One statement of a listener, which has `data`.
  const inListener = /^if \(data.* return;\n$/.test(code) ? `function listener({ data }) { ${code} }` : code;
  const checked = inListener.replace(/^.*\/\/ does not compile$/gm, "// @ts-expect-error\n$&");
  // On the first line, so that the others keep their numbers.
  return /from "portway(\/inline)?"/.test(checked) ? checked : imports + checked;
}
