// One end of WIPC on a pair of streams: frames go out, frames that come are handed to whoever waits for them.

import { complain } from "../../web/complain.js";
import { WipcDecoder } from "./decoder.js";
import { WipcType, encodeWipc } from "./frame.js";
import { Outgoing } from "./outgoing.js";
import { checkTime, timer } from "./time.js";
import { WipcTransport } from "./transport.js";

/** How long the other side may take to end after CLOSE, in milliseconds. */
const CLOSE_TIMEOUT = 2_000;
/** How long answers are still waited for where nothing can be written any more: they may be on their way. */
const WRITE_GRACE = 1_000;

/** Nothing can be sent, or is coming, any more; `reason` says why. */
export class WipcClosedError extends Error {
  static name = "WipcClosedError";

  constructor(reason, message, cause) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

WipcClosedError.prototype.name = "WipcClosedError";

export class WipcChannel {
  ended;
  #options;
  #isGuest;
  #reader;
  #writer;
  #outgoing;
  #decoder;
  #transport = undefined;
  /** Once the last frame is taken. What is written is taken in order. */
  #written = undefined;
  /** Why nothing is sent any more: a `WipcClosedError`. */
  #refusal = undefined;
  #isClosedByPeer = false;
  #hasEnded = false;
  #hasLostCalls = false;
  /** The frame that `headerTimeout` runs for. */
  #watched = undefined;
  #headerTimer = undefined;
  #closeTimer = undefined;
  #writeTimer = undefined;
  #answerTimer = undefined;

  constructor(streams, options = {}) {
    if (typeof streams?.readable?.getReader !== "function" || typeof streams.writable?.getWriter !== "function") {
      throw new TypeError("a channel needs { readable, writable }: a ReadableStream and a WritableStream of bytes");
    }
    const { role = "host", headerTimeout = 0, closeTimeout = 0 } = options;
    if (role !== "host" && role !== "guest") throw new TypeError(`a channel has the role "host" or "guest", not ${String(role)}`);
    checkTime("headerTimeout", headerTimeout);
    checkTime("closeTimeout", closeTimeout);
    this.#options = options;
    this.#isGuest = role === "guest";
    this.#decoder = new WipcDecoder(
      {
        frame: (type, payload) => this.#receive(type, payload),
        passthrough: (bytes) => this.#call("onPassthrough", bytes),
        truncated: (size) => this.#call("onTruncated", size),
      },
      { maxPayload: options.maxPayload },
    );
    this.#reader = streams.readable.getReader();
    this.#writer = streams.writable.getWriter();
    this.#outgoing = new Outgoing(this.#writer);
    this.#writer.closed.catch((error) => this.#cannotWrite(error));
    this.ended = this.#read();
  }

