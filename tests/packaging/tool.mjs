// Runs the programs that a user of the package would run. Programs of npm packages come from the node_modules of this
// repository.

import { spawn } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** Runs a program until it exits. Resolves to its output, or rejects with its output if the program fails. */
export function run(program, args, { cwd, timeout = 60_000 }) {
  return new Promise((done, fail) => {
    const child = spawn(program, args, { cwd, timeout, stdio: ["ignore", "pipe", "pipe"] });
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk) => (output.stdout += chunk));
    child.stderr.on("data", (chunk) => (output.stderr += chunk));
    child.on("error", fail);
    child.on("close", (code, signal) => {
      if (code === 0) return done(output);
      const command = [program, ...args].join(" ").slice(0, 200);
      fail(new Error(`${command} ended with ${code ?? signal}:\n${(output.stdout + output.stderr).slice(-4000)}`));
    });
  });
}

/** Runs a program of an npm package that is installed for this repository. */
export function runTool(name, args, options) {
  return run(join(root, "node_modules/.bin", name), args, options);
}
