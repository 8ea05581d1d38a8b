// Frames on their way into a stream, one write each. They wait here and not in the stream: Node's moves all that waits for
// each write that it takes.

import { MAX_UNWRITTEN_BYTES } from "../../web/limit-values.js";
import { OVERHEAD } from "./frame.js";

/** No fewer than so many that are written are forgotten together. */
const FEWEST = 1_024;
/** After so many frames the clock is read. */
const FRAMES_PER_LOOK = 32;

/**
 * The instances with waiting frames. A process that exits has no more turns: it writes these frames at once, and all later
 * ones.
 */
const writing = new Set();
let isExiting = false;
const onExit = () => {
  isExiting = true;
  for (const outgoing of writing) outgoing.rush();
};
// In a window, that name may be a frame's of any origin, no member of which may be read.
if (typeof document === "undefined") globalThis.process?.on?.("exit", onExit);

export class Outgoing {
  #writer;
  #writeNow;
  /** The frame that the stream is taking. */
  #current;
  #onRoom;
  #waiting = [];
  /** How many at the front of the list are written. */
  #written = 0;
  /** The bytes that wait and that the peer has caused. */
  #caused = 0;
  /** How many frames the stream has taken. */
  taken = 0;
  #isWriting = false;
  #isEnding = false;
  #turn;

  /**
   * `onRoom` is called when `isFull` becomes false. A stream that takes all at once is written to for the time of a `turn`.
   * `writeNow`, if there is one, writes the frames that the stream has not taken, without a turn.
   */
  constructor(writer, turn, onRoom, writeNow = () => {}) {
    this.#writer = writer;
    this.#writeNow = writeNow;
    this.#turn = turn;
    this.#onRoom = onRoom;
  }

  /** Whether the peer has caused more than it may leave unread. */
  get isFull() {
    return this.#caused > MAX_UNWRITTEN_BYTES;
  }

  /** Resolves once the stream has taken the frame, and rejects if it cannot. `isCaused` says that the peer has caused it. */
  write(frame, isCaused) {
    return new Promise((resolve, reject) => {
      const size = isCaused ? frame.length + OVERHEAD : 0;
      this.#caused += size;
      this.#waiting.push({ frame, size, resolve, reject });
      if (!this.#isWriting) this.#run();
      if (isExiting) this.rush();
    });
  }

  /** Writes all frames at once, as far as the stream takes them. */
  rush() {
    const rest = this.#waiting.splice(this.#written).map(({ frame }) => frame);
    this.#writeNow([this.#current, ...rest]);
  }

  /** Closes the stream once all is written. */
  end() {
    if (this.#isEnding) return;
    this.#isEnding = true;
    if (!this.#isWriting) this.#close();
  }

  async #run() {
    this.#isWriting = true;
    writing.add(this);
    while (this.#written < this.#waiting.length) {
      const { frame, size, resolve, reject } = this.#waiting[this.#written];
      this.#waiting[this.#written++] = undefined;
      if (this.#written >= FEWEST && 2 * this.#written >= this.#waiting.length) {
        this.#waiting.splice(0, this.#written);
        this.#written = 0;
      }
      this.#current = frame;
      await this.#writer.write(frame).then(resolve, reject);
      this.#current = undefined;
      this.taken += 1;
      const wasFull = this.isFull;
      this.#caused -= size;
      if (wasFull && !this.isFull) this.#onRoom();
      if (this.taken % FRAMES_PER_LOOK === 0 && this.#turn.isOver()) await this.#turn.next();
    }
    this.#waiting = [];
    this.#written = 0;
    this.#isWriting = false;
    writing.delete(this);
    if (this.#isEnding) this.#close();
  }

  #close() {
    this.#writer.close().catch(() => {});
  }
}
