import type { ConsoleParams } from "portway/inline";
import { formatMessage } from "./format";

const LEVELS = ["log", "info", "warn", "error", "debug"] as const;

/** Sends what the app prints to the page, and lets the browser's own console have it as well. */
export function captureConsole(send: (entry: ConsoleParams) => void): void {
  for (const level of LEVELS) {
    const original = console[level].bind(console);
    console[level] = (...values: unknown[]) => {
      original(...values);
      send({ level, message: formatMessage(values), timestamp: Date.now() });
    };
  }
}
