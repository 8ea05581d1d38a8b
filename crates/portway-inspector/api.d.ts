// The core of the inspector, as `cargo xtask build --only inspector` writes it to www/inspector/core: `inspector.js`,
// `inspector_bg.wasm`, and this file as `inspector.d.ts`.
//
// The core decides everything about messages except their texts: which rows exist, which response belongs to which
// request, which faults a message has, which rows a filter shows, and where each row is in the list. It reads the text
// of a record once, in `take`, and does not store it. The page stores the texts by the sequence numbers of the rows,
// and removes the texts that `Dropped` names.
//
// Times are integers in microseconds since 1970-01-01 UTC, as in a record. Durations are in microseconds, too. Lengths
// on the screen are in CSS pixels. A function throws only if an argument has a wrong type. No record makes a function
// throw.
//
// The usual cycle of the page, once per frame:
//
//   const taken = core.take(queue);           // all records since the last frame
//   store(queue, taken);                      // adds texts by `taken.first + index`; then removes dropped texts
//   list.scrollTop = following ? core.end(viewport) : core.scrollTop(anchor, viewport);
//   const layout = core.layout(list.scrollTop, viewport);
//   draw(layout.rows);                        // each at its `top`, inside an element of the height `layout.height`
//   anchor = layout.anchor;

/** Loads the wasm from `input`, or without `input` from the file `inspector_bg.wasm` beside this module. */
export default function init(input?: {
  module_or_path: URL | string | Response | BufferSource | WebAssembly.Module;
}): Promise<unknown>;

/** Starts the wasm from its bytes or its compiled module. */
export function initSync(input: { module: BufferSource | WebAssembly.Module }): unknown;

// ------------------------------------------------------------------ records

export type Direction = "sent" | "received";

/** A record of a tap, as docs/tap.md describes it. The core ignores members that it does not know. */
export interface TapRecord {
  readonly kind: "open" | "message" | "invalid" | "gap" | "close";
  readonly at: number;
  readonly link: string;
  readonly name?: string;
  readonly transport?: string;
  readonly direction?: Direction;
  readonly form?: "text" | "value";
  readonly text?: string;
  readonly size?: number;
  readonly group?: number;
  readonly transfer?: number;
  readonly omitted?: number;
  readonly base64?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly messages?: number;
  readonly bytes?: number;
}

/** Rows and texts that left the history. The page removes the texts of both lists. */
export interface Dropped {
  /** The sequence numbers of rows that left the history, ascending. */
  readonly rows: Float64Array;
  /** The sequence numbers of rows that stay without their texts, ascending. */
  readonly texts: Float64Array;
}

export interface Taken extends Dropped {
  /** The sequence number of the first record. The record at `index` has the number `first + index`. */
  readonly first: number;
  /** The elements of `records` that are not valid records. They have no rows. All other elements have rows. */
  readonly rejected: readonly { readonly index: number; readonly reason: string }[];
  /**
   * The sequence numbers of texts with whitespace between their tokens. The text filter is for compact JSON, so the
   * page searches `compact(text)` instead of these texts. It searches all other texts as they are.
   */
  readonly spaced: Float64Array;
}

// ------------------------------------------------------------------ history

export interface Options {
  /** Maximum number of rows, from 0 to 1 000 000. Default: 2 000. */
  limit: number;
  /** Maximum size of all texts together, in bytes of UTF-8. Default: 64 MiB. The oldest texts are dropped first. */
  bytes: number;
  /** Whether rows with a pending call are dropped last. Default: true. */
  preferPending: boolean;
  /** Whether rows with a batch are dropped last. Default: false. */
  preferBatches: boolean;
  /** The number of rows that are dropped at a time if only rows to drop last remain. Default: 1. */
  dropChunkSize: number;
  /** `heuristic`: long messages, large batches and findings make a row higher. `fixed`: all rows are equally high. */
  rowHeight: "heuristic" | "fixed";
  /** The height of the header of a time bucket. Default: 28. */
  headerHeight: number;
  /** The height of a row. `heuristic` may increase it. Default: 88. */
  messageHeight: number;
  /** The largest value of `Layout.height`. Default: 15 000 000, because browsers limit the height of an element. */
  maxHeight: number;
  /**
   * The error codes of a profile by their names, for example the exports `wiggum` or `kaiak` of `portway`. Set them if
   * the user has chosen the profile. Codes and ranges of the specification always have names. Default: `{}`.
   */
  codeNames: Readonly<Record<string, number>>;
  /** `all`: a response array answers a batch if it has all pending ids of the batch; `any`: if it has one of them. */
  batchMatch: "all" | "any";
}

