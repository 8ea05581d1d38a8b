import type { ConsoleParams } from "portway/inline";
import { formatMessage } from "./format";

const LEVELS = ["log", "info", "warn", "error", "debug"] as const;

/** Sends the console output of the app to the page, and also prints it on the browser's console. */
export function captureConsole(send: (entry: ConsoleParams) => void): void {
  for (const level of LEVELS) {
    const original = console[level].bind(console);
    console[level] = (...values: unknown[]) => {
      original(...values);
      send({ level, message: formatMessage(values), timestamp: Date.now() });
    };
  }
}
