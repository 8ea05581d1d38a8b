// Does the actions that a page cannot do, by the driver of the browser.

import { readFileSync, readdirSync } from "node:fs";

/** The milliseconds for which the process that `kill` ends is busy. */
const SPIN_MS = 5_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const actions = {
  "kill the process that spins": kill,
  "hide the page": hide,
  "show the page later": showLater,
  "freeze the page": freeze,
};

/** Does an action for the page. Returns its result as `answer`, or the text of its error as `error`. */
export async function runAction(driver, what, argument) {
  try {
    return { answer: await actions[what](driver, argument) };
  } catch (error) {
    return { error: error.message };
  }
}

/** Kills a renderer process of Chromium, as a crash does. Returns the time of the kill, by the clock of the page. */
async function kill(driver) {
  const before = renderers();
  await driver.executeScript("window.begin()");
  const pid = await busiest(before);
  const at = await driver.executeScript("return performance.now()");
  process.kill(pid, "SIGKILL");
  return at;
}

/** Waits until one renderer has used much more processor time since `before` than all others. Returns its pid. */
async function busiest(before) {
  for (const deadline = Date.now() + SPIN_MS; ; ) {
    await pause(200);
    const spent = [...renderers()].map(([pid, ticks]) => [ticks - (before.get(pid) ?? ticks), pid]);
    const [[highestTicks = 0, pid] = [], [secondTicks = 0] = []] = spent.sort(([a], [b]) => b - a);
    if (highestTicks >= 20 && highestTicks >= 3 * secondTicks) return pid;
    if (Date.now() > deadline)
      throw new Error(`exactly one renderer must be busy, got [ticks, pid] ${JSON.stringify(spent)}`);
  }
}

/**
 * Returns the renderers among the descendants of this process, and the processor time of their main threads. The time
 * of other threads does not count, because workers may be busy at the same time.
 */
function renderers() {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap(status);
  const ours = new Set([process.pid]);
  for (let size = 0; size !== ours.size; ) {
    size = ours.size;
    for (const { pid, parent } of all) if (ours.has(parent)) ours.add(pid);
  }
  return new Map(
    all.filter(({ pid, isRenderer }) => isRenderer && ours.has(pid)).map(({ pid, ticks }) => [pid, ticks]),
  );
}

function status(name) {
  try {
    const isRenderer = readFileSync(`/proc/${name}/cmdline`, "utf8").includes("--type=renderer");
    // The name of the command is in brackets and may contain spaces; see proc(5).
    const fields = readFileSync(`/proc/${name}/task/${name}/stat`, "utf8").split(") ").at(-1).split(" ");
    return [
      { pid: Number(name), parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]), isRenderer },
    ];
  } catch {
    // The process has exited during the reads.
    return [];
  }
}

/**
 * Hides the page behind another tab. In WebKit, a new tab is a new window, which does not hide the page. There, the
 * window of the page is minimized instead.
 */
async function hide(driver) {
  if (await isWebKit(driver)) return void (await driver.manage().window().minimize());
  hiddenWindow = await driver.getWindowHandle();
  await driver.switchTo().newWindow("tab");
}

/** Shows the hidden page after `ms` milliseconds, and returns at once: browsers end a request that takes minutes. */
function showLater(driver, ms) {
  setTimeout(async () => {
    if (await isWebKit(driver)) return driver.manage().window().setRect({ x: 0, y: 0, width: 1_024, height: 768 });
    await driver.close();
    await driver.switchTo().window(hiddenWindow);
  }, ms);
}

/** The handle of the page that `hide` has hidden. */
let hiddenWindow;
const isWebKit = async (driver) => (await driver.getCapabilities()).getBrowserName() === "MiniBrowser";

async function freeze(driver, ms) {
  await driver.sendDevToolsCommand("Page.setWebLifecycleState", { state: "frozen" });
  await pause(ms);
  await driver.sendDevToolsCommand("Page.setWebLifecycleState", { state: "active" });
}