// --------------------------------------------------------------------- rows

export type Kind =
  | "request"
  | "notification"
  | "result"
  | "error"
  | "batch"
  /** Bytes or text that are not JSON, or JSON that is not a message. */
  | "invalid"
  /** A message whose text was cut before its kind was clear. */
  | "cut"
  | "open"
  | "close"
  | "gap";

export interface Row {
  readonly seq: number;
  readonly at: number;
  /** The index of the link in `links()`. */
  readonly link: number;
  /** Null for `open` and `close`. */
  readonly direction: Direction | null;
  readonly kind: Kind;
  /** The method, or the method of the call that this response ends. At most 200 characters. */
  readonly method: string | null;
  /** The id as JSON, for example `1`, `"1"` or `null`. At most 130 characters. Null if there is none. */
  readonly id: string | null;
  /** The size of the message, or of all messages in a gap, in bytes. Null if it is unknown. */
  readonly size: number | null;
  /** The number of messages in a batch or in a gap. Otherwise 0. */
  readonly items: number;
  /** The code of an error, or the code of a close. */
  readonly code: number | null;
  /** The duration from a request to its response. Both rows have it. */
  readonly elapsed: number | null;
  /**
   * The state of the calls in this row. `pending`: a call has no response yet. `answered`: all calls have one.
   * `ended`: the link closed before all responses arrived. `none`: the row has no calls.
   */
  readonly calls: "none" | "pending" | "answered" | "ended";
  /** Whether no call waited for this response. */
  readonly unmatched: boolean;
  /** Whether a finding about the message, or a fault of the row, is an error. */
  readonly hasErrors: boolean;
  /** Whether a finding about the message, or a fault of the row, is a warning. */
  readonly hasWarnings: boolean;
  /** Whether the text is not the whole message. */
  readonly isCut: boolean;
  /** Whether the text is still in the history. */
  readonly hasText: boolean;
}

/** One row of the list as drawn: the header of a time bucket, or a message. */
export type ListRow = ListHeader | (Row & ListPlace & { readonly type: "message" });

export interface ListPlace {
  /** The index in the list, including headers. */
  readonly index: number;
  /** The distance from the top of the element that contains the rows. */
  readonly top: number;
  readonly height: number;
}

export interface ListHeader extends ListPlace {
  readonly type: "header";
  /** `0-1s`, `1-2s`, `2-5s`, `5-10s`, `10-30s`, `30-60s` or `60s+`: the time since the first record after `clear`. */
  readonly bucket: string;
}

/** A place in the list that does not move if rows are added or dropped. */
export interface Anchor {
  /** The sequence number of the row at the top of the viewport. */
  readonly seq: number;
  /** The distance from the top of this row to the top of the viewport. */
  readonly delta: number;
}

export interface Layout {
  /** The height for the element that contains the rows: at most `Options.maxHeight`. */
  readonly height: number;
  /** The number of rows in the list, including headers. */
  readonly count: number;
  /** The number of pixels of the list that one pixel of scrolling passes: 1, or more if the list is too high. */
  readonly scale: number;
  /** The rows in the viewport, and up to five before and after it. */
  readonly rows: readonly ListRow[];
  /** Null if the list is empty. */
  readonly anchor: Anchor | null;
  /** Whether the viewport shows the end of the list. */
  readonly isAtEnd: boolean;
}

