import type { Diagnostic } from "portway";
import { positionOf, type SourcePosition } from "./source-position";
import { oncePerFrame, Store } from "./store";

export type Level = "log" | "info" | "warn" | "error" | "debug" | "system";

export interface ConsoleEntry {
  readonly seq: number;
  readonly time: number;
  readonly level: Level;
  readonly text: string;
  readonly position?: SourcePosition | undefined;
  readonly detail?: string | undefined;
  /** The number of consecutive times that this entry was added. */
  readonly count: number;
}

const MAX_ENTRIES = 500;

/** The console output of the preview, its uncaught errors, and the messages of builds. */
export class ConsoleLog {
  readonly entries = new Store<readonly ConsoleEntry[]>([]);
  readonly #publish = oncePerFrame(() => this.entries.set([...this.#buffer]));
  #buffer: ConsoleEntry[] = [];
  #seq = 0;

  add(
    level: Level,
    text: string,
    options: { position?: SourcePosition | undefined; detail?: string | undefined; time?: number } = {},
  ): void {
    const last = this.#buffer.at(-1);
    const { position, detail, time = Date.now() } = options;
    if (last && level !== "system" && last.level === level && last.text === text && last.detail === detail) {
      this.#buffer[this.#buffer.length - 1] = { ...last, count: last.count + 1 };
    } else {
      this.#seq += 1;
      this.#buffer.push({ seq: this.#seq, time, level, text, position, detail, count: 1 });
      if (this.#buffer.length > MAX_ENTRIES) this.#buffer.shift();
    }
    this.#publish();
  }

  addDiagnostic(level: "warn" | "error", prefix: string, diagnostic: Diagnostic): void {
    const { message, snippet } = diagnostic;
    this.add(level, `${prefix}: ${message}`, { position: positionOf(diagnostic), detail: snippet });
  }

  clear(): void {
    this.#buffer = [];
    this.entries.set([]);
  }
}
