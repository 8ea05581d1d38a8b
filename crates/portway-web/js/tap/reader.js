// Reads the records of recorders in other contexts.

import { runUserCode } from "../driver/error-reporter.js";
import { logError } from "../driver/log-error.js";
import { CHANNEL, KIND, channelOf, openChannel } from "./sinks.js";

/** Returns a new id for a reader. No other reader has the same id. */
const newReader = () => crypto.getRandomValues(new Uint32Array(2)).join("-");

/** @type {typeof import("../../types/tap.js").readTaps} */
export function readTaps(from, onRecords) {
  if (typeof onRecords !== "function") throw new TypeError(`onRecords must be a function, got ${typeof onRecords}`);
  if (typeof from === "object") {
    /** @type {any} */
    const port = from;
    port.start?.();
    return readPort(port, onRecords, () => {});
  }
  const name = from ?? CHANNEL;
  const shared = openChannel(name);
  const reader = newReader();
  /** The functions that end the reading of each recorder, by the id of the recorder. */
  const stops = new Map();
  const read = (source) => {
    if (typeof source !== "string" || stops.has(source)) return;
    const own = openChannel(channelOf(name, source, reader));
    const stop = readPort(own, onRecords, () => {
      own.close();
      stops.delete(source);
    });
    stops.set(source, stop);
    shared.postMessage({ [KIND]: "read", source, reader });
  };
  shared.addEventListener("message", ({ data }) => data?.[KIND] === "source" && read(data.source));
  shared.postMessage({ [KIND]: "list" });
  return () => {
    shared.close();
    for (const stop of stops.values()) stop();
  };
}

/** Reads the records of one recorder. Returns the function that ends the reading. */
function readPort(port, onRecords, onEnd) {
  let isEnded = false;
  const end = () => {
    isEnded = true;
    port.removeEventListener("message", onMessage);
    onEnd();
  };
  const report = (error) => logError(error);
  async function onMessage({ data }) {
    if (data?.[KIND] === "end") return end();
    if (data?.[KIND] !== "records") return;
    try {
      await onRecords(data.records);
    } catch (error) {
      report(error);
    }
    // The records are acknowledged even if `onRecords` failed, because they were passed to the application.
    if (!isEnded) port.postMessage({ [KIND]: "taken", batch: data.batch });
  }
  port.addEventListener("message", onMessage);
  return () => {
    if (isEnded) return;
    runUserCode(() => port.postMessage({ [KIND]: "leave" }), report);
    end();
  };
}
