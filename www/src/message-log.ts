import type { RPCTransport } from "portway";
import { oncePerFrame, Store } from "./store";
import { summarize } from "./summarize";

export type Direction = "sent" | "received";
export type Kind = "request" | "result" | "error" | "notification" | "batch";

export interface MessageRow {
  readonly seq: number;
  readonly time: number;
  readonly boundary: string;
  readonly direction: Direction;
  readonly kind: Kind;
  readonly method: string;
  readonly id: string;
  /** The time from the request to this response, in milliseconds. Only responses have this member. */
  readonly elapsed: number | undefined;
  readonly summary: string;
}

interface Envelope {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

const MAX_MESSAGES = 2000;

/**
 * The last 2000 messages to and from the worker and the preview. The newest message is at the end.
 *
 * A peer gets its transport from `watch`, which wraps another transport. Any object with `send`, `onMessage` and
 * `destroy` is a transport, so a peer does not notice the log.
 */
export class MessageLog {
  readonly rows = new Store<readonly MessageRow[]>([]);
  readonly paused = new Store(false);
  /** The number of all messages, including messages that were removed or that arrived during a pause. */
  total = 0;
  #buffer: MessageRow[] = [];
  readonly #publish = oncePerFrame(() => this.rows.set([...this.#buffer]));
  readonly #unanswered = new Map<string, { method: string; time: number }>();

  /** Returns a transport for a peer. The transport sends and receives by `transport`, and records each message. */
  watch(boundary: string, transport: RPCTransport): RPCTransport {
    return {
      send: (message, transfer) => {
        // The message is recorded before `send`, because transferred buffers are empty after `send`.
        this.#record(boundary, "sent", message);
        transport.send(message, transfer);
      },
      onMessage: (handler) =>
        transport.onMessage((message) => {
          this.#record(boundary, "received", message);
          handler(message);
        }),
      destroy: () => transport.destroy?.(),
    };
  }

  clear(): void {
    this.#buffer = [];
    this.rows.set([]);
  }

  #record(boundary: string, direction: Direction, message: unknown): void {
    this.total += 1;
    const row = this.#describe(boundary, direction, message);
    if (this.paused.value) return;
    this.#buffer.push(row);
    if (this.#buffer.length > MAX_MESSAGES) this.#buffer.splice(0, this.#buffer.length - MAX_MESSAGES);
    this.#publish();
  }

  #describe(boundary: string, direction: Direction, message: unknown): MessageRow {
    const time = Date.now();
    const base = { seq: this.total, time, boundary, direction, elapsed: undefined };
    const batch = (count: number) => ({
      ...base,
      kind: "batch" as const,
      method: `${count} messages`,
      id: "",
      summary: summarize(message),
    });
    if (Array.isArray(message)) return batch(message.length);
    const { id, method, params, result, error } = message as Envelope;
    const values = method === "rpc.columns" ? (params as { values?: unknown } | undefined)?.values : undefined;
    if (Array.isArray(values)) return batch(values.length);
    if (typeof method === "string") {
      const summary = params === undefined ? "" : summarize(params);
      if (id === undefined) return { ...base, kind: "notification", method, id: "", summary };
      this.#remember(`${boundary} ${direction} ${String(id)}`, method, time);
      return { ...base, kind: "request", method, id: String(id), summary };
    }
    const key = `${boundary} ${direction === "sent" ? "received" : "sent"} ${String(id)}`;
    const request = this.#unanswered.get(key);
    this.#unanswered.delete(key);
    return {
      ...base,
      kind: error ? "error" : "result",
      method: request?.method ?? "",
      id: String(id),
      elapsed: request && time - request.time,
      summary: summarize(error ?? result),
    };
  }

  /** Stores a request until its response. If more than 2000 requests are stored, removes the oldest request. */
  #remember(key: string, method: string, time: number): void {
    this.#unanswered.set(key, { method, time });
    const oldest = this.#unanswered.size > MAX_MESSAGES ? this.#unanswered.keys().next().value : undefined;
    if (oldest !== undefined) this.#unanswered.delete(oldest);
  }
}
