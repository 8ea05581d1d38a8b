// Compares the cost of one message with bounds.json. The cost has three parts: the bytes that the attacked peer sends
// for each received byte, the time for which the event loop is blocked, and the bytes that stay allocated.

import { assert } from "chai";
import { inNode } from "../../web/support/portway.js";
import { printFigure } from "./settings.js";

async function read() {
  if (!inNode) return (await fetch("/tests/hostile/bounds.json")).json();
  const { readFile } = await import("node:fs/promises");
  return JSON.parse(await readFile(new URL("../bounds.json", import.meta.url), "utf8"));
}

export const bounds = await read();
export const rowsOf = (where) => bounds.rows.filter((row) => row.where === where);

/**
 * The number of bytes that may always be sent, because even a short message gets a response. After any message, 128
 * times this number of bytes may stay allocated.
 */
const ALWAYS_ALLOWED_BYTES = 1_024;

globalThis.measured = [];

/**
 * Compares a measurement with its row of bounds.json. `isStated` is true if the figures of the row are for this engine.
 * In any other engine, the limits `maxSent` and `maxBlocked` of bounds.json apply to every row instead.
 */
export function check({ id, where, what, ...row }, { bytesIn, bytesOut, ms, retainedBytes }, isStated) {
  const sentPerByte = Math.max(0, bytesOut - ALWAYS_ALLOWED_BYTES) / bytesIn;
  const retainedPerByte =
    retainedBytes === undefined ? undefined : Math.max(0, retainedBytes - 128 * ALWAYS_ALLOWED_BYTES) / bytesIn;
  globalThis.measured.push({
    id,
    where,
    sends: row.sends === null ? null : sentPerByte,
    blocks: ms,
    ...(retainedPerByte !== undefined && { holds: retainedPerByte }),
  });
  const kb = (bytes) => `${(bytes / 1_000).toFixed(1)} KB`;
  printFigure(
    `${where}: ${what}: ${kb(bytesIn)} in, ${kb(bytesOut)} out, ${ms.toFixed(1)} ms${retainedBytes === undefined ? "" : `, ${kb(Math.max(0, retainedBytes))} still allocated`}`,
  );
  if (row.sends !== null)
    assert.isAtMost(sentPerByte, isStated ? row.sends : bounds.maxSent, "bytes out for each byte in");
  assert.isAtMost(
    ms,
    isStated ? row.blocks : bounds.maxBlocked,
    "milliseconds for which the message blocks the event loop",
  );
  if (retainedPerByte !== undefined)
    assert.isAtMost(retainedPerByte, row.holds + 0.5, "bytes that stay allocated for each byte in");
}
