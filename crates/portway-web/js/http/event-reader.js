// Reads streams of server-sent events. A stream may end early, and continue with another response.

import { setTimer } from "../driver/timers.js";
import { HttpFailure, mediaType } from "./http-client.js";
import { parse } from "./responses.js";

/**
 * A stream that lasted as long as this time counts as a stream with a message. Servers and proxies close idle streams.
 */
const IDLE_MS = 10_000;

/** The time in which a server may end a stream after the response, so that its connection can be used again. */
const GRACE_MS = 500;

export function isStream(response) {
  return response.status === 200 && mediaType(response) === "text/event-stream";
}

/** Resolves after a time in milliseconds, or when the signal is aborted. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve(undefined);
    };
    const timer = setTimer(end, ms);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}

export class EventReader {
  /** The position from which the server can continue. */
  lastEventId = "";
  /** The number of streams in a row without a message. */
  emptyStreams = 0;
  /** The time until the next stream that the server has named. */
  #retry;
  #http;
  #rules;
  #maxBytes;
  #report;
  #onMessages;

  /** `onMessages` receives the messages of an event. If it returns a value, the stream is not read any further. */
  constructor(http, rules, maxBytes, report, onMessages) {
    this.#http = http;
    this.#rules = rules;
    this.#maxBytes = maxBytes;
    this.#report = report;
    this.#onMessages = onMessages;
  }

  /** Returns the time until the next stream, in milliseconds. */
  delay(max) {
    return this.#rules.retryDelay(this.#retry, this.emptyStreams, max);
  }

  /** Reads a stream. Resolves to the first value of `onMessages`, or to undefined at the end of the stream. */
  async read(response) {
    const events = new this.#rules.Events(this.#maxBytes);
    const start = Date.now();
    this.emptyStreams++;
    try {
      for await (const chunk of this.#http.chunks(response, GRACE_MS)) {
        const areShort = events.push(chunk);
        this.lastEventId = events.last_event_id() || this.lastEventId;
        this.#retry = events.retry_ms() ?? this.#retry;
        for (let data = events.take(); data !== undefined; data = events.take()) {
          this.emptyStreams = 0;
          const value = this.#onMessages(this.#parse(data));
          if (value !== undefined) return value;
        }
        if (!areShort) throw new HttpFailure(`an event must have at most ${this.#maxBytes} bytes`);
      }
    } finally {
      events.free();
    }
    if (Date.now() - start >= IDLE_MS) this.emptyStreams = 0;
  }

  /** Returns the messages of an event. Reports data that is not a message. */
  #parse(data) {
    try {
      return parse(new TextDecoder(undefined, { fatal: true, ignoreBOM: true }).decode(data), this.#report);
    } catch (error) {
      this.#report(error);
      return [];
    }
  }
}
