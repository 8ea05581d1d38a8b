import type { PreviewFrameApi, PreviewHostApi } from "portway";

/** The member `config` of `build`, for the worker of this playground. */
export interface BuildConfig {
  /** The folder of the project in the file system. */
  readonly root: string;
  /** The folder of files that are copied without changes, relative to `root`. */
  readonly public: string;
  /** The names in the project's code that the compiler replaces, and their replacements. */
  readonly define: Record<string, string>;
}

/**
 * The methods of the preview's iframe. The package declares all of them except `traverse`, which moves in the history.
 */
export interface FrameApi extends PreviewFrameApi {
  traverse: { params: { delta: number }; result: null };
}

/**
 * The methods of the page for the preview's iframe. The package declares all of them except `leave` and `enter`. A
 * document passes its history to `leave`, and the next document receives the history from `enter`. The documents have
 * an opaque origin, and therefore no storage.
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
  /** The number of the entry's document. A move between entries of one document does not reload it. */
  readonly document: number;
}
