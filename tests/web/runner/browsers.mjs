// Starts a browser under its WebDriver. xtask passes the paths of the browser and the driver in PORTWAY_* variables.
// Without these variables, the paths of Debian and of `cargo xtask setup` are used.

import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { Builder, Capabilities } from "selenium-webdriver";
import { args, executablePath } from "../../chromium.mjs";

const env = process.env;
/** If a browser has not quit after this number of milliseconds, it is killed. */
const QUIT_MS = 10_000;

const engines = {
  chromium: (chromiumArguments, slowsHiddenPages) => ({
    driverCommand: [env.PORTWAY_CHROMEDRIVER ?? "chromedriver"],
    port: (port) => `--port=${port}`,
    capabilities: {
      browserName: "chrome",
      "goog:chromeOptions": {
        binary: executablePath,
        args: [...args, ...chromiumArguments],
        // By default, chromedriver adds these switches. They disable the back/forward cache, and make the timers of
        // hidden pages run on time.
        excludeSwitches: [
          "disable-back-forward-cache",
          ...(slowsHiddenPages ? ["disable-background-timer-throttling"] : []),
        ],
      },
    },
  }),
  firefox: () => ({
    driverCommand: [env.PORTWAY_GECKODRIVER ?? cachedGeckodriver()],
    port: (port) => `--port=${port}`,
    environment: { MOZ_HEADLESS: "1" },
    capabilities: {
      browserName: "firefox",
      "moz:firefoxOptions": { binary: env.PORTWAY_FIREFOX ?? "/usr/bin/firefox-esr", args: ["-headless"] },
    },
  }),
  webkit: () => ({
    // WebKitGTK has no headless mode.
    driverCommand: [...(env.DISPLAY ? [] : ["xvfb-run", "-a"]), env.PORTWAY_WEBKITDRIVER ?? "WebKitWebDriver"],
    port: (port) => `--port=${port}`,
    // The sandbox of WebKit needs rights that a container does not have.
    environment: { WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1" },
    capabilities: {
      browserName: "MiniBrowser",
      "webkitgtk:browserOptions": { binary: env.PORTWAY_MINIBROWSER ?? minibrowser(), args: ["--automation"] },
    },
  }),
};

/**
 * Starts the browser and its driver program. Returns the WebDriver session as `driver`, and `stop`, which ends the
 * browser and the program. `chromiumArguments` are further arguments for Chromium. With `sharing`, a page that is
 * isolated from other origins can share memory with its workers. With `slowsHiddenPages`, Chromium runs the timers of
 * hidden pages late, as Firefox and WebKit always do.
 */
export async function startBrowser(engine, chromiumArguments = [], { sharing = false, slowsHiddenPages = false } = {}) {
  const { driverCommand, port, environment, capabilities } = engines[engine](chromiumArguments, slowsHiddenPages);
  const portNumber = await freePort();
  const [command, ...args] = [...driverCommand, port(portNumber)];
  // WebKit needs this variable: with it, all pages can share memory, even pages that are not isolated. Other engines
  // need no variable.
  const sharingEnv = sharing && engine === "webkit" ? { JSC_useSharedArrayBuffer: "1" } : {};
  const fullEnv = { ...env, ...environment, ...sharingEnv };
  // `detached` puts the driver into a new process group, so that its children can be killed together with the driver.
  const child = spawn(command, args, { env: fullEnv, stdio: "ignore", detached: true });
  const failed = new Promise((_, reject) => {
    child.once("error", (error) => reject(new Error(`${command} cannot be started: ${error.message}`)));
    child.once("exit", (code) => reject(new Error(`${command} exited early, with code ${code}`)));
  });
  failed.catch(() => {});
  const kill = () => {
    try {
      process.kill(-child.pid);
    } catch {
      // The process group has already exited.
    }
  };
  try {
    await Promise.race([failed, untilDriverResponds(portNumber)]);
    const session = new Builder()
      .usingServer(`http://127.0.0.1:${portNumber}`)
      .withCapabilities(new Capabilities(capabilities))
      .build();
    await Promise.race([failed, session.getSession()]);
    return {
      driver: session,
      async stop() {
        // The driver of WebKit may never answer after the page has removed an iframe.
        const quitTimeout = new Promise((resolve) => setTimeout(resolve, QUIT_MS).unref());
        await Promise.race([session.quit().catch(() => {}), quitTimeout]);
        kill();
      },
    };
  } catch (error) {
    kill();
    throw error;
  }
}

/** Waits until the driver on this port responds. */
async function untilDriverResponds(port) {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const status = await fetch(`http://127.0.0.1:${port}/status`).catch(() => undefined);
    if (status !== undefined) return;
    if (Date.now() > deadline) throw new Error("the driver has not responded within 20 s");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function cachedGeckodriver() {
  const tools = join(env.PORTWAY_CACHE ?? join(env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "portway"), "tools");
  const folders = existsSync(tools) ? readdirSync(tools).filter((name) => name.startsWith("geckodriver-")) : [];
  return folders.map((name) => join(tools, name, "bin/geckodriver")).find(existsSync) ?? "geckodriver";
}

function minibrowser() {
  for (const root of ["/usr/lib", "/usr/libexec"]) {
    const subfolders = existsSync(root) ? readdirSync(root).map((name) => join(root, name)) : [];
    for (const folder of [root, ...subfolders]) {
      for (const name of ["webkit2gtk-4.1", "webkitgtk-6.0", "webkit2gtk-4.0"]) {
        const file = join(folder, name, "MiniBrowser");
        if (existsSync(file)) return file;
      }
    }
  }
  throw new Error(
    "MiniBrowser of WebKitGTK must be in a folder under /usr/lib or /usr/libexec, but is missing; install WebKitGTK",
  );
}
