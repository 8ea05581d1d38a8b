// Loading the wasm. Apart from api.d.ts because the declarations that wasm-pack generates bring their own.

type FromPlatform<Name extends string> = typeof globalThis extends { [K in Name]: { prototype: infer T } } ? T : never;
type Compiled = typeof globalThis extends { WebAssembly: { Module: { prototype: infer T } } } ? T : never;

/** The wasm as bytes or as a compiled module. */
export type SyncInitInput = ArrayBuffer | ArrayBufferView | (object & Compiled);

/** Where the wasm comes from: its URL (in Node also a path), a response with it, its bytes, or a compiled module. */
export type InitInput =
  | string
  | FromPlatform<"URL">
  | FromPlatform<"Request">
  | FromPlatform<"Response">
  | SyncInitInput;

/**
 * Loads the wasm; everything else of the package needs it to have ended. Repeating it is harmless: the first call counts, the
 * others wait for it. Default: the file `portway_bg.wasm` beside the module or bundle. In Node it is read from disk; in
 * `portway/inline` it is part of the module. Rejects when it cannot be read or compiled, for instance under a
 * Content-Security-Policy whose `script-src` lacks `'wasm-unsafe-eval'`.
 */
export default function init(input?: InitInput | PromiseLike<InitInput>): Promise<void>;

/**
 * The same at once, from bytes or a compiled module that are already here. Browsers refuse bytes of more than a few
 * KiB on the main thread; a compiled module works everywhere, and can be posted to a worker.
 */
export function initSync(input: SyncInitInput): void;

export {};
