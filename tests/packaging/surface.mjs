// Compares the public surface of pkg/ with tests/surface/npm.txt. The surface consists of the exports of each entry at
// run time, and of all declarations without comments. The group `surface` of the packaging suite uses this file.
//
//   node tests/packaging/surface.mjs            compares
//   node tests/packaging/surface.mjs --write    writes the surface of pkg/ to tests/surface/npm.txt

import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./tool.mjs";

const list = join(root, "tests/surface/npm.txt");
const pkg = join(root, "pkg");

/** Returns a text with the lines that differ, or `undefined` if no line differs. */
export async function surfaceDifference() {
  const [expected, found] = [await readFile(list, "utf8"), await surface()];
  const lines = differences(expected.split("\n"), found.split("\n"));
  if (lines.length === 0) return undefined;
  return [
    "the surface of pkg/ differs from tests/surface/npm.txt:",
    ...lines,
    "`node tests/packaging/surface.mjs --write` accepts the new surface",
  ].join("\n");
}

async function surface() {
  const lines = [];
  const { exports } = JSON.parse(await readFile(join(pkg, "package.json"), "utf8"));
  for (const [entry, target] of Object.entries(exports)) {
    if (typeof target === "string") {
      lines.push(`# ${entry}: ${target}`);
      continue;
    }
    for (const [condition, file] of Object.entries(target).filter(([condition]) => condition !== "types")) {
      lines.push(`# ${entry}, ${condition}: ${file}, declared in ${target.types}`, ...(await exported(file)));
    }
  }
  for (const file of (await readdir(pkg)).filter((name) => name.endsWith(".d.ts")).sort()) {
    lines.push(`# ${file}`, ...declarations(await readFile(join(pkg, file), "utf8")));
  }
  return `${lines.join("\n")}\n`;
}

/** Returns the names that a module exports, and the members of exported objects. */
async function exported(file) {
  // The import of this module adds listeners, and works only in a worker.
  if (file === "./wasi-worker.js") return [];
  const module = await import(pathToFileURL(join(pkg, file)));
  return Object.entries(module).flatMap(([name, value]) => {
    const isClass = typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
    const kind = isClass ? "class" : typeof value;
    if (kind === "object") return [`${kind} ${name} { ${Object.keys(value).join(", ")} }`];
    return [`${kind} ${name}`];
  });
}

/** Returns each statement as one line. A member of an interface or class is a line that begins with the outer name. */
function declarations(text) {
  const plain = text.replace(/("(?:[^"\\\n]|\\.)*")|\/\*[\s\S]*?\*\/|\/\/.*/g, (_, string) => string ?? "");
  return statements(plain).flatMap(({ head, body }) => {
    const name = oneLine(head);
    if (body === undefined) return [name];
    const members = statements(body).map((member) => oneLine(member.head));
    return [name, ...members.map((member) => `${name.replace(/ extends .*/, "")}: ${member}`)];
  });
}

/** Splits a text at each `;` outside of brackets, and after each body of an interface, class or namespace. */
function statements(text) {
  const found = [];
  let [depth, start, body] = [0, 0];
  for (const { 0: match, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"|[{}()[\];]/g)) {
    if (match === "{" && depth === 0 && isHead(text.slice(start, index))) body = index;
    if ("{([".includes(match)) depth += 1;
    else if ("})]".includes(match)) depth -= 1;
    if (depth > 0 || (match !== ";" && body === undefined)) continue;
    found.push({ head: text.slice(start, body ?? index), body: body && text.slice(body + 1, index) });
    [start, body] = [index + 1, undefined];
  }
  found.push({ head: text.slice(start) });
  return found.filter(({ head }) => head.trim() !== "");
}

/** Returns whether `text` may precede a body: it begins an interface, class or namespace, and closes each `<`. */
function isHead(text) {
  const angles = text.replaceAll("=>", "");
  const isDeclaration = /^\s*(?:export |declare |abstract )*(?:interface|class|namespace) /.test(text);
  return isDeclaration && angles.split("<").length === angles.split(">").length;
}

/** Returns the text on one line, as a formatter without a limit of width would write it. */
function oneLine(text) {
  return text
    .replace(/\s+/g, " ")
    .replace(/([([<]) /g, "$1")
    .replace(/,? ([)\]>])/g, "$1")
    .replaceAll("; }", " }")
    .replace(/([=(]) ?\| /g, (_, before) => (before === "=" ? "= " : before))
    .trim();
}

/** Returns the lines that one list contains more often than the other list. */
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
