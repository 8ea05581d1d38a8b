// Dispatches requests and notifications from the peer: finds their handlers, runs them, and answers each request once.

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

/**
 * The destroyed servers. This state is not a member of the server, because the server is an object of the application.
 */
export const destroyedServers = /* @__PURE__ */ new WeakSet();

export class RequestDispatcher {
  /** The servers, newest first: objects with the maps `methods` and `notifications`. */
  servers = [];
  /**
   * The set in which a transport counts the running requests; undefined if the transport does not limit them. `add`
   * returns false to refuse a request. `paced` returns an iterator of the items in its argument. The iterator waits
   * while too much output is unsent.
   * @type {{
   *   add(request: any): boolean, delete(request: any): void, clear(): void, paced(items: any): any
   * } | undefined}
   */
  inFlight = undefined;
  /** Whether the peer may request streams. */
  servesStreams = true;
  #link;
  /** The running requests, by slot. */
  #running = [];
  #streamBudget = new StreamBudget();
  /** The replies that wait for the other replies of their batch, by token. */
  #batchReplies = new Map();
  #lastReplyToken = 0;
  /**
   * Requests that have ended without a response, and whose handlers still run: requests of ended sessions, and requests
   * that `discard` has ended. Their number is limited, because a peer could otherwise start any number of handlers by
   * new sessions or by cancellations. After the end of a session, a timer clears the set.
   */
  #lingeringRequests = new Set();
  #endedSessionTimer;

  constructor(link) {
    this.#link = link;
  }

  isRunning(request) {
    return this.#running[request.slot] === request;
  }

  /** Runs the handler of a request, and answers the request. */
  dispatch(slot, request, batch) {
    request.slot = slot;
    request.batch = batch;
    // An earlier message of the batch may have ended the session.
    if (request.hasSessionEnded) return this.#respond(request, undefined);
    this.#running[slot] = request;
    if (
      this.#lingeringRequests.size >= LINGERING_FACTOR * this.#link.maxInFlight ||
      this.inFlight?.add(request) === false
    )
      return this.#answer(request, TOO_MANY);
    let result;
    try {
      const sentParams = request.takeParams();
      const params =
        request.method === STREAM && this.servesStreams
          ? parseStreamRequest(request, sentParams, this.#spareCredit())
          : sentParams;
      result = this.#findHandler("methods", request)?.(normalizeParams(params), request);
    } catch (thrown) {
      return this.#fail(request, thrown);
    }
    // `servesStreams` is false only in MCP, where each peer answers `ping` (MCP 2025-11-25, basic/utilities/ping).
    if (request.server !== undefined || (request.method === "ping" && !this.servesStreams))
      return this.#settleResult(request, result);
    this.#answer(request, { code: METHOD_NOT_FOUND, message: `Method not found: ${truncate(request.method)}` });
  }

  /**
   * Answers a request with a result. The result may be a stream or a promise. A promise may resolve to another promise.
   */
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
        const source = this.inFlight === undefined ? result : this.inFlight.paced(iteratorOf(result));
        return void request.producer
          .run(this.#link, this.#streamBudget, request, source)
          .then(answer, (thrown) => this.#fail(request, thrown));
      }
      // A stream that is transferred is a plain result.
      if (isStream(result) && !request.transferList?.includes(result)) {
        this.#link.runUserCode(() => iteratorOf(result).return?.());
        throw new RPCError(INTERNAL_ERROR, `method "${truncate(request.method)}" returns a stream; use stream()`);
      }
    } catch (thrown) {
      return this.#fail(request, thrown);
    }
    this.#answer(request, undefined, result);
  }

  /**
   * Runs the handlers of all servers for a notification. If no server has a handler for this notification, runs a
   * handler for requests with the same method.
   */
  dispatchNotification(request) {
    if (request.hasSessionEnded) return;
    if (this.servers.length > 1) {
      const serversWithHandler = this.servers.filter(({ notifications }) => notifications.has(request.method));
      if (serversWithHandler.length > 1) return this.#notifyAll(serversWithHandler, request);
    }
    const handler = this.#findHandler("notifications", request) ?? this.#findHandler("methods", request);
    if (handler) this.#link.runUserCode(() => handler(normalizeParams(request.takeParams()), request));
  }

