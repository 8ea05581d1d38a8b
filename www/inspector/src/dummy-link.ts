import type { TapRecord } from "portway-inspector";
import { nowMicros } from "./clock";
import type { LinkState, OwnLink } from "./socket-link";
import { utf8Length } from "./socket-link";

/** The time in milliseconds until a response of the dummy server. */
const LATENCY_MS = 20;
/** The time in milliseconds between two notifications of the dummy server. */
const HEARTBEAT_MS = 1000;

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/**
 * A server inside the page, to try the inspector without a network. It answers `ping` and `echo`, and never answers
 * `ignore`. It answers `wait` after `params.ms` milliseconds, or after a second if this param is not a number from 0 to
 * 600 000. It sends the notification `stream.heartbeat` each second.
 */
export class DummyLink implements OwnLink {
  readonly name = "dummy server";
  state: LinkState = "connecting";
  detail = "";
  readonly #record: (record: TapRecord) => void;
  readonly #changed: () => void;
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #heartbeat: ReturnType<typeof setInterval> | undefined;

  constructor(
    readonly id: string,
    record: (record: TapRecord) => void,
    changed: () => void,
  ) {
    this.#record = record;
    this.#changed = changed;
    this.#later(0, () => this.#open());
  }

  send(text: string): void {
    if (this.state !== "open") throw new Error(`the connection must be open, its state is ${this.state}`);
    this.#cross("sent", text);
    this.#answer(text);
  }

  disconnect(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    clearInterval(this.#heartbeat);
    if (this.state === "open")
      this.#record({ kind: "close", at: nowMicros(), link: this.id, code: 1000, reason: "disconnected here" });
    this.state = "closed";
    this.#changed();
  }

  #open(): void {
    this.state = "open";
    this.#record({ kind: "open", at: nowMicros(), link: this.id, name: this.name, transport: "custom" });
    this.#heartbeat = setInterval(() => this.#notify(), HEARTBEAT_MS);
    this.#notify();
    this.#changed();
  }

  #notify(): void {
    this.#cross("received", JSON.stringify({ jsonrpc: "2.0", method: "stream.heartbeat", params: { t: Date.now() } }));
  }

  #answer(text: string): void {
    let message: Json;
    try {
      message = JSON.parse(text) as Json;
    } catch {
      this.#respond(failure(null, -32700, "Parse error"), LATENCY_MS);
      return;
    }
    if (!Array.isArray(message)) {
      const { response, delay } = handle(message);
      if (response) this.#respond(response, delay);
      return;
    }
    if (!message.length) {
      this.#respond(failure(null, -32600, "Invalid Request"), LATENCY_MS);
      return;
    }
    const handled = message.map((item) => handle(item)).filter(({ response }) => response !== undefined);
    const responses = handled.map(({ response }) => response as Json);
    if (responses.length) this.#respond(responses, Math.max(...handled.map(({ delay }) => delay)));
  }

  #respond(response: Json, delay: number): void {
    this.#later(delay, () => this.#cross("received", JSON.stringify(response)));
  }

  #cross(direction: "sent" | "received", text: string): void {
    const size = utf8Length(text);
    this.#record({ kind: "message", at: nowMicros(), link: this.id, direction, form: "text", text, size });
  }

  #later(delay: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, delay);
    this.#timers.add(timer);
  }
}

/** Returns the response to a message, and its delay in milliseconds. A notification and `ignore` have no response. */
function handle(message: Json): { response: Json | undefined; delay: number } {
  const delay = LATENCY_MS;
  if (typeof message !== "object" || message === null || Array.isArray(message) || typeof message.method !== "string")
    return { response: failure(null, -32600, "Invalid Request"), delay };
  const { id, method, params = null } = message;
  if (id === undefined || method === "ignore") return { response: undefined, delay };
  const success = (result: Json): Json => ({ jsonrpc: "2.0", id, result });
  switch (method) {
    case "ping":
      return { response: success({ pong: true }), delay };
    case "echo":
      return { response: success(params), delay };
    case "wait":
      return { response: success(true), delay: waitOf(params) };
    default:
      return { response: failure(id, -32601, "Method not found"), delay };
  }
}

function waitOf(params: Json): number {
  const ms = typeof params === "object" && params !== null && !Array.isArray(params) ? params.ms : undefined;
  return typeof ms === "number" && ms >= 0 && ms <= 600_000 ? ms : 1000;
}

function failure(id: Json, code: number, message: string): Json {
  return { jsonrpc: "2.0", id, error: { code, message } };
}