/** The detail of one row. */
export interface Detail extends Row {
  /**
   * The row of the response to this request, or of the request of this response. A batch and its response array are
   * partners in the same way. Null for a row without a partner, and if the row of the partner has left the history.
   */
  readonly partner: number | null;
  /** The messages of a batch: at most 1 000. Empty if the text has left the history. */
  readonly batch: readonly Item[];
  /** The previous calls of the same method on this link, newest first: at most 20. */
  readonly earlier: readonly number[];
  /** The name of the error code, for example `Invalid params` or `reserved server range`. */
  readonly codeName: string | null;
  /**
   * Faults that follow from other rows: a response that no call waited for, a call that ended without a response, an
   * id that is already pending. `findings` returns the findings about the message itself.
   */
  readonly faults: readonly Fault[];
}

/** One message of a batch. */
export interface Item {
  readonly kind: Kind;
  readonly method: string | null;
  readonly id: string | null;
  readonly code: number | null;
  readonly calls: "none" | "pending" | "answered" | "ended";
  readonly unmatched: boolean;
  /** The row of the response or of the request, as in `Detail`. */
  readonly partner: number | null;
  readonly elapsed: number | null;
}

export interface Fault {
  readonly severity: "error" | "warning";
  readonly text: string;
  /** The row that the text refers to. */
  readonly seq: number | null;
}

// ---------------------------------------------------- links, calls, methods

export interface Link {
  readonly index: number;
  readonly id: string;
  /** The name for people. The id if no record has a name. */
  readonly name: string;
  readonly transport: string | null;
  /** `unknown` until the first `open` or `close` record. */
  readonly state: "unknown" | "open" | "closed";
  /** The time of the last `open` record. */
  readonly openedAt: number | null;
  /** The time, the code and the reason of the last `close` record. */
  readonly closedAt: number | null;
  readonly closeCode: number | null;
  readonly closeReason: string | null;
  /** The number of `open` records after the first. */
  readonly reconnects: number;
  readonly sent: { readonly messages: number; readonly bytes: number };
  readonly received: { readonly messages: number; readonly bytes: number };
  /** The number of rows with an error: error responses, invalid messages, and faults. */
  readonly errors: number;
  /** The number of calls that are pending. */
  readonly pending: number;
  /** The number of responses that no call waited for. */
  readonly unmatched: number;
  /** The number of messages that the tap did not record. */
  readonly lost: number;
  /** The duration of the last answered call, and the median of all answered calls. Null without an answered call. */
  readonly lastElapsed: number | null;
  readonly medianElapsed: number | null;
  /** The time of the last record. */
  readonly lastAt: number;
}

export interface PendingCall {
  readonly seq: number;
  /** The index in its batch, or null. */
  readonly item: number | null;
  readonly link: number;
  readonly direction: Direction;
  readonly method: string;
  readonly id: string;
  readonly at: number;
  /** `now` minus `at`, at least 0. */
  readonly age: number;
}

export interface MethodStatistics {
  /** The method. `null` combines the methods that are not among the first 1 000 pairs of a link and a method. */
  readonly method: string | null;
  /** Calls, without notifications. */
  readonly calls: number;
  readonly notifications: number;
  /** Calls that ended with an error. */
  readonly errors: number;
  readonly pending: number;
  /** Calls that the close of a link ended. */
  readonly ended: number;
  /** Durations of answered calls, with an error of at most 1 %; `longest` is exact. Null without an answered call. */
  readonly median: number | null;
  readonly p95: number | null;
  readonly longest: number | null;
  /** The bytes of requests, notifications and responses, without those of batches. */
  readonly bytes: number;
}

