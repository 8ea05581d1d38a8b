// What the library prints is part of its behaviour: a line that no test expects is a failure.

let current;

/** Keeps what is printed as an error or a warning. */
export class ConsoleWatch {
  #lines = [];
  #expected = undefined;
  #originals = {};

  static start() {
    current = new ConsoleWatch();
    for (const kind of ["error", "warn"]) {
      current.#originals[kind] = console[kind];
      console[kind] = (...args) => current.#add(args);
    }
    // The engines print these there, too.
    const rejected = (reason) => current.#add(["unhandled rejection:", reason]);
    if (typeof process === "object") process.on("unhandledRejection", rejected);
    else addEventListener("unhandledrejection", ({ reason }) => rejected(reason));
    return current;
  }

  #add(args) {
    const text = args.map((arg) => (arg instanceof Error ? `${arg.name}: ${arg.message}` : String(arg))).join(" ");
    (this.#expected ?? this.#lines).push(text);
  }

  /** The lines that nobody expected. */
  stop() {
    Object.assign(console, this.#originals);
    return this.#lines;
  }

  async during(run) {
    const lines = (this.#expected = []);
    try {
      await run(lines);
    } finally {
      this.#expected = undefined;
    }
    return lines;
  }
}

/** The lines that are printed while `run` runs; it gets them as they come. */
export function printed(run) {
  return current.during(run);
}
