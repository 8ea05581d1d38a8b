// Hides this page by the driver of the browser. All kinds that hide the page share one period.

const query = new URLSearchParams(location.search);
/** The time in which the page is hidden, in milliseconds. */
export const HIDDEN_MS = Number(query.get("hidden"));
/** The number of kinds that share the period. */
const PARTICIPANTS = Number(query.get("hiding"));
/** The maximum delay, in milliseconds, with which the visibility of the page changes after an action of the driver. */
const TIMEOUT_MS = 20_000;

let arrived = 0;
let onLastArrival;
const haveArrived = new Promise((resolve) => (onLastArrival = resolve));
let period;

/**
 * Hides this page for `HIDDEN_MS` milliseconds, after each kind has called this function. Resolves when the page is
 * hidden. `hiddenAt` is the time of this event. `shown` resolves when the page is visible again, to the time of that
 * event.
 */
export async function hidePage(driver) {
  if (++arrived === PARTICIPANTS) onLastArrival();
  await haveArrived;
  period ??= begin(driver);
  return period;
}

async function begin(driver) {
  await driver("hide the page");
  const hiddenAt = await becomes("hidden", TIMEOUT_MS);
  const shown = becomes("visible", HIDDEN_MS + TIMEOUT_MS);
  await driver("show the page later", HIDDEN_MS);
  return { hiddenAt, shown };
}

/** Resolves when the page has this visibility, to the time of the change. */
function becomes(visibility, ms) {
  return new Promise((resolve, reject) => {
    const check = () => {
      if (document.visibilityState !== visibility) return;
      document.removeEventListener("visibilitychange", check);
      clearTimeout(timer);
      resolve(performance.now());
    };
    const fail = () => reject(new Error(`the page must be ${visibility}, got ${document.visibilityState}`));
    const timer = setTimeout(fail, ms);
    document.addEventListener("visibilitychange", check);
    check();
  });
}
