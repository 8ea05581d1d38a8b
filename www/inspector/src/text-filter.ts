import { compact, type Inspector } from "portway-inspector";
import { RegexWorker } from "./regex-worker-client";
import { Store } from "../../src/store";

/** The time in milliseconds that a search may take in one turn. */
const SLICE_MS = 8;
/** The length of the texts that are sent to the worker at a time, in UTF-16 units. */
const WORKER_CHUNK = 1 << 20;

export interface TextFilterSource {
  /** Returns the text of a row, or undefined if the row has none. */
  textOf(seq: number): string | undefined;
  isSpaced(seq: number): boolean;
}

/**
 * Finds the rows whose texts match, and passes them to the core. The filter for a part of a text ignores the case, and
 * compares compact JSON. A regular expression is tested in a worker, because it may take any time.
 */
export class TextFilter {
  /** The fault of the regular expression, or undefined. */
  readonly fault = new Store<string | undefined>(undefined);
  readonly #core: Inspector;
  readonly #source: TextFilterSource;
  readonly #changed: () => void;
  #part = "";
  #worker: RegexWorker | undefined;
  #matches: number[] = [];
  /** The rows that the worker or the running search has not tested yet. */
  #untested: number[] = [];
  #run = 0;

  constructor(core: Inspector, source: TextFilterSource, changed: () => void) {
    this.#core = core;
    this.#source = source;
    this.#changed = changed;
  }

  /** Starts the search for a text. A blank text ends it. */
  set(text: string, isRegex: boolean): void {
    this.#run += 1;
    this.#worker?.stop();
    this.#worker = undefined;
    this.#part = "";
    this.#matches = [];
    this.#untested = [];
    this.fault.set(undefined);
    if (!text.trim()) return;
    this.#untested = Array.from(this.#core.searchable());
    if (isRegex) this.#startWorker(text);
    else {
      this.#part = text.toLowerCase();
      this.#searchSlice(this.#run, 0);
    }
  }

  /** Returns a byte for each text: 1 if it matches. Undefined if no part of a text is searched. */
  test(texts: readonly (string | undefined)[]): Uint8Array | undefined {
    if (!this.#part) return undefined;
    const matches = new Uint8Array(texts.length);
    texts.forEach((text, index) => {
      // Only compact JSON can match, and `compact` leaves other text as it is.
      if (text !== undefined && this.#hasPart(/[ \t\r\n]/.test(text) ? compact(text) : text)) matches[index] = 1;
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
    }
  }

  #hasPart(text: string): boolean {
    return text.toLowerCase().includes(this.#part);
  }

  /** Tests rows until the time of the slice has passed. The first slice runs at once, so that a short list is ready. */
  #searchSlice(run: number, from: number): void {
    if (run !== this.#run) return;
    const deadline = performance.now() + SLICE_MS;
    const { length } = this.#untested;
    for (let at = from; at < length; at += 1) {
      if (at > from && at % 64 === 0 && performance.now() >= deadline) {
        setTimeout(() => this.#searchSlice(run, at));
        return;
      }
      const seq = this.#untested[at] ?? 0;
      const text = this.#source.textOf(seq);
      if (text !== undefined && this.#hasPart(this.#source.isSpaced(seq) ? compact(text) : text))
        this.#matches.push(seq);
    }
    this.#untested = [];
    this.#publish();
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

  #isFeeding = 0;

  async #feed(): Promise<void> {
    const run = this.#run;
    if (this.#isFeeding === run) return;
    this.#isFeeding = run;
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
    }
    if (run !== this.#run) return;
    this.#isFeeding = 0;
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
    this.#core.setTextMatches(Float64Array.from(this.#matches));
    this.#changed();
  }
}
