// The receiving side of a link. Reads messages, handles the notifications of the protocol, and passes all other
// messages to wasm. This file is on the hot path: wasm receives and returns only numbers.

import { chooseLink, hasOtherPendingCalls } from "./boundaries.js";
import { now } from "./clock.js";
import { COLUMNS, decodeColumns } from "./columns.js";
import { encodeId, hasName, isMessage, isMessageOrBatch, isResponse, separateResponses } from "./envelope.js";
import { TRAPPED_ERROR } from "./errors.js";
import { IncomingMessage } from "./incoming-message.js";
import { MAX_LIST_LENGTH } from "./limit-values.js";
import { CANCEL, CANCEL_ID, CANCEL_REASON, PROGRESS, PROGRESS_TOKEN, PROGRESS_VALUE } from "./profile.js";
import { ParamsIsolator } from "./shared-params.js";
import { CREDIT, ITEM, STREAM } from "./stream-protocol.js";
import { UnreadableTimer } from "./unreadable-timer.js";
import {
  ARGUMENT_SHIFT,
  HAS_MORE,
  NOTIFICATION,
  OPERATION,
  PUSH,
  RECEIVE,
  RECEIVE_BATCH,
  RECEIVE_UNREADABLE,
  REQUEST,
  RESOLVE,
} from "./wasm-abi.js";

export class MessageReceiver {
  #link;
  #transport;
  #internals;
  #limits;
  #wasm;
  #pendingCalls;
  #dispatcher;
  #sendQueue;
  #executor;
  /**
   * The session of the messages that arrive now. A session is the time in which the peer is the same document, worker
   * or process. `end` is a `CallError` once the session has ended. On a transport without sessions, a session lasts
   * until the peer is lost.
   */
  #session;
  #unreadableTimer;

