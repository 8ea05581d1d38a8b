// Writes frames into a stream, each by one write. Frames wait here instead of in the stream, because Node's streams
// move all waiting chunks at each write.

import { MAX_UNWRITTEN_BYTES } from "../driver/limit-values.js";
import { FRAME_OVERHEAD_BYTES } from "./frame.js";

/** The minimum number of written entries that are removed together. Each removal moves all later entries. */
const MIN_REMOVED_ENTRIES = 1_024;
/** The number of frames between two readings of the clock. */
const FRAMES_PER_CLOCK_READ = 32;

/**
 * The writers with waiting frames. While the process exits, no further turn of the event loop runs. So the waiting
 * frames, and all later frames, are written synchronously.
 */
const activeWriters = new Set();
let isExiting = false;
const onExit = () => {
  isExiting = true;
  for (const writer of activeWriters) writer.flushNow();
};
// In a window, `process` may be an iframe of any origin, whose members must not be read.
if (typeof document === "undefined") globalThis.process?.on?.("exit", onExit);

export class FrameWriter {
  #writer;
  #writeNow;
  /** The frame that is being written. */
  #current;
  #onDrain;
  #waiting = [];
  /** The number of written entries at the front of the list. */
  #writtenEntries = 0;
  /** The cost of the waiting frames that the peer caused, in bytes. */
  #peerCausedBytes = 0;
  /** The number of frames that the stream has accepted. */
  writtenCount = 0;
  #isWriting = false;
  #isEnding = false;
  #turn;

  /**
   * Calls `onDrain` when `isFull` becomes false. `turn` limits the time for which frames are written without a pause.
   * `writeNow` writes the frames that the stream has not accepted, synchronously.
   */
  constructor(writer, turn, onDrain, writeNow = () => {}) {
    this.#writer = writer;
    this.#writeNow = writeNow;
    this.#turn = turn;
    this.#onDrain = onDrain;
  }

  /** Returns whether the waiting frames that the peer caused exceed the limit. */
  get isFull() {
    return this.#peerCausedBytes > MAX_UNWRITTEN_BYTES;
  }

  /** Writes a frame. Resolves once the stream has accepted it. `isPeerCaused` marks a frame that the peer caused. */
  write(frame, isPeerCaused) {
    return new Promise((resolve, reject) => {
      const size = isPeerCaused ? frame.length + FRAME_OVERHEAD_BYTES : 0;
      this.#peerCausedBytes += size;
      this.#waiting.push({ frame, size, resolve, reject });
      if (!this.#isWriting) this.#run();
      if (isExiting) this.flushNow();
    });
  }

  /** Writes all waiting frames synchronously, as far as the stream accepts them. */
  flushNow() {
    const unwritten = this.#waiting.splice(this.#writtenEntries).map(({ frame }) => frame);
    this.#writeNow([this.#current, ...unwritten]);
  }

  /** Closes the stream once all frames are written. */
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
