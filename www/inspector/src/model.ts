import {
  type Counts,
  type Dropped,
  type ExportOptions,
  type Filter,
  type Options,
  type TapRecord,
  type Totals,
  Inspector,
  exportName,
  importFile,
  maskSpans,
} from "portway-inspector";
import { Store } from "../../src/store";
import { nowMicros } from "./clock";
import { type FileParts, writeFile } from "./export-file";
import { RecordStore } from "./record-store";
import { TextFilter } from "./text-filter";

/** The filter as the user sees it. */
export interface FilterState {
  readonly method: string;
  readonly id: string;
  readonly text: string;
  readonly isRegex: boolean;
  readonly tab: NonNullable<Filter["tab"]>;
  readonly links: readonly number[];
  readonly errorsOnly: boolean;
  readonly invalidOnly: boolean;
  readonly pendingOnly: boolean;
}

export const NO_FILTER: FilterState = {
  method: "",
  id: "",
  text: "",
  isRegex: false,
  tab: "all",
  links: [],
  errorsOnly: false,
  invalidOnly: false,
  pendingOnly: false,
};

/** The time in milliseconds that a frame may spend on new records if it does not update the list or the figures. */
const TAKE_MS = 9;
/** The same time for a frame that also updates the list or the figures. */
const TAKE_DRAWN_MS = 2;
/** The number of records after which the time is read. */
const TAKE_COUNT = 250;
/** The length of the texts of records, in characters, after which the time is read. */
const TAKE_LENGTH = 250_000;
/** While records are queued, the list changes at most once in this time, because its rows move too fast to be read. */
const QUEUED_DRAW_MS = 100;
/** The delay of a frame while the page is hidden, because browsers do not draw hidden pages. */
const HIDDEN_FRAME_MS = 250;
/** The time in milliseconds between two changes of the summary. */
const SUMMARY_MS = 250;

/** The messages, their texts and the filter. Records enter by `take`. */
export class Model {
  readonly core: Inspector;
  /** Changes in each frame that changes the list. */
  readonly list = new Store(0);
  /** Changes at most four times per second, for figures. */
  readonly summary = new Store(0);
  readonly filter = new Store<FilterState>(NO_FILTER);
  readonly selected = new Store<number | null>(null);
  readonly isPaused = new Store(false);
  /** Whether secrets are shown. */
  readonly isRevealed = new Store(false);
  /** Names of members that are masked, in addition to those of the core. */
  readonly maskNames = new Store<readonly string[]>([]);
  /** A short text for the user about the last action, for example the result of an import. */
  readonly notice = new Store("");
  readonly textFilter: TextFilter;
  readonly #records = new RecordStore();
  readonly #spaced = new Set<number>();
  #queue: TapRecord[] = [];
  #queueAt = 0;
  #isScheduled = false;
  /** The time of the last change of the list by new records. */
  #drawnAt = 0;
  /** Whether the summary changes in the next frame. */
  #isSummaryDue = false;
  #summaryTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #idle: (() => void)[] = [];
  #linkNames: readonly string[] = [];

