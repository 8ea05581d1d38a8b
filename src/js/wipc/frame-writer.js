// Frames on their way into a stream, one write each. They wait here and not in the stream: Node's moves all that waits for
// each write that it takes.

import { MAX_UNWRITTEN_BYTES } from "../../web/limit-values.js";
import { FRAME_OVERHEAD_BYTES } from "./frame.js";

/** No fewer than so many that are written are forgotten together. */
const MIN_REMOVED_ENTRIES = 1_024;
/** After so many frames the clock is read. */
const FRAMES_PER_CLOCK_READ = 32;

/**
 * The instances with waiting frames. A process that exits has no more turns: it writes these frames at once, and all later
 * ones.
 */
const activeWriters = new Set();
let isExiting = false;
const onExit = () => {
  isExiting = true;
  for (const writer of activeWriters) writer.flushNow();
};
// In a window, that name may be a frame's of any origin, no member of which may be read.
if (typeof document === "undefined") globalThis.process?.on?.("exit", onExit);

export class FrameWriter {
  #writer;
  #writeNow;
  /** The frame that the stream is taking. */
  #current;
  #onDrain;
  #waiting = [];
  /** How many at the front of the list are written. */
  #writtenEntries = 0;
  /** The bytes that wait and that the peer has caused. */
  #peerCausedBytes = 0;
  /** How many frames the stream has taken. */
  writtenCount = 0;
  #isWriting = false;
  #isEnding = false;
  #turn;

  /**
   * `onDrain` is called when `isFull` becomes false. A stream that takes all at once is written to for the time of a `turn`.
   * `writeNow`, if there is one, writes the frames that the stream has not taken, without a turn.
   */
  constructor(writer, turn, onDrain, writeNow = () => {}) {
    this.#writer = writer;
    this.#writeNow = writeNow;
    this.#turn = turn;
    this.#onDrain = onDrain;
  }

  /** Whether the peer has caused more than it may leave unread. */
  get isFull() {
    return this.#peerCausedBytes > MAX_UNWRITTEN_BYTES;
  }

  /** Resolves once the stream has taken the frame, and rejects if it cannot. `isPeerCaused` says that the peer has caused it. */
  write(frame, isPeerCaused) {
    return new Promise((resolve, reject) => {
      const size = isPeerCaused ? frame.length + FRAME_OVERHEAD_BYTES : 0;
      this.#peerCausedBytes += size;
      this.#waiting.push({ frame, size, resolve, reject });
      if (!this.#isWriting) this.#run();
      if (isExiting) this.flushNow();
    });
  }

  /** Writes all frames at once, as far as the stream takes them. */
  flushNow() {
    const unwritten = this.#waiting.splice(this.#writtenEntries).map(({ frame }) => frame);
    this.#writeNow([this.#current, ...unwritten]);
  }

  /** Closes the stream once all is written. */
  end() {
    if (this.#isEnding) return;
    this.#isEnding = true;
    if (!this.#isWriting) this.#close();
  }

  async #run() {
    this.#isWriting = true;
    activeWriters.add(this);
    while (this.#writtenEntries < this.#waiting.length) {
      const { frame, size, resolve, reject } = this.#waiting[this.#writtenEntries];
      this.#waiting[this.#writtenEntries++] = undefined;
      if (this.#writtenEntries >= MIN_REMOVED_ENTRIES && 2 * this.#writtenEntries >= this.#waiting.length) {
        this.#waiting.splice(0, this.#writtenEntries);
        this.#writtenEntries = 0;
      }
      this.#current = frame;
      await this.#writer.write(frame).then(resolve, reject);
      this.#current = undefined;
      this.writtenCount += 1;
      const wasFull = this.isFull;
      this.#peerCausedBytes -= size;
      if (wasFull && !this.isFull) this.#onDrain();
      if (this.writtenCount % FRAMES_PER_CLOCK_READ === 0 && this.#turn.isOver()) await this.#turn.next();
    }
    this.#waiting = [];
    this.#writtenEntries = 0;
    this.#isWriting = false;
    activeWriters.delete(this);
    if (this.#isEnding) this.#close();
  }

  #close() {
    this.#writer.close().catch(() => {});
  }
}