  send(type, payload) {
    const frame = encodeWipc(type, payload);
    if (this.#refusal !== undefined) throw this.#refusal;
    if (type !== WipcType.CLOSE) return this.#write(frame);
    this.close(payload);
    return this.#written;
  }

  sendJSON(type, value) {
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError(`JSON has no word for ${typeof value}`);
    return this.send(type, text);
  }

  close(payload, { timeout = this.#options.closeTimeout ?? CLOSE_TIMEOUT } = {}) {
    const frame = encodeWipc(WipcType.CLOSE, payload);
    checkTime("timeout", timeout);
    if (this.#refusal === undefined) {
      this.#refuse("closed", "the channel is closed");
      this.#write(frame);
      this.#outgoing.end();
      if (!this.#hasEnded) this.#closeTimer = timer(() => this.destroy(), timeout);
    }
    return this.ended;
  }

  destroy(error) {
    this.#refuse("destroyed", "the channel is destroyed", error);
    this.#writer.abort(this.#refusal).catch(() => {});
    this.#reader.cancel(this.#refusal).catch(() => {});
  }

  transport() {
    if (this.#transport === undefined) {
      this.#transport = new WipcTransport(this);
      if (this.#hasEnded) this.#loseCalls();
    }
    return this.#transport;
  }

  async idle() {
    await this.#transport?.idle();
    await this.#written;
  }

  async #read() {
    // Whoever makes the channel says first what is to be done with what comes.
    await undefined;
    let error;
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (done) break;
        this.#decode(() => this.#decoder.push(value));
        // A host that has sent CLOSE says no more than what has come with it.
        if (this.#isGuest && this.#isClosedByPeer) this.#loseCalls();
        this.#watchHeader();
      }
    } catch (thrown) {
      error = thrown;
    }
    this.#decode(() => this.#decoder.finish());
    this.#hasEnded = true;
    [this.#headerTimer, this.#closeTimer, this.#writeTimer, this.#answerTimer].forEach(clearTimeout);
    // A guest may be at work on its last answers.
    if (!this.#isGuest) {
      this.#refuse("ended", "the other side has ended", error);
      this.#outgoing.end();
    }
    this.#loseCalls(error);
    return { closed: this.#isClosedByPeer, error };
  }

  #receive(type, payload) {
    switch (type) {
      case WipcType.OPEN:
        return this.#call("onOpen", payload);
      case WipcType.DATA:
        return this.#call("onData", payload);
      case WipcType.CALL:
        // With nobody there yet, calls wait for the transport.
        if (this.#transport === undefined && this.#options.onCall !== undefined) return this.#call("onCall", payload);
        return this.transport().receive(payload);
      case WipcType.CLOSE:
        this.#isClosedByPeer = true;
        if (!this.#isGuest) {
          this.#refuse("closed-by-peer", "the other side has closed the channel");
          this.#outgoing.end();
          // Answers may come behind CLOSE, up to the end of the stream.
          this.#answerTimer ??= timer(() => this.#loseCalls(), CLOSE_TIMEOUT);
        }
        return this.#call("onClose", payload);
    }
  }

  /** Ends the calls that wait. A guest goes on with those that it answers. */
  #loseCalls(error) {
    if (this.#hasLostCalls && !this.#hasEnded) return;
    this.#hasLostCalls = true;
    const text = this.#isClosedByPeer ? "the other side has closed the channel" : "the stream has ended";
    this.#transport?.lose(error ?? new WipcClosedError(this.#isClosedByPeer ? "closed-by-peer" : "ended", text), this.#isGuest);
  }

  #write(frame) {
    const written = this.#outgoing.write(frame);
    // The application need not wait for it; `ended` tells.
    this.#written = written.catch(() => {});
    return written;
  }

  #cannotWrite(error) {
    this.#refuse("ended", "the other side reads no more", error);
    if (!this.#hasEnded) this.#writeTimer = timer(() => this.#loseCalls(error), WRITE_GRACE);
  }

  #refuse(reason, message, cause) {
    this.#refusal ??= new WipcClosedError(reason, message, cause);
  }

  #watchHeader() {
    const { partial } = this.#decoder;
    if (partial === this.#watched) return;
    clearTimeout(this.#headerTimer);
    this.#watched = partial;
    if (partial === undefined) return;
    this.#headerTimer = timer(() => {
      this.#decode(() => this.#decoder.giveUp());
      this.#watchHeader();
    }, this.#options.headerTimeout);
  }

  #decode(work) {
    try {
      work();
    } catch (error) {
      this.#report(error);
    }
  }

  /** Runs a hook of the application. */
  #call(hook, argument) {
    try {
      const result = this.#options[hook]?.(argument);
      if (typeof result?.then === "function") result.then(undefined, (error) => this.#report(error));
    } catch (error) {
      this.#report(error);
    }
  }

  #report(error) {
    try {
      if (this.#options.onError !== undefined) return void this.#options.onError(error);
    } catch (thrown) {
      complain(thrown);
    }
    complain(error);
  }
}