  constructor(options?: Partial<Options>) {
    this.core = new Inspector(options);
    const source = { textOf: (seq: number) => this.textOf(seq), isSpaced: (seq: number) => this.#spaced.has(seq) };
    this.textFilter = new TextFilter(this.core, source, () => this.#changeList());
  }

  /** Returns the address of the server of a link, or an example address if the link is not a WebSocket. */
  addressOf(link: number): string {
    const name = this.core.links()[link]?.name ?? "";
    return /^wss?:/.test(name) ? name : "ws://127.0.0.1:8080";
  }

  /** Returns the names of the links by their indexes, at most 250 ms old. */
  linkNames(): readonly string[] {
    return this.#linkNames;
  }

  // -------------------------------------------------------------------- records

  /** Takes records in. They are shown in the next frames. */
  take(records: readonly TapRecord[]): void {
    for (const record of records) this.#queue.push(record);
    if (records.length) this.#schedule();
  }

  /** Resolves when all records have been taken in. */
  whenTaken(): Promise<void> {
    if (this.#queueAt === this.#queue.length) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  recordOf(seq: number): TapRecord | undefined {
    return this.#records.get(seq);
  }

  /** Returns the text of a row, or undefined if the record has none, or if the text left the history. */
  textOf(seq: number): string | undefined {
    return this.#records.text(seq);
  }

  clear(): void {
    this.#queue = [];
    this.#queueAt = 0;
    this.core.clear();
    this.#records.clear();
    this.#spaced.clear();
    this.selected.set(null);
    this.setFilter({ ...this.filter.value, links: [] });
    this.#changeSummary();
  }

  configure(options: Partial<Options>): void {
    this.#drop(this.core.configure(options));
    this.#changeList();
    this.#changeSummary();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const run = () => {
      this.#isScheduled = false;
      this.#takeSlice();
    };
    if (document.hidden) setTimeout(run, HIDDEN_FRAME_MS);
    else requestFrame(run);
  }

  #takeSlice(): void {
    const start = performance.now();
    const isSummaryDue = this.#isSummaryDue;
    const isListDue = !isSummaryDue && start - this.#drawnAt >= QUEUED_DRAW_MS;
    const takeMs = isSummaryDue || isListDue ? TAKE_DRAWN_MS : TAKE_MS;
    // A hidden page runs few timers, and draws nothing, so it takes all queued records at once.
    const deadline = document.hidden ? Number.POSITIVE_INFINITY : start + takeMs;
    do {
      this.#store(this.#nextRecords());
    } while (this.#queueAt < this.#queue.length && performance.now() < deadline);
    const isQueueEmpty = this.#queueAt === this.#queue.length;
    if (isQueueEmpty) {
      this.#queue = [];
      this.#queueAt = 0;
      for (const resolve of this.#idle.splice(0)) resolve();
    } else {
      if (this.#queueAt > 50_000) {
        this.#queue = this.#queue.slice(this.#queueAt);
        this.#queueAt = 0;
      }
      this.#schedule();
    }
    if (isListDue || isQueueEmpty) {
      this.#drawnAt = start;
      this.#changeList();
    }
    if (isSummaryDue) this.#setSummary();
    else this.#changeSummary();
  }

  /** Removes the next records from the queue: at most `TAKE_COUNT`, or fewer if their texts are long. */
  #nextRecords(): TapRecord[] {
    const from = this.#queueAt;
    let length = 0;
    while (this.#queueAt < this.#queue.length && this.#queueAt - from < TAKE_COUNT && length < TAKE_LENGTH) {
      length += this.#queue[this.#queueAt]?.text?.length ?? 0;
      this.#queueAt += 1;
    }
    return this.#queue.slice(from, this.#queueAt);
  }

  #store(records: TapRecord[]): void {
    const matches = this.textFilter.test(records);
    const taken = this.core.take(records, matches);
    const rejected = new Set(taken.rejected.map(({ index }) => index));
    records.forEach((record, index) => {
      if (!rejected.has(index)) this.#records.add(taken.first + index, record);
    });
    for (const seq of taken.spaced) this.#spaced.add(seq);
    this.#drop(taken);
    this.textFilter.added(taken.first, records.length, matches);
    const reason = taken.rejected[0]?.reason;
    if (reason) this.notice.set(`${taken.rejected.length} records were rejected: ${reason}`);
  }

  #drop(dropped: Dropped): void {
    for (const seq of dropped.rows) {
      this.#records.delete(seq);
      this.#spaced.delete(seq);
    }
    for (const seq of dropped.texts) {
      const record = this.#records.get(seq);
      this.#spaced.delete(seq);
      if (!record) continue;
      // `omitted` counts the missing characters, as in the record of a text that a tap has cut.
      const { text = "", base64, ...rest } = record;
      const omitted = (rest.omitted ?? 0) + (base64 === undefined ? text.length : 0);
      this.#records.set(seq, omitted ? { ...rest, omitted } : rest);
    }
  }

  // --------------------------------------------------------------------- filter

  setFilter(next: FilterState): void {
    const before = this.filter.value;
    this.core.setFilter({
      method: next.method,
      id: next.id,
      text: next.text.trim() !== "",
      tab: next.tab,
      links: next.links.length ? next.links : null,
      errorsOnly: next.errorsOnly,
      invalidOnly: next.invalidOnly,
      pendingOnly: next.pendingOnly,
    });
    if (next.text !== before.text || next.isRegex !== before.isRegex) this.textFilter.set(next.text, next.isRegex);
    this.filter.set(next);
    this.#changeList();
  }