  constructor(link, { transport, internals, limits, wasm, pendingCalls, dispatcher, sendQueue, executor }) {
    this.#link = link;
    this.#transport = transport;
    this.#internals = internals;
    this.#limits = limits;
    this.#wasm = wasm;
    this.#pendingCalls = pendingCalls;
    this.#dispatcher = dispatcher;
    this.#sendQueue = sendQueue;
    this.#executor = executor;
    this.#session = { link, end: undefined };
    this.#unreadableTimer = new UnreadableTimer(
      () => pendingCalls.ids(),
      (error) => this.receiveUnreadable(error, [undefined]),
    );
  }

  /** Ends the session of the messages that have arrived so far. Later messages belong to another session. */
  endSession(end) {
    this.#session.end = end;
    this.#session = { link: this.#link, end: undefined };
  }

  stop() {
    this.#unreadableTimer.stop();
  }

  /** Receives a message, or an array of messages. */
  receive(message) {
    try {
      // For a revoked proxy, `Array.isArray` throws.
      if (!Array.isArray(message)) return this.#receiveSingle(message);
      if (this.#link.closed || !isMessageOrBatch(message)) return;
      if (!this.#sendQueue.acceptsLists || message.length > MAX_LIST_LENGTH) return this.#receiveBatch(message);
      const [responses, others] = separateResponses(message);
      if (responses.length > 0) this.#receiveBatch(responses);
      this.#receiveList(others, false);
    } catch (error) {
      this.#link.report(error);
    }
  }

  /**
   * Handles the messages of a list, until their session ends. All messages are read before the first handler runs. If
   * `areDistinct` is false, the list may contain one object several times.
   */
  #receiveList(list, areDistinct) {
    const session = this.#session;
    const isolator = new ParamsIsolator();
    const messages = [];
    for (const item of list) messages.push(this.#read(item, isolator, areDistinct));
    for (const message of messages) if (message !== undefined && session.end === undefined) this.#handle(message, true);
  }

  #receiveSingle(value) {
    const message = this.#read(value, undefined, true);
    if (message !== undefined) this.#handle(message, false);
  }

  /**
   * Returns the message for a value, or undefined if the value is not a message. `isolator` makes sure that the
   * messages of a list share no params. If `isDistinct` is false, the list may contain one object several times. If
   * this object is a message with an id, only its first occurrence is read.
   */
  #read(value, isolator, isDistinct) {
    // If the transport does not clone messages, the members of a value may be getters that throw.
    try {
      if (isMessage(value) && (isDistinct || !isolator.isDuplicate(value))) {
        const origin = this.#internals.lastOrigin?.();
        return new IncomingMessage(this.#session, value, this.#limits.idLength, isolator, origin);
      }
    } catch (error) {
      this.#link.report(error);
    }
  }

  #handle(message, isListItem) {
    try {
      if (this.#link.closed) return;
      this.#link.markConnected();
      if (message.method !== undefined && !this.#handleControlOrAccept(message, isListItem)) return;
      const output = this.#wasm.run(RECEIVE, message.shape, encodeId(message.id, 0));
      // For speed, the most frequent operations are executed here and not by the executor.
      const operation = output & (OPERATION | HAS_MORE);
      if (operation === RESOLVE) return this.#pendingCalls.resolve(output >>> ARGUMENT_SHIFT, message.result);
      if (operation === REQUEST) return this.#dispatcher.dispatch(output >>> ARGUMENT_SHIFT, message);
      if (operation === NOTIFICATION) return this.#dispatcher.dispatchNotification(message);
      if (this.#wasm.trapError === undefined) this.#executor.execute(output, message);
      else this.#sendQueue.rejectRequests(message, TRAPPED_ERROR);
    } catch (error) {
      this.#link.report(error);
    }
  }

  #receiveBatch(items) {
    const session = this.#session;
    this.#link.markConnected();
    /** @type {IncomingMessage[]} */
    const elements = [];
    // A running request needs the ids of its batch, and so refers to this object. The elements are released at the end
    // of this method, while requests may still run.
    /** @type {{ elements: IncomingMessage[] | undefined, ids: unknown[] }} */
    const batch = { elements, ids: [] };
    /** Cancellations and credit for requests that precede them in the batch. They are handled after the batch. */
    const later = [];
    const positions = new Map();
    const isolator = new ParamsIsolator();
    const origin = this.#internals.lastOrigin?.();
    const { batchItems, idLength } = this.#limits;
    let otherCount = 0;
    let responseCount = 0;
    // All items are read before wasm is called, because a getter of an item may throw, or may call this method.
    for (const item of items) {
      if (isolator.isDuplicate(item)) continue;
      const message = new IncomingMessage(
        session,
        item,
        idLength,
        otherCount > batchItems ? undefined : isolator,
        origin,
      );
      // Wasm refuses a batch that has more than `batchItems` messages besides responses. So one message above this
      // limit is enough for the refusal, and further messages are skipped. At most `capacity` responses belong to
      // pending calls. Responses above `capacity` plus `batchItems` are also skipped.
      const isResponseItem = isResponse(message.shape);
      if (isResponseItem ? responseCount++ > this.#pendingCalls.capacity + batchItems : otherCount++ > batchItems)
        continue;
      if (elements.length > 0 && message.id === undefined && [CANCEL, CREDIT].includes(message.method)) {
        later.push(message);
        continue;
      }
      if (message.method !== undefined && !this.#handleControlOrAccept(message, true)) continue;
      // Later items and progress of an answered call are ignored.
      if (isResponseItem) this.#pendingCalls.observers.delete(message.id);
      else if (!positions.has(message.id)) positions.set(message.id, elements.length);
      batch.ids.push(isResponseItem ? undefined : message.id);
      elements.push(message);
    }
    if (this.#link.closed || session.end !== undefined || elements.length === 0) return;
    for (const { shape, id } of elements) this.#wasm.run(PUSH, shape, encodeId(id, positions.get(id) ?? 0));
    const output = this.#wasm.run(RECEIVE_BATCH);
    if (this.#wasm.trapError === undefined) this.#executor.execute(output, undefined, batch);
    else this.#sendQueue.rejectRequests(elements, TRAPPED_ERROR);
    batch.elements = undefined;
    for (const message of later) if (session.end === undefined) this.#handle(message, true);
  }

  /**
   * If a message is a notification of the protocol, handles it and returns false. For any other message, and for
   * progress that no call observes, returns whether this link accepts the message. A link without servers accepts no
   * requests and no notifications, so that other links on its boundary handle them.
   */
  #handleControlOrAccept(message, isListItem) {
    const { method, params, id, shape } = message;
    if (id === undefined && hasName(shape)) {
      if (method === PROGRESS) {
        const observer = this.#pendingCalls.observers.get(params?.[PROGRESS_TOKEN]);
        if (observer?.onProgress !== undefined) {
          this.#handleProgress(observer, params[PROGRESS_VALUE]);
          return false;
        }
      } else if (method === CANCEL) {
        this.#dispatcher.cancel(params?.[CANCEL_ID], params?.[CANCEL_REASON]);
        return false;
      } else if (method === COLUMNS) {
        this.#receiveColumns(params, isListItem);
        return false;
      } else if (method.startsWith("rpc.")) {
        this.#handleProtocolNotification(method, params);
        return false;
      }
    }
    if (this.#dispatcher.servers.length === 0) return false;
    return id === undefined || this.#internals.boundary.links.size < 2 || this.#shouldAnswer(message);
  }

  /** Returns whether this link answers a request that other links on its boundary also receive. */
  #shouldAnswer({ method, params, id, origin }) {
    const requested = method === STREAM ? params?.method : method;
    const link = this.#link;
    // If the rank is 0, this link does not accept requests from the boundary itself. So this request has arrived in the
    // session of this link, and no other link has received it.
    if (link.answerRank(requested, origin, id) === 0) return true;
    return link === chooseLink(this.#internals.boundary, link, requested, origin, id);
  }

  /**
   * Handles an unreadable message. `answeredIds` has the ids of the calls that the message answers; an unknown id is
   * undefined. `answeredIds` is null if it is unknown whether the message is an answer.
   */
  receiveUnreadable(error, answeredIds) {
    if (answeredIds === null) return this.#unreadableTimer.start(error);
    const link = this.#link;
    for (const id of answeredIds) {
      if (link.closed || (id === undefined && hasOtherPendingCalls(this.#internals.boundary, link))) continue;
      this.#executor.execute(this.#wasm.run(RECEIVE_UNREADABLE, id ?? -1), { error });
    }
  }

  #receiveColumns(params, isListItem) {
    // Columns in a list are refused, because nested columns could describe any number of messages in a few bytes.
    const messages = isListItem ? [] : decodeColumns(Object(params));
    if (messages.length === 0) this.#link.ignored++;
    this.#receiveList(messages, true);
  }

  /** Handles progress of a call. The progress restarts the timeout of the call. */
  #handleProgress({ slot, onProgress, timeout, end }, value) {
    if (timeout >= 0) this.#link.resetTimeout(slot, timeout, end, now());
    this.#link.runUserCode(() => onProgress(value));
  }

  #handleProtocolNotification(method, params) {
    if (method === ITEM) this.#pendingCalls.observers.get(params?.id)?.item?.(params.value);
    else if (method === CREDIT) this.#dispatcher.addCredit(params?.id, params?.count);
    else this.#link.runUserCode(() => this.#transport.onControl?.(method, params));
  }
}
