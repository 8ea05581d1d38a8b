// Printed lines are part of the library's behaviour: a line that no test expects is a failure.

let current;

/** Records printed errors and warnings. */
export class ConsoleWatch {
  #lines = [];
  #expected = undefined;
  #originals = {};
  #currentTest;

  /** `currentTest` returns the name of the test that runs: each unexpected line is reported with it. */
  static start(currentTest) {
    current = new ConsoleWatch();
    current.#currentTest = currentTest;
    for (const kind of ["error", "warn"]) {
      current.#originals[kind] = console[kind];
      console[kind] = (...args) => current.#add(args);
    }
    // The engines print these there, too.
    const rejected = (reason) =>
      current.#add(["unhandled rejection:", reason, reason?.method ?? "", reason?.stack ?? ""]);
    if (typeof process === "object") process.on("unhandledRejection", rejected);
    else addEventListener("unhandledrejection", ({ reason }) => rejected(reason));
    return current;
  }

  #add(args) {
    const text = args.map((arg) => (arg instanceof Error ? `${arg.name}: ${arg.message}` : String(arg))).join(" ");
    if (this.#expected !== undefined) this.#expected.push(text);
    else this.#lines.push(`${text}\nduring "${this.#currentTest()}"`);
  }

  /** The unexpected lines. */
  stop() {
    Object.assign(console, this.#originals);
    return this.#lines;
  }

  async during(run) {
    const lines = (this.#expected = []);
    try {
      await run(lines);
      await this.#rejectionsReported(lines);
    } finally {
      this.#expected = undefined;
    }
    return lines;
  }

  /**
   * Until the engine has reported the rejections so far, which belong to this run. Engines report them in order, but at
   * a time of their own: a timer may fire before.
   */
  async #rejectionsReported(lines) {
    const last = `the last rejection of ${this.#currentTest()}`;
    Promise.reject(new Error(last));
    const isLast = (line) => line.includes(last);
    for (let n = 0; n < 1_000 && !lines.some(isLast); n++) await new Promise((resolve) => setTimeout(resolve, 1));
    if (!lines.some(isLast)) throw new Error("the engine does not report unhandled rejections");
    // Mocha reports each a second time in Node.
    lines.splice(0, Infinity, ...lines.filter((line) => !isLast(line)));
  }
}

/** The lines that are printed while `run` runs; it gets them as they come. */
export function printed(run) {
  return current.during(run);
}