/** Figures of the whole history. */
export interface Totals {
  /** Rows in the history. */
  readonly rows: number;
  /** Rows that the filter shows. */
  readonly shown: number;
  /** Rows that arrived during a pause. `resume` shows them. */
  readonly waiting: number;
  /** The bytes of the texts that are in the history. */
  readonly textBytes: number;
  /** Four counts since `clear`: records taken in, rows dropped, texts dropped, messages that taps did not record. */
  readonly taken: number;
  readonly droppedRows: number;
  readonly droppedTexts: number;
  readonly lost: number;
  readonly pending: number;
  readonly unmatched: number;
  /** Changes whenever the list changes. */
  readonly revision: number;
}

// ------------------------------------------------------------------- filter

/** A member that is absent, null or blank selects every row. Values are not trimmed. */
export interface Filter {
  /** A part of the method of the row, in upper or lower case. The methods inside batches are not searched. */
  method?: string | null;
  /** The whole id as text: `1` matches the ids 1 and "1", but not 11. The ids inside batches match, too. */
  id?: string | null;
  /**
   * Whether only rows with a text match are shown. The page searches the texts, and passes the matches to
   * `setTextMatches` and, for new records, to `take`.
   */
  text?: boolean;
  /** The tab of the list. */
  tab?: "all" | "sent" | "received" | "notifications" | "errors";
  /** Indexes of links. Null or empty selects all. */
  links?: readonly number[] | null;
  /** Kinds of rows. Null or empty selects all. */
  kinds?: readonly Kind[] | null;
  errorsOnly?: boolean;
  /** Only rows that are invalid, or that have an error of the validator. */
  invalidOnly?: boolean;
  pendingOnly?: boolean;
}

/** The number of rows of each tab: rows that the filter would show with this tab. */
export interface Counts {
  readonly all: number;
  readonly sent: number;
  readonly received: number;
  readonly notifications: number;
  readonly errors: number;
}

/** Returns the members of both filters. If both have a member, that of the preset is used. */
export function mergeFilters(filter: Filter, preset: Filter): Filter;

// -------------------------------------------------------------------- class

export class Inspector {
  constructor(options?: Partial<Options>);
  /** Releases the memory. Do not use the object after this call. */
  free(): void;

  /**
   * Takes records in, in their order. Each valid record gets a row. Requests are linked with their responses.
   *
   * `matches` has a byte for each record: 1 if its text matches the text filter. Without `matches`, no text matches.
   */
  take(records: readonly TapRecord[], matches?: Uint8Array): Taken;
  /** Removes all rows, pending calls and statistics. Links stay, with counts of 0. Sequence numbers continue. */
  clear(): void;
  options(): Options;
  /** Sets options. A reduced limit drops rows and texts at once. A value out of range becomes the nearest valid one. */
  configure(options: Partial<Options>): Dropped;

  setFilter(filter: Filter): void;
  /** Replaces the text matches of all rows. Sequence numbers without a row are ignored. */
  setTextMatches(seqs: Float64Array): void;
  counts(): Counts;
  totals(): Totals;
  /** Until `resume`, new rows are not shown. Rows that leave the history still leave the list. */
  pause(): void;
  resume(): void;

  /** Returns the rows to draw. */
  layout(scrollTop: number, viewport: number): Layout;
  /** Returns the `scrollTop` that shows the same rows as at the time of the anchor. */
  scrollTop(anchor: Anchor, viewport: number): number;
  /** Returns the `scrollTop` that shows the end of the list. */
  end(viewport: number): number;
  /** Returns the `scrollTop` for a row at `align` of the viewport, 0 (top) to 1 (bottom). Null for a hidden row. */
  reveal(seq: number, viewport: number, align: number): number | null;
  /**
   * Sets measured heights of rows. `heights` has one for each of `seqs`. If `rowHeight`, `messageHeight` or the width
   * of the list changes, the heights are not valid anymore: then call `forgetHeights`.
   */
  setHeights(seqs: Float64Array, heights: Float64Array): void;
  forgetHeights(): void;

