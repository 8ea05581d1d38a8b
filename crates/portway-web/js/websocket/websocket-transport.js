// A transport over a WebSocket that reconnects. The policy (`reconnect-policy.js`) decides when an attempt starts. This
// module opens the connections, and sends and receives their messages. It detects lost connections by itself, because
// browsers report the end of a silent connection after half a minute, or never.

import { now } from "../driver/clock.js";
import { runUserCode } from "../driver/error-reporter.js";
import { OVERSIZE, PARSE_ERROR, isCall, isRequest } from "../driver/json-text.js";
import {
  CONNECT_TIMEOUT,
  MAX_IN_FLIGHT_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_OFFLINE_CHARACTERS,
  MAX_OFFLINE_MESSAGES,
  MAX_SENDS,
  MAX_UNWRITTEN_BYTES,
  SOCKET_HEARTBEAT,
  STREAM_BUFFER_BYTES,
} from "../driver/limit-values.js";
import { CANCEL } from "../driver/profile.js";
import { MAX_TIMEOUT_MS, setTimer } from "../driver/timers.js";
import { addListeners } from "../transport/event-listeners.js";
import { checkOptions, checkValue } from "./check-options.js";
import { exactText, readMessages } from "./exact-json.js";
import { liveness } from "./liveness.js";
import { ReconnectPolicy, verdictOf } from "./reconnect-policy.js";
import { SocketError, closeCode, closeReason } from "./socket-error.js";
import { OPTIONS, STRINGS, URL_OR_FUNCTION, textsOf } from "./transport-options.js";

/** The `readyState` of an open socket. */
const OPEN = 1;
/** The id of the ping to a plain peer. The ids of calls are numbers, so no call has this id. */
const PING_ID = "rpc.ping";
/** The time (ms) between two checks of a full buffer. Browsers have no event for the written bytes of a buffer. */
const DRAIN_CHECK_MS = 20;
/**
 * A call with at most this number of characters is never regarded as the reason of a close with 1009 (message too big).
 */
const MIN_LARGE_CHARACTERS = 16_384;
const TOO_BIG = 1009;
/** The close code that browsers report for a connection that was not closed by a handshake. */
const ABNORMAL = 1006;

const failure = (reason) => ({ code: ABNORMAL, reason, wasClean: false });

/** Returns whether a message is a notification of the protocol, whose loss is not an error. */
const isProtocol = ({ method, id }) => id === undefined && (method === CANCEL || method?.startsWith("rpc."));

