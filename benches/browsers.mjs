// Starts a browser that opens an address. No debugging client is attached to the browser. With a debugging client,
// `window.postMessage` is several times slower for callers with a deep stack.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { args, executablePath } from "../tests/chromium.mjs";

const env = process.env;

const engines = {
  chromium: (profile, address) => [
    executablePath,
    ...args,
    `--user-data-dir=${profile}`,
    // Without `--enable-precise-memory-info`, the browser rounds heap sizes and updates them rarely. `--expose-gc` lets
    // the page request a garbage collection. `--no-flush-bytecode` keeps the compiled code of idle functions.
    "--enable-precise-memory-info",
    "--js-flags=--expose-gc,--no-flush-bytecode",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    address,
  ],
  firefox: (profile, address) => [
    env.PORTWAY_FIREFOX ?? "firefox-esr",
    "--headless",
    "--no-remote",
    "--profile",
    profile,
    address,
  ],
  webkit: (_, address) => [env.PORTWAY_MINIBROWSER ?? "MiniBrowser", address],
};

/**
 * Starts a browser that opens `address`. Returns `stop` and the promise `ended`. The promise never resolves. It rejects
 * if the browser cannot start, or exits before `stop` is called.
 */
export function startBrowser(engine, address) {
  const profile = mkdtempSync(join(tmpdir(), "portway-bench-"));
  const [command, ...parameters] = engines[engine](profile, address);
  // The browser runs in a separate process group, so that `stop` also ends its child processes.
  const child = spawn(command, parameters, {
    stdio: "ignore",
    detached: true,
    env: { ...env, MOZ_CRASHREPORTER_DISABLE: "1" },
  });
  let stopping = false;
  const ended = new Promise((_, reject) => {
    child.once("error", (error) => reject(new Error(`cannot start ${command}: ${error.message}`)));
    child.once("exit", (code) => !stopping && reject(new Error(`${command} exited with code ${code}`)));
  });
  ended.catch(() => {});
  const exited = new Promise((resolve) => child.once("exit", resolve));
  return {
    ended,
    async stop() {
      stopping = true;
      if (child.pid !== undefined && child.exitCode === null) {
        try {
          process.kill(-child.pid);
        } catch {
          // The browser has already exited.
        }
        await exited;
      }
      rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    },
  };
}
