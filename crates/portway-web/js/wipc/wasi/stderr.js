// Decodes the standard error of a guest.

import { logError } from "../../driver/log-error.js";
import { MAX_STDERR_LINE } from "../../driver/limit-values.js";

/** Decodes UTF-8 and calls `write` with each piece of text. The bytes of a character may be in two pieces. */
export class Utf8Sink {
  #decoder = new TextDecoder();
  #write;

  constructor(write) {
    this.#write = write;
  }

  add(bytes) {
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#emit(text);
  }

  end() {
    this.#emit(this.#decoder.decode());
  }

  #emit(text) {
    try {
      if (text !== "") this.#write(text);
    } catch (error) {
      // An exception of `write` does not end the guest.
      logError(error);
    }
  }
}

/** Prints whole lines, because many programs write a line in several pieces. */
export class ConsoleLines {
  #text = "";

  add(text) {
    const lines = (this.#text + text).split("\n");
    this.#text = /** @type {string} */ (lines.pop());
    for (const line of lines) console.error(line);
    if (this.#text.length > MAX_STDERR_LINE) this.end();
  }

  end() {
    if (this.#text !== "") console.error(this.#text);
    this.#text = "";
  }
}
