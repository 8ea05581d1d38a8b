// A channel: one side of WIPC, on a pair of streams. It sends frames, and dispatches received frames to hooks and to
// the transport.

import { logError } from "../driver/log-error.js";
import { define } from "../driver/errors.js";
import {
  CLOSE_TIMEOUT,
  MAX_BEGINNING,
  MAX_MESSAGE_BYTES,
  MAX_PAYLOAD,
  MAX_UNWRITTEN_BYTES,
  READ_AHEAD,
  WRITE_GRACE,
} from "../driver/limit-values.js";
import { WipcDecoder } from "./decoder.js";
import { HEADER_BYTES, WipcType, encodeWipc } from "./frame.js";
import { FrameWriter } from "./frame-writer.js";
import { Turn, checkTimeout, startTimer } from "./timers.js";
import { OversizeMessage, WipcTransport } from "./rpc-transport.js";

/** The maximum number of messages that are handled without a pause. In the pause, their handlers can answer. */
const MAX_MESSAGES_AT_ONCE = 16;
/** The number of microtasks in which handlers can answer before the next frame is handled. */
const MICROTASKS_PER_TURN = 8;
/**
 * The number of steps between two readings of the clock. Each frame and each chunk counts as one step, plus one step
 * for each KiB of its length.
 */
const STEPS_PER_CLOCK_READ = 32;

