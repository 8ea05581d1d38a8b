// Reads the settings of a run from the address of the page, or from environment variables in Node.

const query = new URLSearchParams(globalThis.location?.search ?? "");
const env = globalThis.process?.env ?? {};
const setting = (name, variable) => query.get(name) ?? env[variable];

/** Whether the suite runs in full, as with `cargo xtask test --only hostile`. */
export const inFull = setting("full", "PORTWAY_FULL") === "1";
/** The seed of all random choices. */
export const seed = Number(setting("seed", "PORTWAY_SEED") ?? Math.floor(Math.random() * 2 ** 32));
/** The number of generated messages. */
export const messageCount = Number(setting("messages", "PORTWAY_MESSAGES") ?? (inFull ? 1_000_000 : 50_000));

globalThis.figures = [];

/** Adds a line with a figure to the lines that are printed at the end of the run. */
export function printFigure(line) {
  globalThis.figures.push(line);
}

export const inBrowser = globalThis.location !== undefined;

/** Reports that a long test makes progress. */
export function progress(text) {
  if (globalThis.tally !== undefined) globalThis.tally.current = `${text}, ${performance.now()}`;
}
