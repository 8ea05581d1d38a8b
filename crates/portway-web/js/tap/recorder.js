// The recorder of a tap. It holds the records until the sink takes them. If the sink is slow, the recorder holds at
// most `maxBytes`, and only counts further messages. The sink runs in tasks of its own, so it cannot affect a link.

import { TAP_BYTES } from "../driver/limit-values.js";
import { runUserCode } from "../driver/error-reporter.js";
import { logError } from "../driver/log-error.js";
import { queueTask } from "../driver/queue-task.js";
import { setTimer } from "../driver/timers.js";
import { addListeners } from "../transport/event-listeners.js";
import { microseconds, recordTime } from "./clock.js";
import { toRecord } from "./records.js";
import { sinkOf } from "./sinks.js";

/** The maximum number of records of one batch. This number and `BATCH_BYTES` limit the time of a task. */
const BATCH_RECORDS = 500;
/** The cost after which a batch ends, in bytes. */
const BATCH_BYTES = 262_144;
/** The delay (ms) between a record and its batch. A task for each message would take more time than the recording. */
const RUN_DELAY_MS = 20;
/** The approximate memory of a record without its text, in bytes. */
const RECORD_BYTES = 100;
/** The memory of one character of a text, in bytes. */
const CHARACTER_BYTES = 2;

