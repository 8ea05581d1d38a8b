import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import type { JSONRPCPeer, PreviewError } from "portway/inline";
import type { FrameApi, HostApi } from "../boundaries";
import type { FetchFile } from "./page-fetch";

interface Position {
  readonly source: string;
  readonly line: number;
  readonly column: number;
}

/** Reports uncaught errors to the page, with positions in the source files. */
export class ErrorReporter {
  readonly #peer: JSONRPCPeer<HostApi, FrameApi>;
  readonly #fetchFile: FetchFile;
  /** Maps the blob address of a script to the path of the script in the build. */
  readonly #paths = new Map<string, string>();
  /** The source maps, by the path of the script in the build. */
  readonly #maps = new Map<string, Promise<TraceMap | undefined>>();

  constructor(peer: JSONRPCPeer<HostApi, FrameApi>, fetchFile: FetchFile) {
    this.#peer = peer;
    this.#fetchFile = fetchFile;
  }

  setPath(address: string, path: string): void {
    this.#paths.set(address, path);
  }

  listen(): void {
    addEventListener("error", (event) => {
      if (!(event instanceof ErrorEvent)) return;
      // The console of the playground shows the error, so the browser need not print it.
      event.preventDefault();
      const { message, filename, lineno, colno, error } = event;
      void this.#reportAt(message, filename, lineno, colno, stackOf(error));
    });
    addEventListener("unhandledrejection", (event) => {
      event.preventDefault();
      void this.#reportRejection(event.reason);
    });
  }

  report(error: PreviewError): void {
    this.#peer.notify("error", error);
  }

  /** Reports an error with its source position. Lines and columns are counted from 1. */
  async #reportAt(message: string, file: string, line: number, column: number, stack: string): Promise<void> {
    // Browsers count the columns of error events from 1.
    const original = await this.#originalPosition(file, line, column - 1);
    const { source, line: lineno, column: colno } = original ?? { source: this.#paths.get(file) ?? file, line, column };
    this.report({ message, source, lineno, colno, stack: await this.#mapStack(stack) });
  }

  async #reportRejection(reason: unknown): Promise<void> {
    const message = `Unhandled rejection: ${reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason)}`;
    const stack = await this.#mapStack(stackOf(reason));
    this.#peer.notify("console", { level: "error", message, timestamp: Date.now(), stack });
  }

  /**
   * Replaces the positions in the app's scripts by source positions. The stacks of all browsers contain positions in
   * the format `<address>:<line>:<column>`.
   */
  async #mapStack(stack: string): Promise<string> {
    let mapped = stack;
    for (const [whole, address, line, column] of stack.matchAll(/(blob:[^\s)]+?):(\d+):(\d+)/g)) {
      const original = await this.#originalPosition(address ?? "", Number(line), Number(column) - 1);
      if (original) mapped = mapped.replaceAll(whole, `${original.source}:${original.line}:${original.column}`);
    }
    return mapped;
  }

  /** Returns the source position of a position in a script. `column` is counted from 0. */
  async #originalPosition(address: string, line: number, column: number): Promise<Position | undefined> {
    const path = this.#paths.get(address);
    if (path === undefined || line < 1) return undefined;
    const map = this.#maps.get(path) ?? this.#loadMap(path);
    this.#maps.set(path, map);
    const trace = await map;
    const original = trace && originalPositionFor(trace, { line, column: Math.max(0, column) });
    if (!original || original.source === null) return undefined;
    return { source: original.source, line: original.line, column: original.column + 1 };
  }

  async #loadMap(path: string): Promise<TraceMap | undefined> {
    const response = await this.#fetchFile(`${path}.map`).catch(() => undefined);
    return response?.ok ? new TraceMap(await response.text()) : undefined;
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error && error.stack ? error.stack : "";
}
