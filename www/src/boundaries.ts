import type { PreviewFrameApi, PreviewHostApi } from "portway";

/** `config` of `build`, as this playground's worker understands it. */
export interface BuildConfig {
  /** Folder of the project in the file system. */
  readonly root: string;
  /** Folder of files that are copied as they are, relative to the root. */
  readonly public: string;
  /** Names in the project's code, and what they are replaced by. */
  readonly define: Record<string, string>;
}

/** What the preview's frame serves: the shipped boundary, and walking its history. */
export interface FrameApi extends PreviewFrameApi {
  traverse: { params: { delta: number }; result: null };
}

/**
 * What the page serves to the preview's frame: the shipped boundary, and keeping the history while one document gives
 * way to the next. A document without an origin has no storage of its own.
 */
export interface HostApi extends PreviewHostApi {
  leave: { params: SavedHistory; result: null };
  enter: { result: SavedHistory | null };
}

export interface SavedHistory {
  readonly entries: readonly HistoryEntry[];
  readonly index: number;
}

export interface HistoryEntry {
  readonly url: string;
  readonly state: unknown;
  /** Entries of one document are walked without loading it again. */
  readonly document: number;
}
