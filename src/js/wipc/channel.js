// One end of WIPC on a pair of streams: frames go out, frames that come are handed to whoever waits for them.

import { complain } from "../../web/log-error.js";
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
import { HEADER_BYTES, WipcType, encodeWipc } from "./frame.js";
import { FrameWriter } from "./frame-writer.js";
import { Turn, checkTimeout, startTimer } from "./timers.js";
import { OversizeMessage, WipcTransport } from "./rpc-transport.js";

/** So many messages of one chunk are handled before those that are answered soon have their answers. */
const MAX_MESSAGES_AT_ONCE = 16;
/** So many steps a turn goes on for that. */
const MICROTASKS_PER_TURN = 8;
/** After so many frames and chunks the clock is read. */
const STEPS_PER_CLOCK_READ = 32;

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
  #frameWriter;
  #decoder;
  #maxMessage;
  #transport = undefined;
  /** Once the last frame is taken. What is written is taken in order. */
  #lastWrite = undefined;
  /** Why nothing is sent any more: a `WipcClosedError`. */
  #closedError = undefined;
  #isClosedByPeer = false;
  #hasEnded = false;
  #hasEndedCalls = false;
  /** @internal Whether the channel is destroyed. Hooks and handlers no longer run. */
  isDestroyed = false;
  #onDestroy;
  #destroyed = new Promise((resolve) => (this.#onDestroy = resolve));
  /** Whether no more bytes come; frames may still wait. */
  #isAtEnd = false;
  /** Whether a hook of the application runs: what it sends is caused by the peer. */
  #isInHook = false;
  /** How many messages were handled since the decoder has begun. */
  #handledMessages = 0;
  #isResuming = false;
  /** The time that frames take at a stretch, and how many frames and chunks there were since the clock was read. */
  #turn = new Turn();
  #stepsSinceClockRead = 0;
  /** Whether the frames that wait at the end are dropped, since the peer reads nothing. */
  #isStalled = false;
  /** What waits until reading may go on. */
  #wakers = [];
  /** The frame that `headerTimeout` runs for. */
  #timedFrame = undefined;
  #headerTimer = undefined;
  #closeTimer = undefined;
  #writeTimer = undefined;
  #responseTimer = undefined;
  #stallTimer = undefined;

  constructor(streams, options = {}) {
    if (typeof streams?.readable?.getReader !== "function" || typeof streams.writable?.getWriter !== "function") {
      throw new TypeError("a channel needs { readable, writable }: a ReadableStream and a WritableStream of bytes");
    }
    const { role = "host", headerTimeout = 0, closeTimeout = 0, maxMessage = MAX_MESSAGE_BYTES } = options;
    if (role !== "host" && role !== "guest")
      throw new TypeError(`a channel has the role "host" or "guest", not ${String(role)}`);
    checkTimeout("headerTimeout", headerTimeout);
    checkTimeout("closeTimeout", closeTimeout);
    if (!Number.isInteger(maxMessage) || maxMessage < 1 || maxMessage > MAX_PAYLOAD) {
      throw new RangeError(`maxMessage must be a number of bytes from 1 to ${MAX_PAYLOAD}, got ${String(maxMessage)}`);
    }
    this.#maxMessage = maxMessage;
    this.#options = options;
    this.#isGuest = role === "guest";
    this.#decoder = new WipcDecoder(
      {
        frame: (type, payload) => this.#receive(type, payload),
        passthrough: (bytes) => this.#runHook("onPassthrough", bytes),
        truncated: (size) => this.#runHook("onTruncated", size),
        // A message that is too long is not kept.
        skips: (type, length) => type === WipcType.CALL && length > this.#maxMessage && !this.#hasCallHook,
        skipped: (type, length, beginning) => this.#receive(type, new OversizeMessage(length, beginning)),
      },
      { maxPayload: options.maxPayload },
    );
    this.#reader = streams.readable.getReader();
    this.#writer = streams.writable.getWriter();
    this.#frameWriter = new FrameWriter(this.#writer, this.#turn, () => this.wake(), streams.writable.writeNow);
    this.#writer.closed.catch((error) => this.#onWriteError(error));
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
    if (this.#closedError !== undefined) throw this.#closedError;
    if (type !== WipcType.CLOSE) return this.#write(frame, this.#isInHook);
    this.close(payload);
    return this.#lastWrite;
  }

  sendJSON(type, value) {
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError(`JSON has no word for ${typeof value}`);
    return this.send(type, text);
  }

  close(payload, { timeout = this.#options.closeTimeout ?? CLOSE_TIMEOUT } = {}) {
    const frame = encodeWipc(WipcType.CLOSE, payload);
    checkTimeout("timeout", timeout);
    if (this.#closedError === undefined) {
      this.#closeForSending("closed", "the channel is closed");
      this.#write(frame);
      this.#frameWriter.end();
      // What the peer has sent before its end is still handled.
      const late = () => (this.#isAtEnd && !this.isFull) || this.destroy();
      if (!this.#hasEnded) this.#closeTimer = startTimer(late, timeout);
    }
    return this.ended;
  }

  destroy(error) {
    this.isDestroyed = true;
    this.#onDestroy();
    this.wake();
    this.#closeForSending("destroyed", "the channel is destroyed", error);
    this.#writer.abort(this.#closedError).catch(() => {});
    this.#reader.cancel(this.#closedError).catch(() => {});
    if (this.#hasEnded) this.#endPendingCalls();
  }

  transport() {
    if (this.#transport === undefined) {
      this.#transport = new WipcTransport(this);
      if (this.#hasEnded) this.#endPendingCalls();
    }
    return this.#transport;
  }

  async idle() {
    do {
      while (this.#isPaused) await this.#untilWoken();
      await this.#transport?.idle();
      // Messages may wait for the end of their turn.
      await runMicrotasks();
    } while (this.#isPaused);
    // A stream that is aborted still waits for its last write.
    await Promise.race([this.#lastWrite, this.#destroyed]);
  }

  /** @internal Sends a message. Where the peer has caused it, reading may pause until it is written. */
  sendMessage(text, isPeerCaused) {
    const frame = encodeWipc(WipcType.CALL, text);
    this.checkLength(frame.length - HEADER_BYTES);
    if (this.#closedError !== undefined) throw this.#closedError;
    this.#write(frame, isPeerCaused);
    // The answer may be behind what is not read yet.
    if (!isPeerCaused) this.wake();
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
    return this.#frameWriter.isFull && !this.isDestroyed;
  }

  /** @internal Resolves once what was handled has its answers, if that takes no time, and there is room and time for more. */
  async untilWritable() {
    await runMicrotasks();
    while (this.isFull) await this.#untilWoken();
    if (this.#turn.isOver()) await this.#turn.next();
  }

  /** @internal Has those that wait look again whether they may go on. */
  wake() {
    for (const resolve of this.#wakers.splice(0)) resolve();
  }

  #untilWoken() {
    return new Promise((resolve) => this.#wakers.push(resolve));
  }

  async #read() {
    // Whoever makes the channel says first what is to be done with what comes.
    await undefined;
    let error;
    try {
      for (;;) {
        while (!this.#mayRead) await this.#untilWoken();
        const { done, value } = await this.#reader.read();
        if (done) break;
        this.#decode(() => this.#decoder.push(value));
        if (this.#isTurnOver(value?.byteLength)) await this.#turn.next();
      }
    } catch (thrown) {
      error = thrown;
    }
    await this.#handleRemaining();
    if (this.#isStalled)
      error ??= new WipcClosedError("ended", "the peer has ended and reads no answers: its last frames were dropped");
    this.#decode(() => this.#decoder.finish());
    this.#hasEnded = true;
    [this.#headerTimer, this.#closeTimer, this.#writeTimer, this.#responseTimer, this.#stallTimer].forEach(
      clearTimeout,
    );
    // A guest may be at work on its last answers.
    if (!this.#isGuest) {
      this.#closeForSending("ended", "the other side has ended", error);
      this.#frameWriter.end();
    }
    this.#endPendingCalls(error);
    return { closed: this.#isClosedByPeer, error };
  }

  /** Handles what waits at the end. A peer that reads nothing for the time of a close does not keep the channel from its end. */
  async #handleRemaining() {
    let last = -1;
    const check = () => {
      const { writtenCount } = this.#frameWriter;
      this.#isStalled = this.isFull && writtenCount === last;
      last = writtenCount;
      if (this.#isStalled) this.wake();
      else this.#stallTimer = startTimer(check, this.#options.closeTimeout ?? CLOSE_TIMEOUT);
    };
    if (this.#isPaused) check();
    while (this.#isPaused) await this.#untilWoken();
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
    return this.#decoder.queuedBytes <= (this.#transport?.isWaiting() ? MAX_UNWRITTEN_BYTES : READ_AHEAD);
  }

  /** Goes on with what has come, as there is room for what follows from it. */
  async #resume() {
    if (this.#isResuming) return;
    this.#isResuming = true;
    while (this.#isPaused) {
      await this.untilWritable();
      // No more comes behind the end.
      while (this.#transport?.isFull && !this.#isAtEnd && !this.isDestroyed) await this.#untilWoken();
      if (!this.#isPaused) break;
      this.#decode(() => this.#decoder.resume());
      // What is read ahead has become less.
      this.wake();
    }
    this.#isResuming = false;
    this.wake();
  }

  /** Whether calls go to the application's own `onCall`, where messages have no limit but that of frames. */
  get #hasCallHook() {
    return this.#transport === undefined && this.#options.onCall !== undefined;
  }

  #receive(type, payload) {
    this.#dispatch(type, payload);
    const isFull = this.#handledMessages >= MAX_MESSAGES_AT_ONCE || this.#frameWriter.isFull || this.#transport?.isFull;
    if (isFull || this.isDestroyed || this.#isTurnOver(payload.length)) this.#decoder.stop();
  }

  /** Whether the time of this turn is up, asked after each frame and each chunk of so many bytes. A KiB counts as one more. */
  #isTurnOver(bytes) {
    this.#stepsSinceClockRead += 1 + (bytes >>> 10);
    if (this.#stepsSinceClockRead < STEPS_PER_CLOCK_READ) return false;
    this.#stepsSinceClockRead = 0;
    return this.#turn.isOver();
  }

  #dispatch(type, payload) {
    if (this.isDestroyed) return;
    switch (type) {
      case WipcType.OPEN:
        return this.#runHook("onOpen", payload);
      case WipcType.DATA:
        return this.#runHook("onData", payload);
      case WipcType.CALL:
        // With nobody there yet, calls wait for the transport.
        if (this.#hasCallHook) return this.#runHook("onCall", payload);
        this.#handledMessages += 1;
        // Of a payload that is too long, only its length and its beginning are kept.
        return this.transport().receive(
          payload.length > this.#maxMessage
            ? new OversizeMessage(payload.length, payload.slice(0, MAX_BEGINNING))
            : payload,
        );
      case WipcType.CLOSE:
        // A peer sends nothing after its CLOSE.
        if (this.#isClosedByPeer) return;
        this.#isClosedByPeer = true;
        if (!this.#isGuest) {
          this.#closeForSending("closed-by-peer", "the other side has closed the channel");
          this.#frameWriter.end();
          // Answers may come behind CLOSE, up to the end of the stream.
          this.#responseTimer ??= startTimer(() => this.#endPendingCalls(), CLOSE_TIMEOUT);
        }
        return this.#runHook("onClose", payload);
    }
  }

  /** Ends the calls that wait. A guest goes on with those that it answers, until it is destroyed. */
  #endPendingCalls(error) {
    if (this.#hasEndedCalls && !this.#hasEnded) return;
    this.#hasEndedCalls = true;
    const text = this.#isClosedByPeer ? "the other side has closed the channel" : "the stream has ended";
    const end = error ?? new WipcClosedError(this.#isClosedByPeer ? "closed-by-peer" : "ended", text);
    this.#transport?.handleClose(end, this.#isGuest && !this.isDestroyed);
  }

  #write(frame, isPeerCaused) {
    const written = this.#frameWriter.write(frame, isPeerCaused);
    // The application need not wait for it; `ended` tells.
    this.#lastWrite = written.catch(() => {});
    return written;
  }

  #onWriteError(error) {
    this.#closeForSending("ended", "the other side reads no more", error);
    const endCalls = () => {
      // Answers may be among the frames that wait for their turn.
      if (this.#isPaused) this.#writeTimer = startTimer(endCalls, WRITE_GRACE);
      else this.#endPendingCalls(error);
    };
    if (!this.#hasEnded) this.#writeTimer = startTimer(endCalls, WRITE_GRACE);
  }

  #closeForSending(reason, message, cause) {
    this.#closedError ??= new WipcClosedError(reason, message, cause);
  }

  #setHeaderTimer() {
    const { partial } = this.#decoder;
    if (partial === this.#timedFrame) return;
    clearTimeout(this.#headerTimer);
    this.#timedFrame = partial;
    if (partial === undefined) return;
    this.#headerTimer = startTimer(() => this.#decode(() => this.#decoder.giveUp()), this.#options.headerTimeout);
  }

  #decode(work) {
    this.#handledMessages = 0;
    try {
      work();
    } catch (error) {
      this.#reportError(error);
    }
    if (this.#isPaused) this.#resume();
    // A host that has sent CLOSE says no more than what has come with it.
    else if (this.#isGuest && this.#isClosedByPeer && !this.#hasEnded) this.#endPendingCalls();
    this.#setHeaderTimer();
  }

  /** Runs a hook of the application. */
  #runHook(hook, argument) {
    if (this.isDestroyed) return;
    const wasInHook = this.#isInHook;
    this.#isInHook = true;
    try {
      const result = this.#options[hook]?.(argument);
      if (typeof result?.then === "function") result.then(undefined, (error) => this.#reportError(error));
    } catch (error) {
      this.#reportError(error);
    } finally {
      this.#isInHook = wasInHook;
    }
  }

  #reportError(error) {
    try {
      if (this.#options.onError !== undefined) {
        return void this.#options.onError(error)?.then?.(undefined, (thrown) => [thrown, error].forEach(complain));
      }
    } catch (thrown) {
      complain(thrown);
    }
    complain(error);
  }
}

/** Until what has just begun and needs no time is done. */
async function runMicrotasks() {
  for (let step = 0; step < MICROTASKS_PER_TURN; step++) await undefined;
}