/** Returns 64 random bits in hexadecimal digits. */
const newSource = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export class TapRecorder {
  /** @internal The id of this recorder. The ids of its links begin with this id. */
  source = newSource();
  /** @internal Whether recording has ended. */
  isDestroyed = false;
  /**
   * @internal Whether a record was dropped, and the sink has taken no batch since. While this is true, all records are
   * dropped: the caller calls `skip` in place of `push`, and does not describe the message.
   */
  isFull = false;
  #maxBytes;
  #onError;
  #sink;
  /** The links of this recorder. */
  #links = new Set();
  #lastLink = 0;
  /** The entries that the sink has not taken. */
  #queue = [];
  /** The cost of `#queue` and of the batch that the sink has taken but not acknowledged, in bytes. */
  #heldBytes = 0;
  /** The links with dropped records. */
  #gaps = new Set();
  /**
   * The number of held bytes at which a record schedules the next run. It is 0 without a scheduled run, half of the
   * maximum while a timer runs, and `Infinity` while a task is queued.
   */
  #nextRunBytes = 0;
  #timer;
  #removeListener;
  /**
   * The records that the sink has, but has not acknowledged.
   * @type {object[] | undefined}
   */
  #batch;
  #batchBytes = 0;

  /** @param {import("../../types/tap.js").TapRecorderOptions} [options] */
  constructor({ sink, maxBytes = TAP_BYTES, onError = logError } = {}) {
    if (!(maxBytes >= 0)) throw new RangeError(`maxBytes must be a non-negative number of bytes, got ${maxBytes}`);
    this.#maxBytes = maxBytes;
    this.#onError = onError;
    this.#sink = sinkOf(sink, this.source, {
      onTaken: (error) => this.#onTaken(error),
      onReader: () => this.#onReader(),
    });
    // The sink gets the records of the last messages of a page before the page ends.
    const target = typeof document === "undefined" ? {} : globalThis;
    this.#removeListener = addListeners(target, { pagehide: this.#run });
  }

  /** @internal Adds a link. Returns the id of the link. */
  add(link) {
    this.#links.add(link);
    return `${this.source}-${++this.#lastLink}`;
  }

  /** @internal Counts messages that are not recorded. */
  skip(link, isSent, messages, bytes) {
    const gap = link.gap ?? this.#gapOf(link);
    if (isSent) {
      gap.sent += messages;
      gap.sentBytes += bytes;
    } else {
      gap.received += messages;
      gap.receivedBytes += bytes;
    }
  }

  #gapOf(link) {
    this.#gaps.add(link);
    // A message that is larger than the maximum is dropped even if the queue is empty. In that case, only this call
    // schedules the run that closes the gap.
    if (this.#nextRunBytes === 0) this.#schedule(0);
    return (link.gap = {
      at: microseconds(recordTime(true)),
      sent: 0,
      sentBytes: 0,
      received: 0,
      receivedBytes: 0,
      state: undefined,
    });
  }

  /** @internal Adds the entry of a message. `cost` is the cost of its description, in bytes. */
  push(entry, cost) {
    const bytes = cost + RECORD_BYTES;
    if (this.#heldBytes + bytes > this.#maxBytes) {
      this.isFull = true;
      return this.skip(entry.link, entry.isSent, 1, entry.size ?? 0);
    }
    entry.cost = bytes;
    this.#heldBytes += bytes;
    this.#queue.push(entry);
    if (this.#heldBytes >= this.#nextRunBytes) this.#schedule(this.#heldBytes);
  }

  /**
   * @internal Adds a record of the kind `open` or `close`. If the memory is full, the record is added at the end of the
   * gap.
   */
  pushState(link, record) {
    const cost = CHARACTER_BYTES * (record.name?.length ?? record.reason?.length ?? 0) + RECORD_BYTES;
    if (this.isFull || this.#heldBytes + cost > this.#maxBytes) {
      this.isFull = true;
      (link.gap ?? this.#gapOf(link)).state = record;
      return;
    }
    this.#heldBytes += cost;
    this.#queue.push({ record, cost });
    if (this.#heldBytes >= this.#nextRunBytes) this.#schedule(this.#heldBytes);
  }

  /**
   * `using` calls the member `Symbol.dispose`. In engines that lack this symbol, this method is called `destroy`, and
   * the real `destroy` below replaces it.
   */
  [Symbol.dispose ?? "destroy"]() {
    this.destroy();
  }

  /**
   * Ends the recording. The sink still gets the records that the recorder holds. Links and transports are not affected.
   */
  destroy() {
    if (this.isDestroyed) return;
    for (const link of this.#links) link.end("the tap was destroyed");
    this.isDestroyed = true;
    this.#links.clear();
    this.#removeListener();
    this.#schedule(Infinity);
  }

  /**
   * Schedules a run by a timer. Queues a task instead if the memory is half full, or if the page is hidden, where
   * timers run late.
   */
  #schedule(bytes) {
    const limit = this.#maxBytes / 2;
    if (bytes >= limit || globalThis.document?.hidden) {
      this.#nextRunBytes = Infinity;
      queueTask(this.#run);
    } else {
      this.#nextRunBytes = limit;
      this.#timer = setTimer(this.#run, RUN_DELAY_MS);
    }
  }

  #run = () => {
    clearTimeout(this.#timer);
    this.#nextRunBytes = 0;
    if (this.#batch !== undefined || !this.#sink.isReady) return;
    if (this.#queue.length === 0) this.#closeGaps();
    if (this.#queue.length === 0) return void (this.isDestroyed && this.#sink.end());
    this.#batch = this.#takeBatch();
    try {
      this.#sink.post(this.#batch);
    } catch (error) {
      this.#onTaken(error);
    }
  };

  #takeBatch() {
    const queue = this.#queue;
    const records = [];
    this.#batchBytes = 0;
    let count = 0;
    while (count < queue.length && records.length < BATCH_RECORDS && this.#batchBytes < BATCH_BYTES) {
      const entry = queue[count++];
      this.#batchBytes += entry.cost;
      if (!entry.isCancelled) records.push(entry.record ?? toRecord(entry));
    }
    if (count === queue.length) this.#queue = [];
    else queue.splice(0, count);
    return records;
  }

  /** Called when the sink has acknowledged its batch, or has failed with an error. */
  #onTaken(error) {
    if (this.#batch === undefined) return;
    if (error !== undefined)
      runUserCode(
        () => this.#onError(error),
        (thrown) => [thrown, error].forEach(logError),
      );
    this.#releaseBatch();
    if (this.isFull) {
      this.isFull = false;
      this.#closeGaps();
    }
    if (this.#queue.length > 0 || this.isDestroyed) this.#schedule(Infinity);
  }

  #releaseBatch() {
    this.#batch = undefined;
    this.#heldBytes -= this.#batchBytes;
    this.#batchBytes = 0;
  }

  /** Called when a reader has begun. The reader gets all records that no earlier reader has acknowledged. */
  #onReader() {
    const records = [...(this.#batch ?? []), ...this.#queue.map(({ record }) => record)];
    const known = new Set(records);
    // An earlier reader may have taken the records `open` of the links that are open.
    const missing = [...this.#links].map((link) => link.opened).filter((record) => record && !known.has(record));
    const repeated = (this.#batch ?? []).map((record) => ({ record, cost: 0 }));
    if (repeated.length > 0) repeated[0].cost = this.#batchBytes;
    this.#batchBytes = 0;
    this.#batch = undefined;
    this.#queue = [...missing.map((record) => ({ record, cost: 0 })), ...repeated, ...this.#queue];
    this.#schedule(Infinity);
  }

  /** Adds the records for the dropped messages: at most three records for each link. They may exceed `maxBytes`. */
  #closeGaps() {
    for (const link of this.#gaps) {
      const { at, sent, sentBytes, received, receivedBytes, state } = link.gap;
      link.gap = undefined;
      const gap = { kind: "gap", at, link: link.id };
      const add = (record) => {
        this.#heldBytes += RECORD_BYTES;
        this.#queue.push({ record, cost: RECORD_BYTES });
      };
      if (sent > 0) add({ ...gap, direction: "sent", messages: sent, bytes: sentBytes });
      if (received > 0) add({ ...gap, direction: "received", messages: received, bytes: receivedBytes });
      if (state !== undefined) add(state);
    }
    this.#gaps.clear();
  }
}

/** Returns the recorder for a sink, which may be a recorder itself. */
export function recorderOf(sink) {
  return sink instanceof TapRecorder ? sink : new TapRecorder({ sink });
}