/** @type {typeof import("../../types/websocket.js").webSocketTransport} */
export function webSocketTransport(url, options = {}) {
  checkValue("options", options, "an object");
  const {
    WebSocket = globalThis.WebSocket,
    protocols,
    first,
    heartbeat = SOCKET_HEARTBEAT,
    connectTimeout = CONNECT_TIMEOUT,
    maxMessage = MAX_MESSAGE_BYTES,
    reconnect,
  } = options;
  checkValue("url", url, URL_OR_FUNCTION);
  // Node 20 has no global WebSocket.
  checkOptions({ ...options, WebSocket: WebSocket ?? null, heartbeat: heartbeat === 0 ? false : heartbeat }, OPTIONS);
  if (typeof first !== "function") textsOf(first);
  const newPolicy = () => new ReconnectPolicy(reconnect || undefined, (error) => report(error));
  let policy = newPolicy();
  /** @type {any} The socket of the attempt or of the connection. */
  let socket;
  /** Identifies the attempt or the connection. Late results of an earlier attempt are ignored. */
  let attempt;
  /** Whether the connection is open, and the `first` messages were sent. */
  let isReady = false;
  let sessionCount = 0;
  /** The messages that wait for a connection: the ids of their calls, and their texts. */
  let waiting = [];
  /** The calls that may be sent again, by id: an array with the text of the call for each time that it was sent. */
  const repeatable = new Map();
  /** The lengths of the calls that were sent and may be the reason of a close with 1009, by id. */
  const large = new Map();
  /** The running requests of the peer, with the messages that they arrived in, and the bytes of these messages. */
  const running = new Map();
  let runningBytes = 0;
  /** The last message of the peer: its bytes, and the number of its requests that run. */
  let arrived;
  /** The watchers, which `watch` adds. */
  const watchers = new Set();
  /** The error of later calls, after the end of the transport. */
  let endError;
  /** The URL of the last attempt for errors: " to ", and the URL without its secrets. */
  let place = "";
  /** The description of the last end of a connection or an attempt. */
  let lastEnd = "";
  let timer;
  let removeListeners;
  let removePageListeners;
  // The functions of the link.
  let receive;
  let isServing;
  let notifyClosed;
  let isWaiting;
  let pendingIds;
  let report;

  /** Calls a function of the application, if it is defined. If the function throws, reports the exception. */
  const tell = (handler, value) => runUserCode(() => handler?.(value), report);
  const isOver = (bytes) => socket?.bufferedAmount > bytes;
  const life = liveness(
    heartbeat,
    () => isWaiting(),
    // Only `ws` has the first two numbers. `writeQueueSize` is the part of a large message that Node has not written.
    () => (socket._socket?.bytesRead ?? 0) - (socket._socket?._handle?.writeQueueSize ?? 0) - socket.bufferedAmount,
    (isPortway) =>
      socket.send(JSON.stringify({ jsonrpc: "2.0", method: "rpc.ping", id: isPortway ? undefined : PING_ID })),
    (ms) => giveUp(`no answer to rpc.ping within ${ms} ms (slow link? raise heartbeat)`),
  );

  // Messages.

  function checkLength(length) {
    if (length > maxMessage)
      throw new RangeError(`a message must have at most ${maxMessage} characters (maxMessage), got ${length}`);
  }

  function post(text, ids) {
    for (const id of ids) {
      repeatable.get(id)?.push(text);
      if (text.length > MIN_LARGE_CHARACTERS) large.set(id, text.length);
    }
    socket.send(text);
  }

  function send(message, transfer) {
    if (transfer?.length > 0) throw new TypeError("a WebSocket cannot transfer objects");
    const isBatch = Array.isArray(message);
    const messages = isBatch ? message : [message];
    const text = isBatch ? `[${message.map(exactText)}]` : exactText(message);
    checkLength(text.length);
    const ids = () => messages.map(({ id }) => id);
    const isAnswer = !messages.some(isCall);
    const hasCalls = messages.some(isRequest);
    // Only these messages are limited or queued. All other messages are answers, whose number the peer determines, or
    // notifications whose loss is not an error.
    const isOwn = !isAnswer && !messages.every(isProtocol);
    if (isReady && socket.readyState === OPEN) {
      if (isOwn && isOver(MAX_UNWRITTEN_BYTES)) throw new SocketError("congested", "the peer does not read");
      post(text, hasCalls ? ids() : []);
      // A peer that sends requests, and does not read their answers, could fill the memory.
      if (isAnswer && isOver(2 * MAX_UNWRITTEN_BYTES)) giveUp("the peer does not read");
      if (hasCalls) life.watch();
    } else if (isOwn) {
      if (endError) throw endError;
      if (!hasCalls && sessionCount > 0 && !options.queueNotifications)
        throw new SocketError("session-ended", "notifications do not wait for a connection");
      if (!hasRoom(text)) dropEnded();
      if (!hasRoom(text)) throw new SocketError("too-many-calls", "too many messages wait");
      waiting.push([ids(), text]);
    }
  }

  function hasRoom(text) {
    const characters = waiting.reduce((sum, [, { length }]) => sum + length, text.length);
    // A message of any length may wait alone.
    return waiting.length < MAX_OFFLINE_MESSAGES && (characters <= MAX_OFFLINE_CHARACTERS || waiting.length === 0);
  }

  /** Removes the data and the waiting texts of calls that have ended. */
  function dropEnded() {
    const pending = pendingIds();
    const isWanted = (id) => id === undefined || pending.has(id);
    for (const calls of [repeatable, large]) for (const [id] of calls) if (!isWanted(id)) calls.delete(id);
    waiting = waiting.flatMap(([ids, text]) => {
      const wanted = ids.filter(isWanted);
      if (wanted.length === ids.length) return [[ids, text]];
      return wanted.length > 0 ? [[wanted, JSON.stringify(JSON.parse(text).filter(({ id }) => isWanted(id)))]] : [];
    });
  }

  function onData(data) {
    life.reset();
    const size = data.length ?? data.byteLength;
    arrived = { bytes: size, requests: 0 };
    const unreadable = [];
    let messages;
    try {
      checkLength(size);
      messages = readMessages(typeof data === "string" ? data : decode(data), unreadable);
    } catch (/** @type {any} */ error) {
      return reject(error instanceof RangeError ? OVERSIZE : PARSE_ERROR, error);
    }
    if (unreadable.length) report(new Error("a response repeats a member"), unreadable);
    if (!messages || (messages.id === PING_ID && !isCall(messages))) return;
    if (watchers.size + repeatable.size)
      for (const message of [messages].flat()) {
        if (!isCall(message)) repeatable.delete(message.id);
        for (const watcher of watchers) watcher.onMessage(message);
      }
    receive(messages);
  }

  /**
   * Handles an unreadable message. If a server uses this transport, the message is answered. Otherwise the error is
   * reported. If calls are pending, the message may also be a response.
   */
  function reject(answer, error) {
    if (isServing()) send(answer);
    else report(error);
    if (isWaiting()) report(error, [undefined]);
  }

  // Attempts and connections.

  async function open() {
    if (policy.state !== "connecting") return;
    const own = (attempt = {});
    clearTimeout(timer);
    if (connectTimeout > 0 && connectTimeout <= MAX_TIMEOUT_MS)
      timer = setTimer(() => giveUp(`no connection within ${connectTimeout} ms`), connectTimeout);
    let address;
    let names;
    let login;
    try {
      [address, names = [], login] = await Promise.all(
        [url, protocols, first].map(async (value) => (typeof value === "function" ? value() : value)),
      );
      checkValue("url", address, URL_OR_FUNCTION);
      checkValue("protocols", names, ...STRINGS);
      login = textsOf(login);
    } catch (error) {
      return attempt === own && giveUp("", error);
    }
    if (attempt !== own) return;
    let cause;
    // A URL may contain a password or a ticket.
    place = ` to ${address}`.replace(/[?#].*/s, "").replace(/[^/]*@/, "");
    try {
      socket = new WebSocket(address, names);
    } catch (/** @type {any} */ error) {
      // The URL or a subprotocol is invalid, or the page may not connect to the URL. Another attempt would fail, too.
      // The message of the error may contain the URL with its secrets.
      return end(failure(`${error.message}`.replace(address, "")), error);
    }
    socket.binaryType = "arraybuffer";
    tell(transport.onSocket, socket);
    removeListeners = addListeners(socket, {
      open: () => begin(`${address}`, login),
      message: (event) => onData(event.data),
      close: ({ code, reason, wasClean }) => lost({ code, reason, wasClean }, cause),
      // Some classes emit no `close` after the failure of an attempt.
      error: ({ error }) => (isReady ? (cause = error) : giveUp("", error)),
    });
  }

  function begin(address, login) {
    const own = socket;
    policy.opened(now());
    schedule();
    for (const text of login) own.send(text);
    isReady = true;
    const number = ++sessionCount;
    // Messages that the application sends in `onSession` are sent before the messages that wait.
    tell(options.onSession, { number, url: address, protocol: own.protocol });
    if (socket !== own) return;
    dropEnded();
    for (const [ids, text] of waiting.splice(0)) post(text, ids);
    life.watch();
    for (const watcher of watchers) watcher.onSession(number);
  }

  /** Handles the end of a connection, or of an attempt. */
  function lost(facts, cause) {
    let verdict = verdictOf(facts.code);
    tell(
      (end) => {
        const isWanted = options.shouldReconnect?.(end);
        checkValue("the result of shouldReconnect", isWanted, "true, false or undefined");
        if (isWanted && verdict === "stop") verdict = "back-off";
        if (isWanted === false) verdict = "stop";
      },
      { ...facts, attempt: policy.attempt, hasOpened: isReady },
    );
    policy.lost(now(), facts.code, reconnect === false ? "stop" : verdict);
    // The application may have closed the transport in `shouldReconnect` or in `jitter`.
    if (endError) return;
    if (policy.state === "closed") return end(facts, cause);
    const { attempt, delay, due } = policy;
    endSession(facts, cause);
    if (policy.due !== due) return;
    schedule();
    tell(options.onRetry, { ...facts, attempt, delay, cause });
  }

  /** Ends the session or the attempt. The calls that wait, and the calls that may be sent again, stay pending. */
  function endSession(facts, cause) {
    if (!abandon(facts, cause)) return;
    dropEnded();
    const tooLarge = new Set();
    if (facts.code === TOO_BIG)
      for (const [id] of [...large].sort(([, a], [, b]) => b - a).slice(0, 1)) {
        tooLarge.add(id);
        repeatable.delete(id);
      }
    large.clear();
    // Calls that were not sent are in `waiting` already.
    for (const [id, texts] of repeatable) if (texts.length % MAX_SENDS > 0) waiting.push([[id], texts[0]]);
    const error = new SocketError("session-ended", lastEnd, facts, cause, tooLarge);
    notifyClosed?.(error, true, false, new Set(waiting.flatMap(([ids]) => ids)));
    // Later copies of the error are for requests of the peer, which may have the same ids.
    tooLarge.clear();
    reportLost(error);
  }

  /**
   * Ends the transport: no connection follows. If `isOwn` is true, the application has closed the transport, so
   * `onLost` and `onEnd` are not called.
   */
  function end(facts, cause, isOwn) {
    policy.close();
    removePageListeners?.();
    const hadSession = abandon(facts, cause, isOwn);
    endError = new SocketError("peer-gone", lastEnd, facts, cause);
    waiting = [];
    notifyClosed?.(endError);
    if (hadSession && !isOwn) reportLost(endError);
    for (const watcher of watchers) watcher.onEnd(endError);
    if (!isOwn) tell(options.onEnd, endError);
  }

  function reportLost(error) {
    for (const watcher of watchers) watcher.onSession(0);
    tell(options.onLost, error);
  }

  /** Closes the socket and removes its listeners. Returns whether there was a session. */
  function abandon({ code, reason }, cause, isOwn) {
    const hadSession = isReady;
    const text = reason || (cause?.message ?? cause);
    const subject = isOwn
      ? "this side has closed the transport"
      : isReady
        ? `the connection${place} has ended with code ${code}`
        : `the attempt to connect${place} has failed`;
    lastEnd = text ? `${subject}: ${text}` : subject;
    const own = socket;
    attempt = socket = undefined;
    isReady = false;
    life.stop();
    clearTimeout(timer);
    if (own) {
      removeListeners();
      // A socket of `ws` that is closed while it connects emits an error, which must have a listener.
      own.addEventListener("error", () => {});
      // `terminate` of `ws` also ends a socket whose peer does not answer.
      if (code === ABNORMAL && own.terminate) own.terminate();
      else own.close(closeCode(code), closeReason(reason));
    }
    return hadSession;
  }

  /** Ends a connection or an attempt by a decision of this side. */
  function giveUp(reason, cause) {
    lost(failure(reason), cause);
  }

  /** Sets the timer to the next change of the policy. */
  function schedule() {
    clearTimeout(timer);
    if (policy.due === undefined) return;
    const onTimer = () => {
      policy.handleTimeout(now());
      schedule();
      open();
    };
    // If the timer fires early, `onTimer` sets it again.
    timer = setTimer(onTimer, Math.min(policy.due - now(), MAX_TIMEOUT_MS));
  }

  // Events of the page.

  /**
   * Called when the network is available or the page is visible again. Pings the peer, or starts an attempt at once.
   */
  function onChance() {
    if (isReady) return life.ask();
    if (policy.hurry()) open();
  }

  function start() {
    if (policy.state !== "idle") return;
    policy.start();
    open();
  }

  const pageListeners = {
    online: onChance,
    // The event bubbles from the document to the window.
    visibilitychange: () => document.hidden || onChance(),
    // Browsers do not put a page with an open socket into the back/forward cache.
    pagehide({ persisted }) {
      if (!persisted || endError) return;
      const facts = { code: 1001, reason: "this page was left", wasClean: true };
      if (reconnect === false) return end(facts);
      policy = newPolicy();
      endSession(facts);
    },
    pageshow: ({ persisted }) => persisted && start(),
  };

  const close = (code, reason = "") => {
    if (!endError) end({ code: closeCode(code), reason: `${reason}`, wasClean: true }, undefined, true);
  };

  // The link and `subscribe` use members that are not declared. `portway/tap` adds `onSocket`.
  /** @type {any} */
  const transport = {
    get state() {
      return policy.state;
    },
    send,
    close,
    destroy: () => close(),
    onMessage(handler, serves) {
      receive = handler;
      isServing = serves;
      if (removePageListeners || endError) return;
      removePageListeners = addListeners(globalThis, pageListeners);
      // The caller of `onMessage` can finish its setup first.
      queueMicrotask(start);
    },
    onClose(handler, waits, ids) {
      notifyClosed = handler;
      isWaiting = waits;
      pendingIds = ids;
    },
    onError(handler) {
      report = handler;
    },
    onControl(method) {
      if (method !== "rpc.ping" && method !== "rpc.pong") return;
      life.onPeer();
      if (method === "rpc.ping") send({ jsonrpc: "2.0", method: "rpc.pong" });
    },
    /** Called before an idempotent call is sent. */
    onIdempotent: (id) => void repeatable.set(id, []),
    /** Returns a description for the error of a call that times out while it waits for a connection. */
    describeTimeout: (id) =>
      waiting.some(([ids]) => ids.includes(id))
        ? `timeout without a connection${lastEnd ? ` (${lastEnd})` : place}`
        : undefined,
    /**
     * Adds a watcher: `onMessage(message)`, `onSession(number)` (0 at the end of a session), `onEnd(error)`. Returns
     * the function that removes the watcher.
     */
    watch(watcher) {
      watchers.add(watcher);
      if (isReady) watcher.onSession(sessionCount);
      if (endError) queueMicrotask(() => watcher.onEnd(endError));
      return () => watchers.delete(watcher);
    },
    /**
     * The running requests of the peer, for the link. `InFlightRequests` of WIPC has the same rules for a channel that
     * reports when its output is written. That class would add 117 bytes of gzip.
     */
    inFlight: {
      /** Adds a request. Returns false if too many bytes are in flight, or if too many bytes are unsent. */
      add(request) {
        // All bytes of a batch count until its last request has ended.
        const bytes = arrived.requests > 0 ? 0 : arrived.bytes;
        if ((bytes && running.size && runningBytes + bytes > MAX_IN_FLIGHT_BYTES) || isOver(MAX_UNWRITTEN_BYTES))
          return false;
        runningBytes += bytes;
        arrived.requests++;
        running.set(request, arrived);
        return true;
      },
      delete(request) {
        const message = running.get(request);
        running.delete(request);
        if (message && --message.requests === 0) runningBytes -= message.bytes;
      },
      clear() {
        running.clear();
        runningBytes = 0;
      },
      /** Returns an iterator of the items of a stream. It waits while more than `STREAM_BUFFER_BYTES` are unsent. */
      paced: (items) =>
        items && {
          async next() {
            while (isOver(STREAM_BUFFER_BYTES)) await new Promise((resolve) => setTimer(resolve, DRAIN_CHECK_MS));
            return items.next();
          },
          return: (value) => items.return?.(value),
        },
    },
  };
  return transport;
}

const decode = (data) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
