// Declares the glue of wasm-bindgen for the wasm of `portway/mcp`, which `cargo xtask build` creates from `npm/mcp`.

export class Detection {
  constructor(modern?: string, legacy?: string);
  free(): void;
  state(): string;
  add_version(version: string): void;
  discovered(): void;
  initialized(version: string): void;
  error(code: number, hasVersions: boolean): void;
  status(status: number): void;
  unusable(): void;
}
export class Events {
  constructor(maxBytes: number);
  free(): void;
  push(chunk: Uint8Array): boolean;
  take(): Uint8Array | undefined;
  last_event_id(): string;
  retry_ms(): number | undefined;
}
export class RequestHeaders {
  constructor();
  free(): void;
  open(isArray: boolean): void;
  close(): void;
  name(name: string): void;
  text(text: string): void;
  number(number: number): void;
  boolean(value: boolean): void;
  null(): void;
  reset(): void;
  read_tool(name: string): string | undefined;
  named_param(method: string): string | undefined;
  of_request(method: string, name: string): string;
}
export function retry_delay(named: number | undefined, emptyStreams: number, max: number): number;
export function initSync(input: { module: WebAssembly.Module }): WebAssembly.Exports;