  /** Returns the row, or null. */
  row(seq: number): Row | null;
  /** Returns up to `count` rows of the list from `index` on, without headers, for example for a sequence diagram. */
  rows(index: number, count: number): Row[];
  /** Returns the message `by` messages after `seq`, or else the last or first message. Null if the list is empty. */
  step(seq: number, by: number): number | null;
  first(): number | null;
  last(): number | null;
  detail(seq: number): Detail | null;
  /** Returns the sequence numbers of all shown rows, ascending: the rows of an export. */
  shown(): Float64Array;
  /** Returns the sequence numbers of all rows that have a text, ascending: the texts of a search. */
  searchable(): Float64Array;

  links(): Link[];
  /** Returns the pending calls, oldest first: at most `count`. */
  pending(now: number, count: number): PendingCall[];
  /** Returns the newest responses that no call waited for: at most `count`, newest first. */
  unmatched(count: number): Row[];
  /** Returns the statistics of all links, or of one. The method with the most calls is the first. */
  statistics(link?: number | null): MethodStatistics[];
}

// ---------------------------------------------------------------- functions

/** A finding of the validator about a text. */
export interface Finding {
  readonly severity: "error" | "warning";
  /** The text, for example `[Item 1] Missing required "method" field`. */
  readonly text: string;
  /** The index of the faulty message in its batch. Null if the finding is not about a message of a batch. */
  readonly item: number | null;
}

/** Validates a text. Text that is not JSON has one finding. */
export function findings(text: string): Finding[];

/** Removes whitespace between tokens. Numbers, escapes and the order of members stay as they are. */
export function compact(text: string): string;

export interface Masks {
  /**
   * Names of members, in upper or lower case, in addition to `password`, `token`, `secret` and `authorization`. `*`
   * stands for any characters.
   */
  names?: readonly string[];
}

/**
 * Returns the parts of a text to mask, as pairs of start and end in UTF-16 units: the values of members with the name
 * of a secret, and strings in arrays if they begin with `token:`. The text may also be cut JSON, or lines of headers.
 */
export function maskSpans(text: string, masks?: Masks): Uint32Array;

/** Returns the text with each part of `maskSpans` replaced by the string `***`. JSON remains JSON. */
export function mask(text: string, masks?: Masks): string;

/** The options of an export. A file of either format can be imported again without a loss. */
export interface ExportOptions {
  /**
   * `json`: an array with one record per line, where each record also has its time in ISO 8601 as `time`. `jsonl`: one
   * record per line, as docs/tap.md describes. Default: `json`.
   */
  format?: "json" | "jsonl";
  /** Masks the texts. Null exports them as they are. Default: `{}`, which masks the usual names. */
  masks?: Masks | null;
}

/** Returns records as a file. */
export function exportRecords(records: readonly TapRecord[], options?: ExportOptions): string;

/**
 * Returns the name of an export: `messages-<time>.json`, or with a filter, for example
 * `messages-filtered-method-user-<time>.json`. The method has precedence over the id, and the id over the text. The
 * value in the name has only letters a to z, digits and hyphens, and at most 64 characters.
 */
export function exportName(
  at: number,
  filter?: { readonly method?: string | null; readonly id?: string | null; readonly text?: string | null },
  format?: "json" | "jsonl",
): string;

export interface Imported {
  /** The format of the file. `unknown` if no line is a record. */
  readonly format: "records" | "har" | "lsp-devtools" | "unknown";
  /** The records, as lines of JSON. `JSON.parse` each line, and pass the records to `take`. */
  readonly lines: string;
  /** Lines of the file, or entries of a HAR, that are not records: at most 1 000. `lines` does not contain them. */
  readonly problems: readonly { readonly line: number; readonly reason: string }[];
  /** Facts about the whole file, for example that it has no times. */
  readonly notes: readonly string[];
}

/** Reads a file: records of a tap, a HAR with WebSocket messages, or lines of `lsp-devtools record`. */
export function importFile(text: string): Imported;
