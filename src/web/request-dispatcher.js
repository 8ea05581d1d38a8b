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
import { StreamBudget, isStream, iteratorOf, parseStreamRequest } from "./stream-producer.js";
import { STREAM } from "./stream-protocol.js";
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

  isRunning(request) {
    return this.#running[request.slot] === request;
  }

  /** Runs the handler of a request. */
  dispatch(slot, request, batch) {
    request.slot = slot;
    request.batch = batch;
    // A message before it in its batch may have ended the session.
    if (request.hasSessionEnded) return this.#respond(request, undefined);
    this.#running[slot] = request;
    if (this.#lingering.size >= LINGERING_FACTOR * this.#link.maxInFlight || this.atWork?.add(request) === false)
      return this.#answer(request, TOO_MANY);
    let result;
    try {
      const sent = request.takeParams();
      const params = request.method === STREAM ? parseStreamRequest(request, sent, this.#spareCredit()) : sent;
      result = this.#findHandler("methods", request)?.(normalizeParams(params), request);
    } catch (thrown) {
      return this.#fail(request, thrown);
    }
    if (request.server !== undefined) return this.#settleResult(request, result);
    this.#answer(request, { code: METHOD_NOT_FOUND, message: `Method not found: ${truncate(request.method)}` });
  }

  /** Answers a request with a result, or with what the result promises: that may be a promise again. */
  #settleResult(request, result) {
    try {
      if (typeof result?.then === "function") {
        result.then(
          (value) => (value === result ? this.#fail(request, SELF_RESOLVED) : this.#settleResult(request, value)),
          (thrown) => this.#fail(request, thrown),
        );
        return;
      }
      if (request.producer !== undefined) {
        const answer = () => this.#answer(request);
        const source = this.atWork === undefined ? result : this.atWork.paced(iteratorOf(result));
        return void request.producer
          .run(this.#link, this.#streamBudget, request, source)
          .then(answer, (thrown) => this.#fail(request, thrown));
      }
      // A stream that is transferred is a result as any other.
      if (isStream(result) && !request.transferList?.includes(result)) {
        this.#link.runUserCode(() => iteratorOf(result).return?.());
        throw new RPCError(INTERNAL_ERROR, `method "${truncate(request.method)}" returns a stream; use stream()`);
      }
    } catch (thrown) {
      return this.#fail(request, thrown);
    }
    this.#answer(request, undefined, result);
  }

  /** Runs the handler that each server has for a notification. Where none has one, a handler of requests runs. */
  dispatchNotification(request) {
    if (request.hasSessionEnded) return;
    if (this.servers.length > 1) {
      const listening = this.servers.filter(({ notifications }) => notifications.has(request.method));
      if (listening.length > 1) return this.#notifyAll(listening, request);
    }
    const handler = this.#findHandler("notifications", request) ?? this.#findHandler("methods", request);
    if (handler !== undefined) this.#link.runUserCode(() => handler(normalizeParams(request.takeParams()), request));
  }

  #notifyAll(servers, request) {
    const params = normalizeParams(request.takeParams());
    for (const server of servers) {
      // A handler before it may have destroyed this server.
      const handler = server.notifications.get(request.method);
      if (handler !== undefined) this.#link.runUserCode(() => handler(params, request.forServer(server)));
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
    return this.#running.reduce((spare, request) => spare - (request?.producer?.maxCredit ?? 0), MAX_PEER_CREDIT);
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
    const requests = this.#running.filter((request) => request?.server === server);
    if (!saysGoodbye) for (const request of requests) this.#answer(request, SERVER_DESTROYED);
    server.isGone = true;
    for (const request of requests) request.abort(SERVER_STOPPED);
  }

  /** Tells wasm that no request that is being worked on gets an answer any more. */
  discardAll() {
    for (const request of this.#running) {
      if (request !== undefined) this.#respond(request, undefined);
    }
  }

  /** Nothing that is being worked on is answered any more. With an `end`, another session may begin. */
  abortAll(end) {
    const running = this.#running.filter((request) => request !== undefined);
    this.#running = [];
    this.#batchReplies.clear();
    this.atWork?.clear();
    for (const request of running) {
      if (end !== undefined) this.#lingering.add(request);
      request.abort(end ?? SERVER_STOPPED);
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
    const pending = this.#running.filter((request) => request !== undefined);
    const replies = pending.map(({ id }) => ({ message: { jsonrpc: "2.0", error, id } }));
    replies.unshift(...[...this.#batchReplies.values()].filter((reply) => reply !== undefined));
    this.abortAll();
    return replies;
  }

  /** The request with this id that is being worked on: the newest, if there are several. */
  #find(id) {
    if (id !== undefined) return this.#running.findLast((request) => request?.id === id);
  }

  /** The handler that the context asks for, which also learns whose it is. */
  #findHandler(kind, request) {
    for (const server of this.servers) {
      const handler = server[kind].get(request.method);
      if (handler !== undefined) {
        request.server = server;
        return handler;
      }
    }
  }

  #fail(request, thrown) {
    // Where no peer gets the answer, the server is not asked.
    const errorData = this.isRunning(request) ? request.server?.errorData : undefined;
    this.#answer(request, serializeError(thrown, request.startedSignal, errorData, this.#link));
  }

  /** Answers a request with an error object, or else with a result. */
  #answer(request, error, result) {
    // The session or this side may have ended meanwhile. If the handler has stopped for that, or returned, nothing is reported.
    this.#lingering.delete(request);
    if (!this.isRunning(request))
      return void (error === undefined || error.code === REQUEST_CANCELLED || request.isReplyDropped());
    const { id } = request;
    if (error !== undefined) request.transferList = undefined;
    const message =
      error === undefined
        ? // JSON has no undefined: without a result the message would be no response.
          { jsonrpc: "2.0", result: result === undefined ? null : result, id }
        : { jsonrpc: "2.0", error, id };
    this.#running[request.slot] = undefined;
    this.#respond(request, message);
  }

  #respond(request, message) {
    this.#link.respond(request, message, request.batch === undefined ? 0 : this.#storeBatchReply(request, message));
    this.atWork?.delete(request);
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