  counts(): Counts {
    return this.core.counts();
  }

  totals(): Totals {
    return this.core.totals();
  }

  setPaused(isPaused: boolean): void {
    if (isPaused) this.core.pause();
    else this.core.resume();
    this.isPaused.set(isPaused);
    this.#changeList();
  }

  // ---------------------------------------------------------------------- masks

  /** Returns a text as it is shown: with the values of secrets replaced, unless the user has revealed them. */
  shown(text: string): string {
    return this.isRevealed.value ? text : masked(text, this.maskNames.value);
  }

  // ---------------------------------------------------------------- export, import

  /** Returns the name and the parts of a file with the shown rows, or undefined if no row is shown. */
  async exportShown(
    format: NonNullable<ExportOptions["format"]>,
  ): Promise<(FileParts & { readonly name: string }) | undefined> {
    const masks = this.isRevealed.value ? null : { names: this.maskNames.value };
    const { method, id, text } = this.filter.value;
    const name = exportName(nowMicros(), { method, id, text }, format);
    const file = await writeFile(this.core.shown(), (seq) => this.recordOf(seq), { format, masks });
    return file.rows ? { name, ...file } : undefined;
  }

  /** Takes the records of a file in. Sets `notice`. */
  importText(name: string, text: string): void {
    const { format, lines, problems, notes } = importFile(text);
    const records = lines
      ? lines
          .split("\n")
          .filter(Boolean)
          .map((line) => JSON.parse(line) as TapRecord)
      : [];
    this.take(records);
    const problem = problems[0]
      ? `; ${problems.length} problems, the first in line ${problems[0].line}: ${problems[0].reason}`
      : "";
    const note = notes.length ? `; ${notes.join("; ")}` : "";
    this.notice.set(
      format === "unknown"
        ? `${name} has no records of a tap, no HAR and no lines of lsp-devtools${problem}`
        : `${records.length} records of ${name}${problem}${note}`,
    );
  }

  // ------------------------------------------------------------------- changes

  #changeList(): void {
    this.list.set(this.list.value + 1);
  }

  #changeSummary(): void {
    this.#summaryTimer ??= setTimeout(() => {
      // If a frame that takes records is scheduled, a change of the summary now would delay this frame.
      if (this.#isScheduled) this.#isSummaryDue = true;
      else this.#setSummary();
    }, SUMMARY_MS);
  }

  #setSummary(): void {
    this.#isSummaryDue = false;
    this.#summaryTimer = undefined;
    this.#linkNames = this.core.links().map(({ name }) => name);
    this.summary.set(this.summary.value + 1);
  }
}

/** Returns the text with each secret replaced. The text remains JSON. */
export function masked(text: string, names: readonly string[]): string {
  if (!mayHaveSecret(text, names)) return text;
  const spans = maskSpans(text, { names });
  if (!spans.length) return text;
  let out = "";
  let at = 0;
  for (let index = 0; index + 1 < spans.length; index += 2) {
    const [start = 0, end = 0] = [spans[index], spans[index + 1]];
    out += `${text.slice(at, start)}"***"`;
    at = end;
  }
  return out + text.slice(at);
}

/** Returns whether a text may have a secret. This is much faster than the search for the spans of secrets. */
function mayHaveSecret(text: string, names: readonly string[]): boolean {
  // Patterns and escapes could describe any name.
  if (names.some((name) => name.includes("*"))) return true;
  const words = names.map((name) => name.replace(/[^\p{L}\p{N}]/gu, "\\$&"));
  return new RegExp(["password|token|secret|authorization|\\\\u", ...words].join("|"), "i").test(text);
}

/** Calls `run` in the next frame, or after a delay if the page is hidden before this frame. */
function requestFrame(run: () => void): void {
  let isDone = false;
  const once = () => {
    if (isDone) return;
    isDone = true;
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    run();
  };
  const frame = requestAnimationFrame(once);
  const timer = setTimeout(once, HIDDEN_FRAME_MS * 2);
}
