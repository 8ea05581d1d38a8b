// What a guest writes for humans, as text.

import { logError } from "../../../web/log-error.js";
import { MAX_STDERR_LINE } from "../../../web/limit-values.js";

/** Gives `write` each piece of text; a character may be cut between two pieces of bytes. */
export class TextOf {
  #decoder = new TextDecoder();
  #write;

  constructor(write) {
    this.#write = write;
  }

  add(bytes) {
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#give(text);
  }

  end() {
    this.#give(this.#decoder.decode());
  }

  #give(text) {
    try {
      if (text !== "") this.#write(text);
    } catch (error) {
      // The guest goes on.
      logError(error);
    }
  }
}

/** Prints whole lines: many programs write them in pieces. */
export class ConsoleLines {
  #text = "";

  add(text) {
    const lines = (this.#text + text).split("\n");
    this.#text = lines.pop();
    for (const line of lines) console.error(line);
    if (this.#text.length > MAX_STDERR_LINE) this.end();
  }

  end() {
    if (this.#text !== "") console.error(this.#text);
    this.#text = "";
  }
}
