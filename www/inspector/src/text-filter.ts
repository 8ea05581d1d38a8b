import { compact, type Inspector, type TapRecord } from "portway-inspector";
import { nextTask } from "./next-task";
import { SubstringMatcher } from "./substring-matcher";
import { RegexWorker } from "./regex-worker-client";
import { Store } from "../../src/store";

/** The time in milliseconds that a search may take in one turn. The rest of a frame is for its drawing. */
const SLICE_MS = 12;
/** If there are fewer matches than this number, the matches of dropped rows are not removed. */
const MIN_PRUNED = 10_000;
/** The minimum number of texts from which the rarest character of a substring is chosen. */
const SAMPLES = 64;
/** The length of the beginning of each of these texts, in UTF-16 units. */
const SAMPLE_LENGTH = 2048;
/** The length of the texts that are sent to the worker at a time, in UTF-16 units. */
const WORKER_CHUNK = 1 << 20;

export interface TextFilterSource {
  /** Returns the text of a row, or undefined if the row has none. */
  textOf(seq: number): string | undefined;
  isSpaced(seq: number): boolean;
}

/**
 * Finds the rows whose texts match, and passes them to the core. The filter for a substring ignores the case, and
 * compares compact JSON. A regular expression is tested in a worker, because it may take any time.
 */
export class TextFilter {
  /** The fault of the regular expression, or undefined. */
  readonly fault = new Store<string | undefined>(undefined);
  readonly #core: Inspector;
  readonly #source: TextFilterSource;
  readonly #changed: () => void;
  #substring: SubstringMatcher | undefined;
  #worker: RegexWorker | undefined;
  #matches: number[] = [];
  /** The rows that the worker has not tested yet. */
  #untested: number[] = [];
  /** The text of the last search without a regular expression, if this search has ended. */
  #searched: string | undefined;
  /** The number of the current search. */
  #run = 0;
  /** With more matches than this number, the matches of dropped rows are removed. */
  #pruneAt = MIN_PRUNED;

  constructor(core: Inspector, source: TextFilterSource, changed: () => void) {
    this.#core = core;
    this.#source = source;
    this.#changed = changed;
  }

  /** Ends the current search, and starts a search for a text. A blank text starts no search. */
  set(text: string, isRegex: boolean): void {
    this.#run += 1;
    this.#worker?.stop();
    this.#worker = undefined;
    this.#substring = undefined;
    // If the new text contains the text of the last search, only rows that matched that text can match.
    const isLonger = !isRegex && this.#searched !== undefined && text.includes(this.#searched);
    const candidates = isLonger ? this.#matches : undefined;
    this.#searched = undefined;
    this.#matches = [];
    this.#untested = [];
    this.fault.set(undefined);
    if (!text.trim()) return;
    if (isRegex) {
      this.#untested = Array.from(this.#core.searchable());
      this.#startWorker(text);
    } else {
      const seqs = candidates ?? this.#core.searchable();
      this.#substring = new SubstringMatcher(text, this.#sample(seqs));
      this.#searchSlice(text, this.#substring, seqs, 0);
    }
  }

  /**
   * Returns a byte for each record: 1 if its text matches. Returns undefined if the filter is empty. Also returns
   * undefined if the filter is a regular expression, because the worker tests the records later.
   */
  test(records: readonly TapRecord[]): Uint8Array | undefined {
    const substring = this.#substring;
    if (!substring) return undefined;
    const matches = new Uint8Array(records.length);
    records.forEach(({ text }, index) => {
      // The filter is for compact JSON. A text without whitespace is compact, and is not converted.
      if (text !== undefined && substring.test(text, /[ \t\r\n]/.test(text))) matches[index] = 1;
    });
    return matches;
  }

