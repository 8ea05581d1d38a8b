// Reads bounds.json for the runners. A kind is one way in which a peer ends, or one state in which a peer must not be
// reported as ended. The file lists the kinds, the engines that run them, and their allowed outcomes. `sockets` has the
// ends of WebSockets, and `deaths` has the other ends. `alive` has the states that are not ends. A kind with `isHidden`
// hides the page, and the runner leaves the page of a kind with `isNavigated`.

import { readFileSync } from "node:fs";
import { RUNS } from "./page/measure.js";

export const engines = ["chromium", "firefox", "webkit", "node"];
const browsers = engines.slice(0, 3);

export const { deaths, sockets, alive } = JSON.parse(readFileSync(new URL("bounds.json", import.meta.url), "utf8"));

/** Returns whether the back/forward cache of the engine also keeps pages that have a connection. */
export const keepsConnected = (engine) => !sockets.some(({ differs }) => differs?.[engine]?.reason === "unloaded");

/**
 * Returns the kinds that this engine runs, and those that it cannot run. The ids of all these kinds contain `part`.
 * With `onlyHidden`, all these kinds have `isHidden`.
 */
export function kindsOf(engine, part = "", onlyHidden = false) {
  const kinds = [];
  const skipped = [];
  const add = (kind, { engines = browsers, not }) => {
    if (!kind.id.includes(part) || !engines.includes(engine) || (onlyHidden && !kind.isHidden)) return;
    const reason = not?.[engine];
    if (reason === undefined) kinds.push(kind);
    else skipped.push({ id: kind.id, reason });
  };
  for (const row of [...deaths, ...sockets]) {
    for (const id of row.kinds) {
      const other = row.differs?.[engine];
      const { within, reason } =
        other !== undefined && (other.kinds ?? row.kinds).includes(id) ? { ...row, ...other } : row;
      const { mustStayAlive, isHidden, isNavigated } = row;
      add({ id, within, reason, mustStayAlive, isHidden, isNavigated }, row);
    }
  }
  for (const row of alive) {
    const { what: id, isHidden, seconds = 0 } = row;
    add({ id, isHidden, mustStayAlive: true, within: seconds * 1000 }, row);
  }
  return { kinds, skipped };
}

/** Compares the result of a kind with its bounds. `fault` describes the violation, or is `undefined`. */
export function verdict(kind, result) {
  if (result?.ends === undefined) return { fault: result?.error ?? "the kind was not run", count: 0, inBounds: 0 };
  const { ends } = result;
  if (kind.mustStayAlive) {
    return { count: ends.length, fault: ends.length > 0 ? `calls ended: ${ends.join(", ")}` : undefined };
  }
  const times = ends
    .map(({ ms }) => ms)
    .filter((ms) => ms !== undefined)
    .sort((a, b) => a - b);
  const wrong = ends.filter(({ ms, reason }) => !(ms <= kind.within) || reason !== kind.reason);
  const faults = [...new Set(wrong.map(({ reason }) => reason))].map((reason) => {
    const sameReason = wrong.filter((end) => end.reason === reason);
    const latest = Math.max(...sameReason.map(({ ms }) => ms ?? 0));
    return `${sameReason.length} times ${reason}${latest === 0 ? "" : `, after ${latest.toFixed(0)} ms at the latest`}`;
  });
  if (ends.length < RUNS) faults.push(`only ${ends.length} of ${RUNS} peers have ended`);
  return {
    count: ends.length,
    inBounds: ends.length - wrong.length,
    longest: times.at(-1),
    median: times[times.length >> 1],
    fault: faults.length > 0 ? `${wrong.length} of ${ends.length}: ${faults.join("; ")}` : undefined,
  };
}
