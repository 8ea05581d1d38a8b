// Loading the wasm. These declarations are not in api.d.ts, because wasm-pack generates its own declarations of `init`.

type FromPlatform<Name extends string> = typeof globalThis extends { [K in Name]: { prototype: infer T } } ? T : never;
type Compiled = typeof globalThis extends { WebAssembly: { Module: { prototype: infer T } } } ? T : never;

/** The wasm as bytes or as a compiled module. */
export type SyncInitInput = ArrayBuffer | ArrayBufferView | (object & Compiled);

/** The source of the wasm: its URL (in Node also a path), a response with it, its bytes, or a compiled module. */
export type InitInput =
  | string
  | FromPlatform<"URL">
  | FromPlatform<"Request">
  | FromPlatform<"Response">
  | SyncInitInput;

/**
 * Loads the wasm, which clients, servers, peers and `validateMessage` need. Later calls wait for the first call. They
 * load the wasm again only if the first call has failed. Default of `input`: the file `portway_bg.wasm` beside the
 * module or bundle. In Node the file is read from disk; in `portway/inline` it is part of the module. Rejects if the
 * wasm cannot be read or compiled, for instance under a Content-Security-Policy whose `script-src` lacks
 * `'wasm-unsafe-eval'`.
 */
export default function init(input?: InitInput | PromiseLike<InitInput>): Promise<void>;

/**
 * Starts the wasm synchronously from bytes or a compiled module. On the main thread, browsers refuse bytes of more than
 * a few KiB. A compiled module works everywhere, and can be posted to a worker.
 */
export function initSync(input: SyncInitInput): void;

export {};
