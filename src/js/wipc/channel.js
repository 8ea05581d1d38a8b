// One end of WIPC on a pair of streams: frames go out, frames that come are handed to whoever waits for them.

import { logError } from "../../web/log-error.js";
import { define } from "../../web/errors.js";
import {
  CLOSE_TIMEOUT,
  MAX_BEGINNING,
  MAX_MESSAGE_BYTES,
  MAX_PAYLOAD,
  MAX_UNWRITTEN_BYTES,
  READ_AHEAD,
  WRITE_GRACE,
} from "../../web/limit-values.js";
import { WipcDecoder } from "./decoder.js";
import { HEADER, WipcType, encodeWipc } from "./frame.js";
import { Outgoing } from "./frame-writer.js";
import { Turn, checkTime, timer } from "./timers.js";
import { TooLong, WipcTransport } from "./rpc-transport.js";

/** So many messages of one chunk are handled before those that are answered soon have their answers. */
const TOGETHER = 16;
/** So many steps a turn goes on for that. */
const STEPS = 8;
/** After so many frames and chunks the clock is read. */
const STEPS_PER_LOOK = 32;

/** Nothing can be sent, or is coming, any more; `reason` says why. */
export class WipcClosedError extends Error {
  static name = "WipcClosedError";

  constructor(reason, message, cause) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

define(WipcClosedError.prototype, "name", "WipcClosedError");

export class WipcChannel {
  ended;
  #options;
  #isGuest;
  #reader;
  #writer;
  #outgoing;
  #decoder;
  #maxMessage;
  #transport = undefined;
  /** Once the last frame is taken. What is written is taken in order. */
  #written = undefined;
  /** Why nothing is sent any more: a `WipcClosedError`. */
  #refusal = undefined;
  #isClosedByPeer = false;
  #hasEnded = false;
  #hasLostCalls = false;
  /** @internal Whether the channel is destroyed. Hooks and handlers no longer run. */
  isDestroyed = false;
  #onDestroy;
  #destroyed = new Promise((resolve) => (this.#onDestroy = resolve));
  /** Whether no more bytes come; frames may still wait. */
  #isAtEnd = false;
  /** Whether a hook of the application runs: what it sends is caused by the peer. */
  #isInHook = false;
  /** How many messages were handled since the decoder has begun. */
  #handled = 0;
  #isResuming = false;
  /** The time that frames take at a stretch, and how many frames and chunks there were since the clock was read. */
  #turn = new Turn();
  #unlooked = 0;
  /** Whether the frames that wait at the end are dropped, since the peer reads nothing. */
  #isStalled = false;
  /** What waits until reading may go on. */
  #waiting = [];
  /** The frame that `headerTimeout` runs for. */
  #watched = undefined;
  #headerTimer = undefined;
  #closeTimer = undefined;
  #writeTimer = undefined;
  #answerTimer = undefined;
  #restTimer = undefined;

  constructor(streams, options = {}) {
    if (typeof streams?.readable?.getReader !== "function" || typeof streams.writable?.getWriter !== "function") {
      throw new TypeError("a channel needs { readable, writable }: a ReadableStream and a WritableStream of bytes");
    }
    const { role = "host", headerTimeout = 0, closeTimeout = 0, maxMessage = MAX_MESSAGE_BYTES } = options;
    if (role !== "host" && role !== "guest")
      throw new TypeError(`a channel has the role "host" or "guest", not ${String(role)}`);
    checkTime("headerTimeout", headerTimeout);
    checkTime("closeTimeout", closeTimeout);
    if (!Number.isInteger(maxMessage) || maxMessage < 1 || maxMessage > MAX_PAYLOAD) {
      throw new RangeError(`maxMessage must be a number of bytes from 1 to ${MAX_PAYLOAD}, got ${String(maxMessage)}`);
    }
    this.#maxMessage = maxMessage;
    this.#options = options;
    this.#isGuest = role === "guest";
    this.#decoder = new WipcDecoder(
      {
        frame: (type, payload) => this.#receive(type, payload),
        passthrough: (bytes) => this.#call("onPassthrough", bytes),
        truncated: (size) => this.#call("onTruncated", size),
        // A message that is too long is not kept.
        skips: (type, length) => type === WipcType.CALL && length > this.#maxMessage && !this.#isForHook,
        skipped: (type, length, beginning) => this.#receive(type, new TooLong(length, beginning)),
      },
      { maxPayload: options.maxPayload },
    );
    this.#reader = streams.readable.getReader();
    this.#writer = streams.writable.getWriter();
    this.#outgoing = new Outgoing(this.#writer, this.#turn, () => this.wake(), streams.writable.writeNow);
    this.#writer.closed.catch((error) => this.#cannotWrite(error));
    // While reading is paused, this is how the end is noticed.
    const end = () => {
      this.#isAtEnd = true;
      this.wake();
    };
    this.#reader.closed.then(end, end);
    this.ended = this.#read();
  }

