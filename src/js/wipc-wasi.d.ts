// `portway/wipc/wasi`: a WASI guest in a worker of a browser.

/** The address of a script: a `URL`, or a `TrustedScriptURL` where the page requires Trusted Types. */
export interface ScriptAddress {
  toString(): string;
  toJSON(): string;
}

/** Options of `startWasiGuest`. */
export interface WasiGuestOptions {
  /** The guest's arguments, behind the name of the program, which is `guest`. */
  args?: readonly string[] | undefined;
  /** The guest's environment. Default: none. */
  env?: Readonly<Record<string, string>> | undefined;
  /**
   * Where the worker's script is: `wasi-worker.js` of this package. Default: beside this module, where Vite and webpack
   * put it; with another bundler it is copied by hand. It has to be of the page's origin, or a `blob:` of it.
   */
  worker?: string | ScriptAddress | undefined;
  /** Gets what the guest writes to stderr, in pieces as they come. Default: its lines go to `console.error`. */
  onStderr?: ((text: string) => void) | undefined;
  /** How many bytes of stdin may wait for the guest to read them; beyond that, writing waits. Default 65 536. */
  stdinCapacity?: number | undefined;
  /** How long the worker may take to load and to begin, in ms. Default 10 000; `0` for any time. */
  startTimeout?: number | undefined;
  /** Gives the start up, which rejects with `signal.reason`, or kills the guest. */
  signal?: AbortSignal | undefined;
}

/** How a guest has ended: with its exit code, or with why it has none: it has trapped, was killed, or lost its worker. */
export type WasiExit =
  | { readonly code: number; readonly error?: undefined }
  | { readonly code?: undefined; readonly error: Error };

/** A guest that runs. */
export interface WasiGuest {
  /**
   * Its stdout. It ends after the last byte, however the guest has ended. As with any pipe, a guest whose output nobody
   * reads sleeps once 1 MiB of it waits; cancelled, it throws the output away.
   */
  readonly readable: ReadableStream<Uint8Array>;
  /** Its stdin, which takes bytes of any view or buffer, and copies them. Closing or aborting it is the end of input. */
  readonly writable: WritableStream<ArrayBufferView | ArrayBuffer>;
  /** Resolves when it has ended, and never rejects. */
  readonly exited: Promise<WasiExit>;
  /**
   * Ends it at once, wherever it is. What it has written can still be read. WebKit keeps a core busy, until the page is
   * left, with a guest that was killed in an endless loop without any call.
   */
  kill(): void;
}

/**
 * Starts a WASI preview 1 command in a worker of its own, and resolves when it runs. It has its arguments, environment,
 * clocks, random numbers and three streams, and neither files nor sockets.
 *
 * The page has to be isolated from other origins: it and the worker's script are served with
 * `Cross-Origin-Embedder-Policy: require-corp`, the page with `Cross-Origin-Opener-Policy: same-origin`, too.
 *
 * Rejects with an `Error` if the page is not, if the module or the worker's script cannot be loaded, or is not started in
 * time; with a `TypeError` for a module that is no command, with a `TypeError` or `RangeError` for options that cannot be,
 * with `signal.reason`, and with what `WebAssembly.compile` says.
 */
export function startWasiGuest(
  module: WasiModule | PromiseLike<WasiModule>,
  options?: WasiGuestOptions,
): Promise<WasiGuest>;

/** The guest as a compiled module, as bytes, as its address, or as a response that carries it. */
export type WasiModule = (object & WebAssembly.Module) | ArrayBufferView | ArrayBuffer | URL | string | Response;
