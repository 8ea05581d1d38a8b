import type { TapRecord } from "portway-inspector";
import { ReconnectPolicy, type ReconnectOptions } from "portway/websocket";
import { nowMicros } from "./clock";

export type LinkState = "connecting" | "open" | "waiting" | "closed";

/** A link that this page has opened, and over which the user sends messages. */
export interface OwnLink {
  readonly id: string;
  readonly name: string;
  readonly state: LinkState;
  /** The reason of the state, for people. */
  readonly detail: string;
  /** Sends a text as it is. Throws if the link is not open. */
  send(text: string): void;
  /** Closes the link for good, and cancels a scheduled attempt. */
  disconnect(): void;
}

export interface SocketOptions {
  readonly url: string;
  readonly protocols: readonly string[];
  /** The texts that are sent first on each connection. */
  readonly first: readonly string[];
  readonly reconnect: boolean;
}

/** The parts of the platform that tests replace. */
export interface SocketPlatform {
  readonly WebSocket: new (url: string, protocols: string[]) => WebSocket;
  readonly policy?: ReconnectOptions;
  now(): number;
  setTimeout(run: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** The delays double up to four seconds, without a random part. They are short, because a developer waits for them. */
const POLICY: ReconnectOptions = { base: 500, cap: 4000, jitter: (delay) => delay };
/** The time in milliseconds after which an attempt to connect fails. */
const CONNECT_TIMEOUT_MS = 10_000;
/** If the browser holds more unsent bytes of a connection than this number, no further message is sent. */
const MAX_UNSENT_BYTES = 16 * 1024 * 1024;

export const browserPlatform: SocketPlatform = {
  get WebSocket() {
    return globalThis.WebSocket as SocketPlatform["WebSocket"];
  },
  now: () => performance.now(),
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (timer) => clearTimeout(timer as number),
};

/** A WebSocket that records each sent and each received message, and reconnects. */
export class SocketLink implements OwnLink {
  readonly id: string;
  readonly name: string;
  state: LinkState = "connecting";
  detail = "";
  readonly #options: SocketOptions;
  readonly #platform: SocketPlatform;
  readonly #policy: ReconnectPolicy;
  readonly #record: (record: TapRecord) => void;
  readonly #changed: () => void;
  #socket: WebSocket | undefined;
  #timer: unknown;

  constructor(
    id: string,
    options: SocketOptions,
    record: (record: TapRecord) => void,
    changed: () => void,
    platform: SocketPlatform = browserPlatform,
  ) {
    this.id = id;
    this.name = nameOf(options.url);
    this.#options = options;
    this.#platform = platform;
    this.#policy = new ReconnectPolicy({ ...POLICY, ...platform.policy });
    this.#record = record;
    this.#changed = changed;
    this.#policy.start();
    this.#connect();
  }

  send(text: string): void {
    const socket = this.#socket;
    if (this.state !== "open" || !socket) throw new Error(`the connection must be open, its state is ${this.state}`);
    if (socket.bufferedAmount > MAX_UNSENT_BYTES)
      throw new Error(
        `at most ${MAX_UNSENT_BYTES} bytes may be unsent, got ${socket.bufferedAmount}: the server does not read`,
      );
    this.#recordText("sent", text);
    socket.send(text);
  }

  disconnect(): void {
    const socket = this.#socket;
    this.#policy.close();
    this.#clearTimer();
    this.#socket = undefined;
    if (this.state === "open")
      this.#record({ kind: "close", at: nowMicros(), link: this.id, code: 1000, reason: "disconnected here" });
    socket?.close(1000);
    this.#become("closed", "disconnected");
  }

  #connect(): void {
    this.#clearTimer();
    this.#become("connecting", "");
    let socket: WebSocket;
    try {
      socket = new this.#platform.WebSocket(this.#options.url, [...this.#options.protocols]);
    } catch (error) {
      // The address or a protocol is invalid, so a further attempt would fail as well.
      this.#policy.close();
      this.#become("closed", error instanceof Error ? error.message : String(error));
      return;
    }
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    // Events of an earlier socket are ignored: a browser may report the end of a socket after the next one has opened.
    const current = (run: () => void) => {
      if (this.#socket === socket) run();
    };
    socket.onopen = () => current(() => this.#opened(socket));
    socket.onmessage = ({ data }) => current(() => this.#received(data));
    socket.onclose = ({ code, reason }) => current(() => this.#lost(code, reason));
    this.#timer = this.#platform.setTimeout(() => {
      if (this.#socket !== socket || socket.readyState !== 0) return;
      this.#socket = undefined;
      socket.close();
      this.#lost(1006, `no connection within ${CONNECT_TIMEOUT_MS / 1000} s`);
    }, CONNECT_TIMEOUT_MS);
  }

  #opened(socket: WebSocket): void {
    this.#clearTimer();
    this.#policy.opened(this.#platform.now());
    this.#wait();
    this.#record({ kind: "open", at: nowMicros(), link: this.id, name: this.name, transport: "websocket" });
    this.#become("open", socket.protocol && `subprotocol ${socket.protocol}`);
    for (const text of this.#options.first) this.send(text);
  }

  #received(data: unknown): void {
    if (typeof data === "string") {
      this.#recordText("received", data);
      return;
    }
    const bytes = new Uint8Array(data as ArrayBuffer);
    try {
      this.#recordText(
        "received",
        new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
        bytes.length,
      );
    } catch {
      this.#record({
        kind: "invalid",
        at: nowMicros(),
        link: this.id,
        direction: "received",
        size: bytes.length,
        base64: toBase64(bytes),
        reason: "a binary message must be UTF-8",
      });
    }
  }

  #lost(code: number, reason: string): void {
    const wasOpen = this.state === "open";
    this.#socket = undefined;
    this.#clearTimer();
    if (wasOpen) this.#record({ kind: "close", at: nowMicros(), link: this.id, code, ...(reason && { reason }) });
    const end = `code ${code}${reason && `: ${reason}`}`;
    if (!this.#options.reconnect) this.#policy.close();
    else this.#policy.lost(this.#platform.now(), code);
    if (this.#policy.state === "waiting") {
      this.#become("waiting", `${end}; attempt ${this.#policy.attempt + 1} in ${this.#policy.delay} ms`);
      this.#wait();
    } else this.#become("closed", end);
  }

  /** Waits for the time at which the policy changes its state. */
  #wait(): void {
    const { due } = this.#policy;
    if (due === undefined) return;
    const handle = () => {
      this.#policy.handleTimeout(this.#platform.now());
      if (this.#policy.state === "connecting") this.#connect();
      else this.#wait();
    };
    this.#timer = this.#platform.setTimeout(handle, Math.max(0, due - this.#platform.now()));
  }

  #clearTimer(): void {
    this.#platform.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #recordText(direction: "sent" | "received", text: string, size = utf8Length(text)): void {
    this.#record({ kind: "message", at: nowMicros(), link: this.id, direction, form: "text", text, size });
  }

  #become(state: LinkState, detail: string): void {
    this.state = state;
    this.detail = detail;
    this.#changed();
  }
}

/** Returns an address without its query and its password, because these may contain a ticket. */
function nameOf(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname}`;
  } catch {
    return url.slice(0, 200);
  }
}

/** Returns the number of bytes of a text in UTF-8. */
export function utf8Length(text: string): number {
  let length = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x80) continue;
    if (code < 0x800) length += 1;
    else if (code < 0xd800 || code > 0xdbff || !isLow(text.charCodeAt(index + 1))) length += 2;
    else {
      // Two units become four bytes.
      length += 2;
      index += 1;
    }
  }
  return length;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary);
}