  send(type, payload) {
    const frame = encodeWipc(type, payload);
    if (this.#refusal !== undefined) throw this.#refusal;
    if (type !== WipcType.CLOSE) return this.#write(frame, this.#isInHook);
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
      // What the peer has sent before its end is still handled.
      const late = () => (this.#isAtEnd && !this.isFull) || this.destroy();
      if (!this.#hasEnded) this.#closeTimer = timer(late, timeout);
    }
    return this.ended;
  }

  destroy(error) {
    this.isDestroyed = true;
    this.#onDestroy();
    this.wake();
    this.#refuse("destroyed", "the channel is destroyed", error);
    this.#writer.abort(this.#refusal).catch(() => {});
    this.#reader.cancel(this.#refusal).catch(() => {});
    if (this.#hasEnded) this.#loseCalls();
  }

  transport() {
    if (this.#transport === undefined) {
      this.#transport = new WipcTransport(this);
      if (this.#hasEnded) this.#loseCalls();
    }
    return this.#transport;
  }

  async idle() {
    do {
      while (this.#isPaused) await this.#change();
      await this.#transport?.idle();
      // Messages may wait for the end of their turn.
      await turn();
    } while (this.#isPaused);
    // A stream that is aborted still waits for its last write.
    await Promise.race([this.#written, this.#destroyed]);
  }

  /** @internal Sends a message. Where the peer has caused it, reading may pause until it is written. */
  sendMessage(text, isCaused) {
    const frame = encodeWipc(WipcType.CALL, text);
    this.checkLength(frame.length - HEADER);
    if (this.#refusal !== undefined) throw this.#refusal;
    this.#write(frame, isCaused);
    // The answer may be behind what is not read yet.
    if (!isCaused) this.wake();
  }

  /** @internal Throws if a message has more than the most bytes: so many, or at least so many. */
  checkLength(size, what = size) {
    if (size <= this.#maxMessage) return;
    throw new RangeError(
      `a message must have at most ${this.#maxMessage} bytes, got ${what}; maxMessage sets the limit of each peer`,
    );
  }

  /** @internal Whether the peer has left unread as much as it may. */
  get isFull() {
    return this.#outgoing.isFull && !this.isDestroyed;
  }

  /** @internal Resolves once what was handled has its answers, if that takes no time, and there is room and time for more. */
  async room() {
    await turn();
    while (this.isFull) await this.#change();
    if (this.#turn.isOver()) await this.#turn.next();
  }

  /** @internal Has those that wait look again whether they may go on. */
  wake() {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #change() {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async #read() {
    // Whoever makes the channel says first what is to be done with what comes.
    await undefined;
    let error;
    try {
      for (;;) {
        while (!this.#mayRead) await this.#change();
        const { done, value } = await this.#reader.read();
        if (done) break;
        this.#decode(() => this.#decoder.push(value));
        if (this.#isLate(value?.byteLength)) await this.#turn.next();
      }
    } catch (thrown) {
      error = thrown;
    }
    await this.#handleRest();
    if (this.#isStalled)
      error ??= new WipcClosedError("ended", "the peer has ended and reads no answers: its last frames were dropped");
    this.#decode(() => this.#decoder.finish());
    this.#hasEnded = true;
    [this.#headerTimer, this.#closeTimer, this.#writeTimer, this.#answerTimer, this.#restTimer].forEach(clearTimeout);
    // A guest may be at work on its last answers.
    if (!this.#isGuest) {
      this.#refuse("ended", "the other side has ended", error);
      this.#outgoing.end();
    }
    this.#loseCalls(error);
    return { closed: this.#isClosedByPeer, error };
  }

  /** Handles what waits at the end. A peer that reads nothing for the time of a close does not keep the channel from its end. */
  async #handleRest() {
    let last = -1;
    const look = () => {
      const { taken } = this.#outgoing;
      this.#isStalled = this.isFull && taken === last;
      last = taken;
      if (this.#isStalled) this.wake();
      else this.#restTimer = timer(look, this.#options.closeTimeout ?? CLOSE_TIMEOUT);
    };
    if (this.#isPaused) look();
    while (this.#isPaused) await this.#change();
  }

  /** Whether frames that have come wait: for their turn, or until the peer has read enough. */
  get #isPaused() {
    return this.#decoder.isStopped && !this.isDestroyed && !this.#isStalled;
  }

  /**
   * While it is paused, some is read ahead, so that the end is noticed. It is more if calls of ours wait: a peer that is
   * paused, too, can write no answer until it is read, and then each would wait for the other.
   */
  get #mayRead() {
    if (!this.#isPaused || this.#isAtEnd) return true;
    return this.#decoder.restSize <= (this.#transport?.isWaiting() ? MAX_UNWRITTEN_BYTES : READ_AHEAD);
  }

  /** Goes on with what has come, as there is room for what follows from it. */
  async #resume() {
    if (this.#isResuming) return;
    this.#isResuming = true;
    while (this.#isPaused) {
      await this.room();
      // No more comes behind the end.
      while (this.#transport?.isFull && !this.#isAtEnd && !this.isDestroyed) await this.#change();
      if (!this.#isPaused) break;
      this.#decode(() => this.#decoder.resume());
      // What is read ahead has become less.
      this.wake();
    }
    this.#isResuming = false;
    this.wake();
  }

  /** Whether calls go to the application's own `onCall`, where messages have no limit but that of frames. */
  get #isForHook() {
    return this.#transport === undefined && this.#options.onCall !== undefined;
  }

  #receive(type, payload) {
    this.#hand(type, payload);
    const isFull = this.#handled >= TOGETHER || this.#outgoing.isFull || this.#transport?.isFull;
    if (isFull || this.isDestroyed || this.#isLate(payload.length)) this.#decoder.stop();
  }

  /** Whether the time of this turn is up, asked after each frame and each chunk of so many bytes. A KiB counts as one more. */
  #isLate(bytes) {
    this.#unlooked += 1 + (bytes >>> 10);
    if (this.#unlooked < STEPS_PER_LOOK) return false;
    this.#unlooked = 0;
    return this.#turn.isOver();
  }

  #hand(type, payload) {
    if (this.isDestroyed) return;
    switch (type) {
      case WipcType.OPEN:
        return this.#call("onOpen", payload);
      case WipcType.DATA:
        return this.#call("onData", payload);
      case WipcType.CALL:
        // With nobody there yet, calls wait for the transport.
        if (this.#isForHook) return this.#call("onCall", payload);
        this.#handled += 1;
        // Of a payload that is too long, only its length and its beginning are kept.
        return this.transport().receive(
          payload.length > this.#maxMessage ? new TooLong(payload.length, payload.slice(0, MAX_BEGINNING)) : payload,
        );
      case WipcType.CLOSE:
        // A peer sends nothing after its CLOSE.
        if (this.#isClosedByPeer) return;
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

  /** Ends the calls that wait. A guest goes on with those that it answers, until it is destroyed. */
  #loseCalls(error) {
    if (this.#hasLostCalls && !this.#hasEnded) return;
    this.#hasLostCalls = true;
    const text = this.#isClosedByPeer ? "the other side has closed the channel" : "the stream has ended";
    const end = error ?? new WipcClosedError(this.#isClosedByPeer ? "closed-by-peer" : "ended", text);
    this.#transport?.lose(end, this.#isGuest && !this.isDestroyed);
  }

  #write(frame, isCaused) {
    const written = this.#outgoing.write(frame, isCaused);
    // The application need not wait for it; `ended` tells.
    this.#written = written.catch(() => {});
    return written;
  }

  #cannotWrite(error) {
    this.#refuse("ended", "the other side reads no more", error);
    const lose = () => {
      // Answers may be among the frames that wait for their turn.
      if (this.#isPaused) this.#writeTimer = timer(lose, WRITE_GRACE);
      else this.#loseCalls(error);
    };
    if (!this.#hasEnded) this.#writeTimer = timer(lose, WRITE_GRACE);
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
    this.#headerTimer = timer(() => this.#decode(() => this.#decoder.giveUp()), this.#options.headerTimeout);
  }

  #decode(work) {
    this.#handled = 0;
    try {
      work();
    } catch (error) {
      this.#report(error);
    }
    if (this.#isPaused) this.#resume();
    // A host that has sent CLOSE says no more than what has come with it.
    else if (this.#isGuest && this.#isClosedByPeer && !this.#hasEnded) this.#loseCalls();
    this.#watchHeader();
  }

  /** Runs a hook of the application. */
  #call(hook, argument) {
    if (this.isDestroyed) return;
    const wasInHook = this.#isInHook;
    this.#isInHook = true;
    try {
      const result = this.#options[hook]?.(argument);
      if (typeof result?.then === "function") result.then(undefined, (error) => this.#report(error));
    } catch (error) {
      this.#report(error);
    } finally {
      this.#isInHook = wasInHook;
    }
  }

  #report(error) {
    try {
      if (this.#options.onError !== undefined) {
        return void this.#options.onError(error)?.then?.(undefined, (thrown) => [thrown, error].forEach(logError));
      }
    } catch (thrown) {
      logError(thrown);
    }
    logError(error);
  }
}

/** Until what has just begun and needs no time is done. */
async function turn() {
  for (let step = 0; step < STEPS; step++) await undefined;
}
