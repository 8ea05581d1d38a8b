import type { PreviewFrameApi, PreviewHostApi } from "portway";

/** The member `config` of `build`, for the worker of this playground. */
export interface BuildConfig {
  /** Folder of the project in the file system. */
  readonly root: string;
  /** Folder of files that are copied as they are, relative to the root. */
  readonly public: string;
  /** Names in the project's code, and their replacements. */
  readonly define: Record<string, string>;
}

/** The methods of the preview's iframe: the contract of the package, and moves in its history. */
export interface FrameApi extends PreviewFrameApi {
  traverse: { params: { delta: number }; result: null };
}

/**
 * The methods of the page for the preview's iframe: the contract of the package, and storage of the history while a
 * document replaces another. A document with an opaque origin has no storage of its own.
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
  /** Moves between entries of one document do not reload it. */
  readonly document: number;
}
