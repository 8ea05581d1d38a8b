// Reads streams of server-sent events. A stream may end early, and continue with another response.

import { setTimer } from "../driver/timers.js";
import { HttpFailure, mediaType } from "./http-client.js";
import { parse } from "./responses.js";

/**
 * A stream that lasted at least this time does not count as an empty stream, because servers and proxies close idle
 * streams.
 */
const IDLE_MS = 10_000;

/** The time that a server has to end a stream after the response, so that the connection can be used again. */
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
  /** The id of the last event. The server can continue the stream after this event. */
  lastEventId = "";
  /** The number of streams in a row without a message. */
  emptyStreams = 0;
  /** The reconnection time of the stream, in milliseconds; undefined if the server has not named it. */
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

  /** Returns the time before the stream is requested again, in milliseconds. `max` is its maximum. */
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
