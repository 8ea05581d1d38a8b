// Serves the peer's requests and notifications: finds handlers, runs them, and sees to it that each request is answered
// once.

import {
  CallError,
  INTERNAL_ERROR,
  METHOD_NOT_FOUND,
  REQUEST_CANCELLED,
  RPCError,
  truncate,
  serializeError,
} from "./errors.js";
import { CALL_TIMEOUT, LINGERING_FACTOR, MAX_PEER_CREDIT } from "./limit-values.js";
import { STREAM, StreamBudget, isStream, iteratorOf, parseStreamRequest } from "./streams.js";
import { setTimer } from "./timers.js";

export class RequestDispatcher {
  /** Who serves, newest first: objects with the maps `methods` and `notifications`. */
  servers = [];
  /** Counts the requests that are being worked on, for a transport that bounds them: a set whose `add` may return false. */
  atWork = undefined;
  #link;
  /** The requests that are being worked on, by slot. */
  #running = [];
  /** The budget of the streams. */
  #streamBudget = new StreamBudget();
  /** Replies that wait for the rest of their batch. */
  #batchReplies = new Map();
  #lastReplyToken = 0;
  /** The requests of sessions that have ended whose handlers go on. They count for a while, so that a peer gains nothing by it. */
  #lingering = new Set();
  #lingeringTimer;

  constructor(link) {
    this.#link = link;
  }

  isRunning(context) {
    return this.#running[context.slot] === context;
  }

