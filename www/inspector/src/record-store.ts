import type { TapRecord } from "portway-inspector";

/** The number of records of one chunk. */
const CHUNK = 256;
/** The maximum number of links whose ids are shared. A further link replaces the oldest one. */
const SHARED_LINKS = 8;

interface Chunk {
  readonly records: (TapRecord | undefined)[];
  /**
   * The texts of the records. A search reads the texts without the records, which reduces the time of the search by
   * a third.
   */
  readonly texts: (string | undefined)[];
  count: number;
}

/**
 * The records of the history by their sequence numbers. A `Map` with an entry for each record would need more memory,
 * and would block the page each time that it grows.
 */
export class RecordStore {
  readonly #chunks = new Map<number, Chunk>();
  /** The ids of the links of the last records, the newest first. Most records belong to one of a few links. */
  readonly #links: string[] = [];

  get(seq: number): TapRecord | undefined {
    return this.#chunks.get(Math.floor(seq / CHUNK))?.records[seq % CHUNK];
  }

  /** Returns the text of a record, or undefined if the record is unknown or has none. */
  text(seq: number): string | undefined {
    return this.#chunks.get(Math.floor(seq / CHUNK))?.texts[seq % CHUNK];
  }

  /** Stores a record. Replaces the record with the same number. */
  set(seq: number, record: TapRecord): void {
    const number = Math.floor(seq / CHUNK);
    let chunk = this.#chunks.get(number);
    if (!chunk) {
      const empty = (): undefined[] => new Array<undefined>(CHUNK).fill(undefined);
      chunk = { records: empty(), texts: empty(), count: 0 };
      this.#chunks.set(number, chunk);
    }
    if (chunk.records[seq % CHUNK] === undefined) chunk.count += 1;
    chunk.records[seq % CHUNK] = record;
    chunk.texts[seq % CHUNK] = record.text;
  }

  /**
   * Stores a new record. Each record of a tap has its own copies of a few short strings. The store replaces the copies
   * by shared strings, because the copies of a record need as much memory as a short message.
   */
  add(seq: number, record: TapRecord): void {
    const own = record as { -readonly [Name in keyof TapRecord]: TapRecord[Name] };
    if (record.kind === "message") own.kind = "message";
    if (record.direction === "sent") own.direction = "sent";
    else if (record.direction === "received") own.direction = "received";
    if (record.form === "text") own.form = "text";
    else if (record.form === "value") own.form = "value";
    own.link = this.#sharedLink(record.link);
    this.set(seq, record);
  }

  #sharedLink(link: string): string {
    const shared = this.#links.find((each) => each === link);
    if (shared !== undefined) return shared;
    this.#links.unshift(link);
    this.#links.length = Math.min(this.#links.length, SHARED_LINKS);
    return link;
  }

  delete(seq: number): void {
    const number = Math.floor(seq / CHUNK);
    const chunk = this.#chunks.get(number);
    if (chunk?.records[seq % CHUNK] === undefined) return;
    chunk.records[seq % CHUNK] = undefined;
    chunk.texts[seq % CHUNK] = undefined;
    chunk.count -= 1;
    if (chunk.count === 0) this.#chunks.delete(number);
  }

  clear(): void {
    this.#chunks.clear();
  }
}