/** The error of a channel that can no longer send or receive. `reason` is the cause. */
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
  /** @type {WipcTransport | undefined} */
  #transport = undefined;
  /**
   * Resolves once the stream has accepted the last frame. Frames are accepted in order.
   * @type {Promise<void> | undefined}
   */
  #lastWrite = undefined;
  /**
   * The error of later frames, once frames can no longer be sent.
   * @type {WipcClosedError | undefined}
   */
  #closedError = undefined;
  #isClosedByPeer = false;
  /** Whether the stream has ended and all received frames are handled. When both are true, `ended` resolves. */
  #hasEnded = false;
  #hasEndedCalls = false;
  /** @internal Whether the channel is destroyed. After its destruction, hooks and handlers no longer run. */
  isDestroyed = false;
  #onDestroy;
  #destroyed = new Promise((resolve) => (this.#onDestroy = resolve));
  /** Whether the stream of the peer has ended. Received frames may still wait. */
  #isAtEnd = false;
  /** Whether a hook runs. Frames that a hook sends count as caused by the peer. */
  #isInHook = false;
  /** The number of messages since the decoder was last started. */
  #handledMessages = 0;
  #isResuming = false;
  /** The time limit of the current turn of the event loop. */
  #turn = new Turn();
  #stepsSinceClockRead = 0;
  /** Whether the remaining frames at the end of the stream are dropped, because the peer does not read. */
  #isStalled = false;
  /** The functions that resume waiting operations. */
  #wakers = [];
  /**
   * The frame that `headerTimeout` runs for.
   * @type {WipcDecoder["partial"]}
   */
  #timedFrame = undefined;
  /** @type {import("./timers.js").Timer} */
  #headerTimer = undefined;
  /** @type {import("./timers.js").Timer} */
  #closeTimer = undefined;
  /** @type {import("./timers.js").Timer} */
  #writeTimer = undefined;
  /** @type {import("./timers.js").Timer} */
  #responseTimer = undefined;
  /** @type {import("./timers.js").Timer} */
  #stallTimer = undefined;

  /**
   * @param {any} streams
   * @param {import("../../types/wipc.js").WipcChannelOptions} [options]
   */
  constructor(streams, options = {}) {
    if (typeof streams?.readable?.getReader !== "function" || typeof streams.writable?.getWriter !== "function") {
      throw new TypeError("streams must be { readable, writable }, a ReadableStream and a WritableStream of bytes");
    }
    const { role = "host", headerTimeout = 0, closeTimeout = 0, maxMessage = MAX_MESSAGE_BYTES } = options;
    if (role !== "host" && role !== "guest") throw new TypeError(`role must be "host" or "guest", got ${String(role)}`);
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
        // Only the length and the beginning of a message that exceeds the limit are stored.
        skips: (type, length) => type === WipcType.CALL && length > this.#maxMessage && !this.#hasCallHook,
        skipped: (type, length, beginning) => this.#receive(type, new OversizeMessage(length, beginning)),
      },
      { maxPayload: options.maxPayload },
    );
    this.#reader = streams.readable.getReader();
    this.#writer = streams.writable.getWriter();
    this.#frameWriter = new FrameWriter(this.#writer, this.#turn, () => this.wake(), streams.writable.writeNow);
    this.#writer.closed.catch((error) => this.#onWriteError(error));
    // `closed` reports the end of the stream even while reading is paused.
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
    if (text === undefined) throw new TypeError(`cannot serialize a value of type ${typeof value} as JSON`);
    return this.send(type, text);
  }

  /**
   * @param {import("../../types/wipc.js").WipcPayload | null} [payload]
   * @param {{ timeout?: number }} [options]
   */
  close(payload, { timeout = this.#options.closeTimeout ?? CLOSE_TIMEOUT } = {}) {
    const frame = encodeWipc(WipcType.CLOSE, payload);
    checkTimeout("timeout", timeout);
    if (this.#closedError === undefined) {
      this.#closeForSending("closed", "the channel is closed");
      this.#write(frame);
      this.#frameWriter.end();
      // If the stream has ended and the writer has room, the channel is not destroyed, and handles the remaining
      // frames.
      const onTimeout = () => (this.#isAtEnd && !this.isFull) || this.destroy();
      if (!this.#hasEnded) this.#closeTimer = startTimer(onTimeout, timeout);
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
      // Handlers may answer within a few microtasks.
      await runMicrotasks();
    } while (this.#isPaused);
    // The last write of an aborted stream may never end, so `destroy` ends this wait.
    await Promise.race([this.#lastWrite, this.#destroyed]);
  }

  /** @internal Sends a message. If the peer caused the message, reading may pause until the message is written. */
  sendMessage(text, isPeerCaused) {
    const frame = encodeWipc(WipcType.CALL, text);
    this.checkLength(frame.length - HEADER_BYTES);
    if (this.#closedError !== undefined) throw this.#closedError;
    this.#write(frame, isPeerCaused);
    // The response to this message may follow bytes that are not read yet, so reading may have to continue.
    if (!isPeerCaused) this.wake();
  }

  /** @internal Throws if a message is longer than `maxMessage`. `sizeText` is the size in the text of the error. */
  checkLength(size, sizeText = size) {
    if (size <= this.#maxMessage) return;
    throw new RangeError(
      `a message must have at most ${this.#maxMessage} bytes, got ${sizeText}; maxMessage sets the limit of each peer`,
    );
  }

  /** @internal Returns whether the unwritten frames that the peer caused exceed the limit. */
  get isFull() {
    return this.#frameWriter.isFull && !this.isDestroyed;
  }

  /** @internal Resolves once handlers had time to answer, the writer has room, and the turn has time left. */
  async untilWritable() {
    await runMicrotasks();
    while (this.isFull) await this.#untilWoken();
    if (this.#turn.isOver()) await this.#turn.next();
  }

  /** @internal Resumes the waiting operations, which check their conditions again. */
  wake() {
    for (const resolve of this.#wakers.splice(0)) resolve();
  }

  #untilWoken() {
    return new Promise((resolve) => this.#wakers.push(resolve));
  }

  async #read() {
    // The creator of the channel can finish its setup first.
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
      error ??= new WipcClosedError(
        "ended",
        "the peer has ended and does not read responses: its last frames were dropped",
      );
    this.#decode(() => this.#decoder.finish());
    this.#hasEnded = true;
    [this.#headerTimer, this.#closeTimer, this.#writeTimer, this.#responseTimer, this.#stallTimer].forEach(
      clearTimeout,
    );
    // A guest may still be answering its last requests.
    if (!this.#isGuest) {
      this.#closeForSending("ended", "the peer has ended", error);
      this.#frameWriter.end();
    }
    this.#endPendingCalls(error);
    return { closed: this.#isClosedByPeer, error };
  }

  /** Handles the remaining frames at the end of the stream. Stops if the peer reads nothing for `closeTimeout`. */
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

  /** Returns whether received frames wait, because other tasks run first or because the peer must read responses. */
  get #isPaused() {
    return this.#decoder.isStopped && !this.isDestroyed && !this.#isStalled;
  }

  /**
   * Returns whether more bytes may be read. A paused channel reads ahead up to a limit, to notice the end of the
   * stream. The limit is higher while outgoing calls are pending, because two paused peers would never read the
   * responses to each other's calls.
   */
  get #mayRead() {
    if (!this.#isPaused || this.#isAtEnd) return true;
    return this.#decoder.queuedBytes <= (this.#transport?.isWaiting() ? MAX_UNWRITTEN_BYTES : READ_AHEAD);
  }

  /** Handles the received frames that wait, whenever the writer has room. */
  async #resume() {
    if (this.#isResuming) return;
    this.#isResuming = true;
    while (this.#isPaused) {
      await this.untilWritable();
      // While too many payloads wait for a handler, no frame is handled. After the end of the stream, all frames are
      // handled.
      while (this.#transport?.isFull && !this.#isAtEnd && !this.isDestroyed) await this.#untilWoken();
      if (!this.#isPaused) break;
      this.#decode(() => this.#decoder.resume());
      // There is room to read ahead again.
      this.wake();
    }
    this.#isResuming = false;
    this.wake();
  }

  /** Returns whether CALL frames go to the application's `onCall`. `maxMessage` does not apply to these frames. */
  get #hasCallHook() {
    return this.#transport === undefined && this.#options.onCall !== undefined;
  }

  #receive(type, payload) {
    this.#dispatch(type, payload);
    const isFull = this.#handledMessages >= MAX_MESSAGES_AT_ONCE || this.#frameWriter.isFull || this.#transport?.isFull;
    if (isFull || this.isDestroyed || this.#isTurnOver(payload.length)) this.#decoder.stop();
  }

  /** Returns whether the turn is over. Called after each frame and each chunk, with its length. */
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
        // Without the hook `onCall`, CALL frames wait for the transport.
        if (this.#hasCallHook) return this.#runHook("onCall", payload);
        this.#handledMessages += 1;
        return this.transport().receive(
          payload.length > this.#maxMessage
            ? new OversizeMessage(payload.length, payload.slice(0, MAX_BEGINNING))
            : payload,
        );
      case WipcType.CLOSE:
        // CLOSE is the last frame of a peer, so a second one is ignored.
        if (this.#isClosedByPeer) return;
        this.#isClosedByPeer = true;
        if (!this.#isGuest) {
          this.#closeForSending("closed-by-peer", "the peer has closed the channel");
          this.#frameWriter.end();
          // Responses may follow CLOSE, up to the end of the stream.
          this.#responseTimer ??= startTimer(() => this.#endPendingCalls(), CLOSE_TIMEOUT);
        }
        return this.#runHook("onClose", payload);
    }
  }

  /** Ends the pending calls. A guest continues to answer requests until its channel is destroyed. */
  #endPendingCalls(error) {
    if (this.#hasEndedCalls && !this.#hasEnded) return;
    this.#hasEndedCalls = true;
    const text = this.#isClosedByPeer ? "the peer has closed the channel" : "the stream has ended";
    const end = error ?? new WipcClosedError(this.#isClosedByPeer ? "closed-by-peer" : "ended", text);
    this.#transport?.handleClose(end, this.#isGuest && !this.isDestroyed);
  }

  #write(frame, isPeerCaused) {
    const written = this.#frameWriter.write(frame, isPeerCaused);
    // The application need not await the write: `ended` reports its failure.
    this.#lastWrite = written.catch(() => {});
    return written;
  }

  #onWriteError(error) {
    this.#closeForSending("ended", "the peer no longer reads", error);
    const endCalls = () => {
      // Responses may be among the received frames that are not handled yet.
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
    // After the CLOSE of the host, no further response arrives.
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
        return void this.#options.onError(error)?.then?.(undefined, (thrown) => [thrown, error].forEach(logError));
      }
    } catch (thrown) {
      logError(thrown);
    }
    logError(error);
  }
}

/** Resolves after a few microtasks, in which handlers that do not wait can answer. */
async function runMicrotasks() {
  for (let step = 0; step < MICROTASKS_PER_TURN; step++) await undefined;
}
