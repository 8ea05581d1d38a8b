// Starts a browser with an address and without a debugging client. Such a client makes `postMessage` to a window from a
// deep stack several times slower.

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
    // Without the first flag, heap figures are rounded and old. The second allows garbage collection on demand, and
    // keeps the compiled code of functions that have not run for a while.
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

/** Starts a browser. Returns `stop`, and the promise `ended`, which rejects if the browser ends by itself. */
export function startBrowser(engine, address) {
  const profile = mkdtempSync(join(tmpdir(), "portway-bench-"));
  const [command, ...words] = engines[engine](profile, address);
  // The browser gets a process group of its own, so that its children end with it.
  const child = spawn(command, words, {
    stdio: "ignore",
    detached: true,
    env: { ...env, MOZ_CRASHREPORTER_DISABLE: "1" },
  });
  let stopping = false;
  const ended = new Promise((_, reject) => {
    child.once("error", (error) => reject(new Error(`${command} does not start: ${error.message}`)));
    child.once("exit", (code) => !stopping && reject(new Error(`${command} has ended with ${code}`)));
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
          // It has ended by itself.
        }
        await exited;
      }
      rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    },
  };
}