  /** Runs the handler of a request. */
  dispatch(slot, context, batch) {
    context.slot = slot;
    context.batch = batch;
    // A message before it in its batch may have ended the session.
    if (context.hasSessionEnded) return this.#respond(context, undefined);
    this.#running[slot] = context;
    if (this.#lingering.size >= LINGERING_FACTOR * this.#link.maxInFlight || this.atWork?.add(context) === false)
      return this.#answer(context, TOO_MANY);
    let result;
    try {
      const sent = context.takeParams();
      const params = context.method === STREAM ? parseStreamRequest(context, sent, this.#spareCredit()) : sent;
      result = this.#findHandler("methods", context)?.(normalizeParams(params), context);
    } catch (thrown) {
      return this.#fail(context, thrown);
    }
    if (context.server !== undefined) return this.#settleResult(context, result);
    this.#answer(context, { code: METHOD_NOT_FOUND, message: `Method not found: ${truncate(context.method)}` });
  }

  /** Answers a request with a result, or with what the result promises: that may be a promise again. */
  #settleResult(context, result) {
    try {
      if (typeof result?.then === "function") {
        result.then(
          (value) => (value === result ? this.#fail(context, SELF_RESOLVED) : this.#settleResult(context, value)),
          (thrown) => this.#fail(context, thrown),
        );
        return;
      }
      if (context.producer !== undefined) {
        const answer = () => this.#answer(context);
        const source = this.atWork === undefined ? result : this.atWork.paced(iteratorOf(result));
        return void context.producer
          .run(this.#link, this.#streamBudget, context, source)
          .then(answer, (thrown) => this.#fail(context, thrown));
      }
      // A stream that is transferred is a result as any other.
      if (isStream(result) && !context.transferList?.includes(result)) {
        this.#link.runUserCode(() => iteratorOf(result).return?.());
        throw new RPCError(INTERNAL_ERROR, `"${truncate(context.method)}" gives a stream: call it by stream()`);
      }
    } catch (thrown) {
      return this.#fail(context, thrown);
    }
    this.#answer(context, undefined, result);
  }

  /** Runs the handler that each server has for a notification. Where none has one, a handler of requests runs. */
  dispatchNotification(context) {
    if (context.hasSessionEnded) return;
    if (this.servers.length > 1) {
      const listening = this.servers.filter(({ notifications }) => notifications.has(context.method));
      if (listening.length > 1) return this.#notifyAll(listening, context);
    }
    const handler = this.#findHandler("notifications", context) ?? this.#findHandler("methods", context);
    if (handler !== undefined) this.#link.runUserCode(() => handler(normalizeParams(context.takeParams()), context));
  }

  #notifyAll(servers, context) {
    const params = normalizeParams(context.takeParams());
    for (const server of servers) {
      // A handler before it may have destroyed this server.
      const handler = server.notifications.get(context.method);
      if (handler !== undefined) this.#link.runUserCode(() => handler(params, context.forServer(server)));
    }
  }

  /** 2 if a server here has a method, 1 if it has only others, 0 if there is no server. */
  rank(method) {
    if (this.servers.length === 0) return 0;
    return this.servers.some(({ methods }) => methods.has(method)) ? 2 : 1;
  }

  /** The peer no longer wants the answer to its request with this id. */
  cancel(id) {
    this.#find(id)?.abort();
  }

  /** The peer takes more items of the stream that it asked for under this id. */
  addCredit(id, count) {
    this.#find(id)?.producer?.addCredit(count, this.#spareCredit());
  }

  /** How much more credit the streams of the peer may have. */
  #spareCredit() {
    return this.#running.reduce((spare, context) => spare - (context?.producer?.maxCredit ?? 0), MAX_PEER_CREDIT);
  }

  /** Gives out a reply that waited for its batch. */
  takeBatchReply(token) {
    const reply = this.#batchReplies.get(token);
    this.#batchReplies.delete(token);
    return reply;
  }

  /** A server was destroyed. Its running requests are answered with an error, unless the peer gets a goodbye. */
  removeServer(server, saysGoodbye) {
    this.servers = this.servers.filter((other) => other !== server);
    const requests = this.#running.filter((context) => context?.server === server);
    if (!saysGoodbye) for (const context of requests) this.#answer(context, SERVER_DESTROYED);
    server.isGone = true;
    for (const context of requests) context.abort(SERVER_STOPPED);
  }

  /** Tells wasm that no request that is being worked on gets an answer any more. */
  discardAll() {
    for (const context of this.#running) {
      if (context !== undefined) this.#respond(context, undefined);
    }
  }

  /** Nothing that is being worked on is answered any more. With an `end`, another session may begin. */
  abortAll(end) {
    const running = this.#running.filter((context) => context !== undefined);
    this.#running = [];
    this.#batchReplies.clear();
    this.atWork?.clear();
    for (const context of running) {
      if (end !== undefined) this.#lingering.add(context);
      context.abort(end ?? SERVER_STOPPED);
    }
    // A handler that never ends is the application's. It is not to block all sessions that follow.
    if (end === undefined) this.#clearLingering();
    else if (this.#lingering.size > 0) this.#lingeringTimer ??= setTimer(() => this.#clearLingering(), CALL_TIMEOUT);
    this.#lingeringTimer?.unref?.();
  }

  #clearLingering() {
    if (this.#lingeringTimer !== undefined) this.#lingeringTimer = clearTimeout(this.#lingeringTimer);
    this.#lingering.clear();
  }

  /** Gives up all requests, and what has been answered but not been sent: the replies, with an error for the rest. */
  failAll(error) {
    const pending = this.#running.filter((context) => context !== undefined);
    const replies = pending.map(({ id }) => ({ message: { jsonrpc: "2.0", error, id } }));
    replies.unshift(...[...this.#batchReplies.values()].filter((reply) => reply !== undefined));
    this.abortAll();
    return replies;
  }

  /** The request with this id that is being worked on: the newest, if there are several. */
  #find(id) {
    if (id !== undefined) return this.#running.findLast((context) => context?.id === id);
  }

  /** The handler that the context asks for, which also learns whose it is. */
  #findHandler(kind, context) {
    for (const server of this.servers) {
      const handler = server[kind].get(context.method);
      if (handler !== undefined) {
        context.server = server;
        return handler;
      }
    }
  }

  #fail(context, thrown) {
    // Where no peer gets the answer, the server is not asked.
    const errorData = this.isRunning(context) ? context.server?.errorData : undefined;
    this.#answer(context, serializeError(thrown, context.startedSignal, errorData, this.#link));
  }

  /** Answers a request with an error object, or else with a result. */
  #answer(context, error, result) {
    // The session or this side may have ended meanwhile. If the handler has stopped for that, or returned, nothing is reported.
    this.#lingering.delete(context);
    if (!this.isRunning(context))
      return void (error === undefined || error.code === REQUEST_CANCELLED || context.isReplyDropped());
    const { id } = context;
    if (error !== undefined) context.transferList = undefined;
    const message =
      error === undefined
        ? // JSON has no undefined: without a result the message would be no response.
          { jsonrpc: "2.0", result: result === undefined ? null : result, id }
        : { jsonrpc: "2.0", error, id };
    this.#running[context.slot] = undefined;
    this.#respond(context, message);
  }

  #respond(context, message) {
    this.#link.respond(context, message, context.batch === undefined ? 0 : this.#storeBatchReply(context, message));
    this.atWork?.delete(context);
  }

  #storeBatchReply({ transferList, method }, message) {
    this.#lastReplyToken = (this.#lastReplyToken + 1) % 2 ** 25;
    this.#batchReplies.set(this.#lastReplyToken, message && { message, transfer: transferList, method });
    return this.#lastReplyToken;
  }
}

const TOO_MANY = { code: -32600, message: "Invalid Request", data: { reason: "too-many-requests" } };

const SERVER_DESTROYED = { code: INTERNAL_ERROR, message: "JSON-RPC server destroyed", data: { reason: "destroyed" } };

/** What ends a promise of itself, as in promises of the language: followed, it would fill the stack. */
const SELF_RESOLVED = /* @__PURE__ */ new TypeError("a promise is its own result");

/** Why a handler is told to stop. */
const SERVER_STOPPED = /* @__PURE__ */ new CallError("destroyed", "JSON-RPC server destroyed");

/** Peers in the field send null for no params. */
function normalizeParams(params) {
  return params === null ? undefined : params;
}