  /** Adds new rows. `matches` is the result of `test` for them. */
  added(first: number, length: number, matches: Uint8Array | undefined): void {
    if (this.#worker) {
      for (let index = 0; index < length; index += 1) this.#untested.push(first + index);
      void this.#feed();
    } else if (matches) {
      for (let index = 0; index < length; index += 1) if (matches[index]) this.#matches.push(first + index);
      this.#prune();
    }
  }

  /** Removes the matches of rows that have left the history, whenever the number of matches has doubled. */
  #prune(): void {
    if (this.#matches.length <= this.#pruneAt) return;
    this.#matches = this.#matches.filter((seq) => this.#source.textOf(seq) !== undefined);
    this.#pruneAt = Math.max(MIN_PRUNED, 2 * this.#matches.length);
  }

  /**
   * Tests rows until the time of the slice has passed. The first slice runs at once, so that the result for a short
   * list is ready when this function returns.
   */
  #searchSlice(searched: string, substring: SubstringMatcher, seqs: ArrayLike<number>, from: number): void {
    // Another search has begun.
    if (substring !== this.#substring) return;
    const deadline = performance.now() + SLICE_MS;
    const { length } = seqs;
    for (let at = from; at < length; at += 1) {
      if (at > from && at % 64 === 0 && performance.now() >= deadline) {
        nextTask(() => this.#searchSlice(searched, substring, seqs, at));
        return;
      }
      const seq = seqs[at] ?? 0;
      const text = this.#source.textOf(seq);
      if (text !== undefined && substring.test(text, this.#source.isSpaced(seq))) this.#matches.push(seq);
    }
    this.#searched = searched;
    this.#publish();
  }

  /** Returns the beginnings of the texts of rows at equal distances. */
  #sample(seqs: ArrayLike<number>): string[] {
    const step = Math.max(1, Math.floor(seqs.length / SAMPLES));
    const texts: string[] = [];
    for (let at = 0; at < seqs.length; at += step) {
      const text = this.#source.textOf(seqs[at] ?? 0);
      if (text !== undefined) texts.push(text.slice(0, SAMPLE_LENGTH));
    }
    return texts;
  }

  #startWorker(pattern: string): void {
    try {
      this.#worker = new RegexWorker(pattern);
    } catch (error) {
      this.fault.set(error instanceof Error ? error.message : String(error));
      this.#publish();
      return;
    }
    void this.#feed();
  }

  /** The number of the search whose rows are being tested by the worker, or 0. */
  #feedingRun = 0;

  async #feed(): Promise<void> {
    const run = this.#run;
    if (this.#feedingRun === run) return;
    this.#feedingRun = run;
    while (run === this.#run && this.#worker && this.#untested.length) {
      const { seqs, texts } = this.#nextChunk();
      let matches: Uint8Array;
      try {
        matches = await this.#worker.test(texts);
      } catch (error) {
        if (run !== this.#run) return;
        this.fault.set(error instanceof Error ? error.message : String(error));
        this.#untested = [];
        this.#worker = undefined;
        break;
      }
      if (run !== this.#run) return;
      seqs.forEach((seq, index) => {
        if (matches[index]) this.#matches.push(seq);
      });
      this.#prune();
    }
    if (run !== this.#run) return;
    this.#feedingRun = 0;
    this.#publish();
  }

  #nextChunk(): { seqs: number[]; texts: string[] } {
    const seqs: number[] = [];
    const texts: string[] = [];
    let length = 0;
    let at = 0;
    for (; at < this.#untested.length && length < WORKER_CHUNK; at += 1) {
      const seq = this.#untested[at] ?? 0;
      const text = this.#source.textOf(seq);
      if (text === undefined) continue;
      const searched = this.#source.isSpaced(seq) ? compact(text) : text;
      seqs.push(seq);
      texts.push(searched);
      length += searched.length;
    }
    this.#untested = this.#untested.slice(at);
    return { seqs, texts };
  }

  #publish(): void {
    this.#core.setTextMatches(new Float64Array(this.#matches));
    this.#changed();
  }
}