  #notifyAll(servers, request) {
    const params = normalizeParams(request.takeParams());
    for (const server of servers) {
      // An earlier handler may have destroyed this server.
      const handler = server.notifications.get(request.method);
      if (handler) this.#link.runUserCode(() => handler(params, request.copyForServer(server)));
    }
  }

  /** Returns 2 if a server has the method, 1 if there are servers without the method, 0 if there is no server. */
  rank(method) {
    if (this.servers.length === 0) return 0;
    return this.servers.some(({ methods }) => methods.has(method)) ? 2 : 1;
  }

  /** Aborts the request with this id, which the peer has cancelled. */
  cancel(id) {
    this.find(id)?.abort();
  }

  /** Ends a running request without a response. */
  discard(request) {
    this.#running[request.slot] = undefined;
    this.#lingeringRequests.add(request);
    this.#respond(request, undefined);
  }

  /** Adds `count` to the credit of a stream. Credit is the number of items that the caller still accepts. */
  addCredit(id, count) {
    this.find(id)?.producer?.addCredit(count, this.#spareCredit());
  }

  /** Returns how much more credit the streams of the peer may have. */
  #spareCredit() {
    return this.#running.reduce((spare, request) => spare - (request?.producer?.maxCredit ?? 0), MAX_PEER_CREDIT);
  }

  /** Removes a reply that has waited for its batch, and returns it. */
  takeBatchReply(token) {
    const reply = this.#batchReplies.get(token);
    this.#batchReplies.delete(token);
    return reply;
  }

  /**
   * Removes a destroyed server, and aborts its requests. If `sendsGoodbye` is true, the requests get no reply, because
   * the transport sends a goodbye (`rpc.bye`), which ends the calls of the peer. Otherwise, each request is answered
   * with an error.
   */
  removeServer(server, sendsGoodbye) {
    this.servers = this.servers.filter((other) => other !== server);
    const requests = this.#running.filter((request) => request?.server === server);
    if (!sendsGoodbye) for (const request of requests) this.#answer(request, SERVER_DESTROYED);
    destroyedServers.add(server);
    for (const request of requests) request.abort(SERVER_STOPPED);
  }

  /** Ends all running requests in wasm, without replies. */
  discardAll() {
    for (const request of this.#running) {
      if (request !== undefined) this.#respond(request, undefined);
    }
  }

  /**
   * Aborts all running requests, without replies. `end` is the error of an ended session; another session may follow.
   * `end` is undefined if the link has closed, or if the wasm has trapped.
   */
  abortAll(end) {
    const running = this.#running.filter(Boolean);
    this.#running = [];
    this.#batchReplies.clear();
    this.inFlight?.clear();
    for (const request of running) {
      if (end !== undefined) this.#lingeringRequests.add(request);
      request.abort(end ?? SERVER_STOPPED);
    }
    // A handler that never ends must not block all later sessions, so the timer clears the set.
    if (end === undefined) this.#clearLingeringRequests();
    else if (this.#lingeringRequests.size > 0)
      this.#endedSessionTimer ??= setTimer(() => this.#clearLingeringRequests(), CALL_TIMEOUT);
    this.#endedSessionTimer?.unref?.();
  }

  #clearLingeringRequests() {
    if (this.#endedSessionTimer !== undefined) this.#endedSessionTimer = clearTimeout(this.#endedSessionTimer);
    this.#lingeringRequests.clear();
  }

  /**
   * Aborts all running requests. Returns an error reply for each, and the replies that were waiting for their batches.
   */
  failAll(error) {
    const pending = this.#running.filter(Boolean);
    const replies = pending.map(({ id }) => ({ message: { jsonrpc: "2.0", error, id } }));
    replies.unshift(...[...this.#batchReplies.values()].filter(Boolean));
    this.abortAll();
    return replies;
  }

  /** Returns the running request with this id: the one in the highest slot, if a peer has used an id twice. */
  find(id) {
    if (id !== undefined) return this.#running.findLast((request) => request?.id === id);
  }

  /** Returns the handler for a message, and sets the server of the message. */
  #findHandler(kind, request) {
    for (const server of this.servers) {
      const handler = server[kind].get(request.method);
      if (handler) {
        request.server = server;
        return handler;
      }
    }
  }

  #fail(request, thrown) {
    // `errorData` is called only for errors that are sent.
    const errorData = this.isRunning(request) ? request.server?.errorData : undefined;
    this.#answer(request, serializeError(thrown, request.signalIfCreated, errorData, this.#link));
  }

  /** Answers a request with an error object, or with a result if there is no error. */
  #answer(request, error, result) {
    // The reply is dropped if the request was discarded, or if the session or the link has ended. If the session has
    // ended and the dropped reply is an error, the error of the session is reported, unless the request was cancelled.
    this.#lingeringRequests.delete(request);
    if (!this.isRunning(request))
      return void (error === undefined || error.code === REQUEST_CANCELLED || request.reportIfReplyDropped());
    const { id } = request;
    if (error !== undefined) request.transferList = undefined;
    const message =
      error === undefined
        ? // JSON has no undefined, and a message without a result is not a response.
          { jsonrpc: "2.0", result: result === undefined ? null : result, id }
        : { jsonrpc: "2.0", error, id };
    this.#running[request.slot] = undefined;
    this.#respond(request, message);
  }

  #respond(request, message) {
    this.#link.respond(request, message, request.batch === undefined ? 0 : this.#storeBatchReply(request, message));
    this.inFlight?.delete(request);
  }

  #storeBatchReply({ transferList, method }, message) {
    this.#lastReplyToken = (this.#lastReplyToken + 1) % 2 ** 25;
    this.#batchReplies.set(this.#lastReplyToken, message && { message, transfer: transferList, method });
    return this.#lastReplyToken;
  }
}

const TOO_MANY = { code: -32600, message: "Invalid Request", data: { reason: "too-many-requests" } };

const SERVER_DESTROYED = { code: INTERNAL_ERROR, message: "JSON-RPC server destroyed", data: { reason: "destroyed" } };

/** The error for a promise that resolves to itself. Following such a promise would overflow the stack. */
const SELF_RESOLVED = /* @__PURE__ */ new TypeError("a promise resolves to itself");

/** The reason of the aborted signals after the server was destroyed. */
const SERVER_STOPPED = /* @__PURE__ */ new CallError("destroyed", "JSON-RPC server destroyed");

/** Returns undefined for null, since some peers send null for absent params. */
function normalizeParams(params) {
  return params === null ? undefined : params;
}
