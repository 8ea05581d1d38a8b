// The public surface of pkg/ beside tests/surface/npm.txt: the exports of each entry at run time, and all declarations
// without comments. The group `surface` of the suite compares them.
//
//   node tests/packaging/surface.mjs            compares
//   node tests/packaging/surface.mjs --write    accepts the surface of pkg/

import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./tool.mjs";

const list = join(root, "tests/surface/npm.txt");
const pkg = join(root, "pkg");

/** Compares, and returns a text of the lines that differ, or `undefined`. */
export async function surfaceDifference() {
  const [expected, found] = [await readFile(list, "utf8"), await surface()];
  const lines = differences(expected.split("\n"), found.split("\n"));
  if (lines.length === 0) return undefined;
  return [
    "the surface of pkg/ differs from tests/surface/npm.txt:",
    ...lines,
    "`node tests/packaging/surface.mjs --write` accepts it",
  ].join("\n");
}

async function surface() {
  const lines = [];
  const { exports } = JSON.parse(await readFile(join(pkg, "package.json"), "utf8"));
  for (const [entry, to] of Object.entries(exports)) {
    if (typeof to === "string") {
      lines.push(`# ${entry}: ${to}`);
      continue;
    }
    for (const [condition, file] of Object.entries(to).filter(([condition]) => condition !== "types")) {
      lines.push(`# ${entry}, ${condition}: ${file}, declared in ${to.types}`, ...(await exported(file)));
    }
  }
  for (const file of (await readdir(pkg)).filter((name) => name.endsWith(".d.ts")).sort()) {
    lines.push(`# ${file}`, ...declarations(await readFile(join(pkg, file), "utf8")));
  }
  return `${lines.join("\n")}\n`;
}

/** The names that a module exports, each with its public members. */
async function exported(file) {
  // It adds its listeners at once, as it can only do in a worker.
  if (file === "./wasi-worker.js") return [];
  const module = await import(pathToFileURL(join(pkg, file)));
  return Object.entries(module).flatMap(([name, value]) => {
    const isClass = typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
    const kind = isClass ? "class" : typeof value;
    if (kind === "object") return [`${kind} ${name} { ${Object.keys(value).join(", ")} }`];
    return [`${kind} ${name}`];
  });
}

/** Each statement on a line of its own, members of interfaces and classes behind the name of theirs. */
function declarations(text) {
  const plain = text.replace(/("(?:[^"\\\n]|\\.)*")|\/\*[\s\S]*?\*\/|\/\/.*/g, (_, string) => string ?? "");
  return statements(plain).flatMap(({ head, body }) => {
    const name = oneLine(head);
    if (body === undefined) return [name];
    const members = statements(body).map((member) => oneLine(member.head));
    return [name, ...members.map((member) => `${name.replace(/ extends .*/, "")}: ${member}`)];
  });
}

/** Splits at each `;` outside of brackets, and behind the body of an interface or class, which has no `;`. */
function statements(text) {
  const found = [];
  let [depth, start, body] = [0, 0];
  for (const { 0: sign, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"|[{}()[\];]/g)) {
    if (sign === "{" && depth === 0 && isHead(text.slice(start, index))) body = index;
    if ("{([".includes(sign)) depth += 1;
    else if ("})]".includes(sign)) depth -= 1;
    if (depth > 0 || (sign !== ";" && body === undefined)) continue;
    found.push({ head: text.slice(start, body ?? index), body: body && text.slice(body + 1, index) });
    [start, body] = [index + 1, undefined];
  }
  found.push({ head: text.slice(start) });
  return found.filter(({ head }) => head.trim() !== "");
}

/** Whether a body may follow: the text begins an interface or a class, and its `<` are closed. */
function isHead(text) {
  const angles = text.replaceAll("=>", "");
  const isDeclaration = /^\s*(?:export |declare |abstract )*(?:interface|class|namespace) /.test(text);
  return isDeclaration && angles.split("<").length === angles.split(">").length;
}

/** The text as the formatter would write it, had it no limit of width. */
function oneLine(text) {
  return text
    .replace(/\s+/g, " ")
    .replace(/([([<]) /g, "$1")
    .replace(/,? ([)\]>])/g, "$1")
    .replaceAll("; }", " }")
    .replace(/([=(]) ?\| /g, (_, before) => (before === "=" ? "= " : before))
    .trim();
}

/** The lines that only one of the two has, or that it has more often. */
function differences(expected, found) {
  const counts = new Map();
  for (const line of expected) counts.set(line, (counts.get(line) ?? 0) - 1);
  for (const line of found) counts.set(line, (counts.get(line) ?? 0) + 1);
  return [...counts].filter(([, count]) => count !== 0).map(([line, count]) => `  ${count < 0 ? "-" : "+"} ${line}`);
}

if (process.argv[1] === import.meta.filename) {
  if (process.argv.includes("--write")) await writeFile(list, await surface());
  const difference = await surfaceDifference();
  if (difference !== undefined) console.error(difference);
  process.exitCode = difference === undefined ? 0 : 1;
}
