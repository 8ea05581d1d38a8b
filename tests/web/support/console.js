// Records the lines that are printed during the specs. A line that no test expects counts as a failure, because printed
// lines are part of the library's behaviour.

let activeWatch;

/** Records printed errors and warnings, and unhandled rejections. */
export class ConsoleWatch {
  #lines = [];
  #expected = undefined;
  #originals = {};
  #currentTest;

  /**
   * Starts to record. `currentTest` returns the name of the running test, which is reported with each unexpected line.
   */
  static start(currentTest) {
    activeWatch = new ConsoleWatch();
    activeWatch.#currentTest = currentTest;
    for (const kind of ["error", "warn"]) {
      activeWatch.#originals[kind] = console[kind];
      console[kind] = (...args) => activeWatch.#add(args);
    }
    // Engines also print unhandled rejections to the console.
    const rejected = (reason) =>
      activeWatch.#add(["unhandled rejection:", reason, reason?.method ?? "", reason?.stack ?? ""]);
    if (typeof process === "object") process.on("unhandledRejection", rejected);
    else addEventListener("unhandledrejection", ({ reason }) => rejected(reason));
    return activeWatch;
  }

  #add(args) {
    const text = args.map((arg) => (arg instanceof Error ? `${arg.name}: ${arg.message}` : String(arg))).join(" ");
    if (this.#expected !== undefined) this.#expected.push(text);
    else this.#lines.push(`${text}\nduring "${this.#currentTest()}"`);
  }

  /** Stops the recording, and returns the unexpected lines. */
  stop() {
    Object.assign(console, this.#originals);
    return this.#lines;
  }

  /** Returns the lines that are printed during `run`. These lines are expected. */
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
   * Waits until the engine has reported all earlier unhandled rejections. Engines report them in order, but a timer may
   * fire before the report. So this function adds a rejection and waits for its report.
   */
  async #rejectionsReported(lines) {
    const last = `the last rejection of ${this.#currentTest()}`;
    Promise.reject(new Error(last));
    const isLast = (line) => line.includes(last);
    for (let n = 0; n < 1_000 && !lines.some(isLast); n++) await new Promise((resolve) => setTimeout(resolve, 1));
    if (!lines.some(isLast)) throw new Error("the engine does not report unhandled rejections");
    // All reports of this rejection are removed, because mocha adds a second report in Node.
    lines.splice(0, Infinity, ...lines.filter((line) => !isLast(line)));
  }
}

/** Returns the lines that are printed during `run`. `run` gets the array to which the lines are added. */
export function printed(run) {
  return activeWatch.during(run);
}
