import type { Diagnostic } from "portway";
import { positionOf, type SourcePosition } from "./source-position";
import { Store } from "./store";

export type Level = "log" | "info" | "warn" | "error" | "debug" | "system";

export interface ConsoleEntry {
  readonly seq: number;
  readonly time: number;
  readonly level: Level;
  readonly text: string;
  readonly position?: SourcePosition | undefined;
  readonly detail?: string | undefined;
  /** How often this entry came in a row. */
  readonly count: number;
}

const LIMIT = 1000;

/** What the preview printed, its uncaught errors, and what the builds had to say. */
export class ConsoleLog {
  readonly entries = new Store<readonly ConsoleEntry[]>([]);
  #seq = 0;

  add(level: Level, text: string, more: { position?: SourcePosition | undefined; detail?: string | undefined; time?: number } = {}): void {
    const entries = this.entries.value;
    const last = entries.at(-1);
    const { position, detail, time = Date.now() } = more;
    if (last && level !== "system" && last.level === level && last.text === text && last.detail === detail) {
      this.entries.set([...entries.slice(0, -1), { ...last, count: last.count + 1 }]);
      return;
    }
    this.#seq += 1;
    const entry = { seq: this.#seq, time, level, text, position, detail, count: 1 };
    this.entries.set([...entries.slice(1 - LIMIT), entry]);
  }

  addDiagnostic(level: "warn" | "error", prefix: string, diagnostic: Diagnostic): void {
    const { message, snippet } = diagnostic;
    this.add(level, `${prefix}: ${message}`, { position: positionOf(diagnostic), detail: snippet });
  }

  clear(): void {
    this.entries.set([]);
  }
}
