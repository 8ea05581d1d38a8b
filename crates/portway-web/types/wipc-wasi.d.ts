// The declarations of `portway/wipc/wasi`: a WASI guest in a worker of a browser.

/** The address of a script: a `URL`, or a `TrustedScriptURL` where the page requires Trusted Types. */
export interface ScriptAddress {
  toString(): string;
  toJSON(): string;
}

/** Options of `startWasiGuest`. */
export interface WasiGuestOptions {
  /** The guest's arguments after the name of the program, which is `guest`. */
  args?: readonly string[] | undefined;
  /** The guest's environment. Default: empty. */
  env?: Readonly<Record<string, string>> | undefined;
  /**
   * The address of the worker script, `wasi-worker.js` of this package. Default: beside this module. Vite and webpack
   * put the script there; with another bundler, copy it. The address must have the page's origin, or be a `blob:` URL
   * of this origin.
   */
  worker?: string | ScriptAddress | undefined;
  /** Called with each piece of text that the guest writes to stderr. Default: logs its lines with `console.error`. */
  onStderr?: ((text: string) => void) | undefined;
  /** The capacity of stdin, in bytes. Writing waits while stdin is full. Default 65 536. */
  stdinCapacity?: number | undefined;
  /** The longest time for the worker to load and start, in ms. Default 10 000; `0` and `Infinity` = no limit. */
  startTimeout?: number | undefined;
  /** Aborts the start, which rejects with `signal.reason`, or kills the running guest. */
  signal?: AbortSignal | undefined;
}

/** The outcome of a guest: its exit code, or an error if the guest trapped or was killed, or if its worker failed. */
export type WasiExit =
  | { readonly code: number; readonly error?: undefined }
  | { readonly code?: undefined; readonly error: Error };

/** A running guest. */
export interface WasiGuest {
  /**
   * The guest's stdout. The stream ends after the last byte, even if the guest has failed or was killed. As with a
   * pipe, the guest is blocked while 1 MiB of its output is unread. Once the stream is cancelled, output is discarded.
   */
  readonly readable: ReadableStream<Uint8Array>;
  /** The guest's stdin. The bytes of a view or a buffer are copied. Closing or aborting the stream ends the input. */
  readonly writable: WritableStream<ArrayBufferView | ArrayBuffer>;
  /** Resolves when the guest has ended. Does not reject. */
  readonly exited: Promise<WasiExit>;
  /**
   * Ends the guest at once. Its output can still be read. If the guest was in an endless loop without any call, WebKit
   * keeps a core busy until the page is left.
   */
  kill(): void;
}

/**
 * Starts a WASI preview 1 command in its own worker, and resolves when it runs. The command has arguments, an
 * environment, clocks, random numbers and three standard streams. It has neither files nor sockets.
 *
 * The page must be cross-origin isolated: the page and the worker script are served with
 * `Cross-Origin-Embedder-Policy: require-corp`, and the page also with `Cross-Origin-Opener-Policy: same-origin`.
 *
 * Rejects with an `Error` if the page is not isolated, or if the module or the worker script cannot be loaded. It also
 * rejects with an `Error` if the worker does not start in time. Rejects with a `TypeError` if the module is not a
 * command, and with a `TypeError` or `RangeError` for invalid options. Also rejects with `signal.reason` and with the
 * errors of `WebAssembly.compile`.
 */
export function startWasiGuest(
  module: WasiModule | PromiseLike<WasiModule>,
  options?: WasiGuestOptions,
): Promise<WasiGuest>;

/** The module of a guest: a compiled module, its bytes, its address, or a response with its bytes. */
export type WasiModule = (object & WebAssembly.Module) | ArrayBufferView | ArrayBuffer | URL | string | Response;
