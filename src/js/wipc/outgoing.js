// Frames on their way into a stream, one write each. They wait here and not in the stream: Node's moves all that waits for
// each write that it takes.

/** No fewer than so many that are written are forgotten together. */
const FEWEST = 1_024;

export class Outgoing {
  #writer;
  #waiting = [];
  /** How many at the front of the list are written. */
  #written = 0;
  #isWriting = false;
  #isEnding = false;

  constructor(writer) {
    this.#writer = writer;
  }

  /** Resolves once the stream has taken the frame, and rejects if it cannot. */
  write(frame) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ frame, resolve, reject });
      if (!this.#isWriting) this.#run();
    });
  }

  /** Closes the stream once all is written. */
  end() {
    this.#isEnding = true;
    if (!this.#isWriting) this.#close();
  }

  async #run() {
    this.#isWriting = true;
    while (this.#written < this.#waiting.length) {
      const { frame, resolve, reject } = this.#waiting[this.#written];
      this.#waiting[this.#written++] = undefined;
      if (this.#written >= FEWEST && 2 * this.#written >= this.#waiting.length) {
        this.#waiting.splice(0, this.#written);
        this.#written = 0;
      }
      await this.#writer.write(frame).then(resolve, reject);
    }
    this.#waiting = [];
    this.#written = 0;
    this.#isWriting = false;
    if (this.#isEnding) this.#close();
  }

  #close() {
    this.#writer.close().catch(() => {});
  }
}
