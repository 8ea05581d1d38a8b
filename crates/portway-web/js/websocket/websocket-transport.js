// A transport over a WebSocket that reconnects. The policy (`reconnect-policy.js`) decides when an attempt starts. This
// module opens the connections, and sends and receives their messages. It detects lost connections by itself, because
// browsers report the end of a silent connection after half a minute, or never.

import { runUserCode } from "../driver/error-reporter.js";
import { OVERSIZE, PARSE_ERROR, isCall, someMessage } from "../driver/json-text.js";
import {
  CONNECT_TIMEOUT,
  MAX_MESSAGE_BYTES,
  MAX_OFFLINE_CHARACTERS,
  MAX_OFFLINE_MESSAGES,
  MAX_SENDS,
  MAX_UNWRITTEN_BYTES,
  SOCKET_CLOSE,
  SOCKET_HEARTBEAT,
} from "../driver/limit-values.js";
import { MAX_TIMEOUT_MS } from "../driver/timers.js";
import { addListeners } from "../transport/event-listeners.js";
import { checkOptions, checkValue, resultOf } from "./check-options.js";
import { decode, isOfApplication, readMessages } from "./exact-json.js";
import { liveness } from "./liveness.js";
import { keepWanted, outgoing } from "./outgoing.js";
import { ReconnectPolicy, verdictOf } from "./reconnect-policy.js";
import { runningRequests } from "./running-requests.js";
import { ABNORMAL, closeCode, MAX_REASON_BYTES, MIN_LARGE_CHARACTERS, textOf, TOO_BIG } from "./socket-error.js";
import { FUNCTION_OF_WS, OPTIONS, checkAttempt } from "./transport-options.js";

/** The sockets that have a transport. */
const used = new WeakSet();
/** The `readyState` of an open socket. */
const OPEN = 1;
/** The id of the ping to a plain peer. The ids of calls are numbers, so no call has this id. */
const PING_ID = "rpc.ping";
/** The time (ms) between two checks of a full buffer. Browsers have no event for the written bytes of a buffer. */
const DRAIN_CHECK_MS = 20;

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
  /** @type {any} A socket that the application has accepted or opened. No attempt follows its end. */
  const accepted = /** @type {any} */ (url)?.send && !used.has(/** @type {any} */ (url)) && url;
  /** @type {any[]} The URL, the subprotocols and the first messages, or functions that return them for each attempt. */
  const inputs = [accepted ? "" : url, protocols, first];
  const isFunction = (value) => typeof value === "function";
  /** The texts of `first`, unless `first` is a function. */
  const [, , constantLogin] = checkAttempt(inputs.map((input) => (isFunction(input) ? "" : input)));
  // Node 20 has no global WebSocket.
  if (!accepted) checkValue("WebSocket", WebSocket, FUNCTION_OF_WS);
  checkOptions({ ...options, heartbeat: heartbeat === 0 ? false : heartbeat }, OPTIONS);
  const isOnce = accepted || reconnect === false;
  const newPolicy = () => new ReconnectPolicy(/** @type {any} */ (reconnect), (error) => report(error));
  let policy = newPolicy();
  /** @type {any} The socket of the attempt or of the connection. */
  let socket = accepted;
  /** Identifies the attempt or the connection. Late results of an earlier attempt are ignored. */
  let attempt;
  /** Whether the connection is open, and the `first` messages were sent. */
  let isReady = false;
  let sessionCount = 0;
  /** The results of `outgoing` that wait for a connection. */
  let waiting = [];
  /** The calls that may be sent again, by id: an array with the text of the call for each time that it was sent. */
  const repeatable = new Map();
  /** By id, the lengths of the sent calls that may be the reason of a close with 1009. */
  const largeCalls = new Map();
  /** The watchers, which `watch` adds. */
  const watchers = new Set();
  /** Returns the error of later calls. Undefined until the end of the transport. */
  let endError;
  /** A part of error texts: " to ", and the URL of the last attempt without its secrets. */
  let destination = "";
  /** The description of the last end of a connection or an attempt. */
  let lastEnd = "";
  // An accepted socket is paused until it has a listener, because `ws` emits messages even without a listener. A socket
  // of `ws` that was closed while it was connecting cannot pause.
  const pause = () => accepted?.readyState <= OPEN && accepted.pause?.();
  const resume = () => accepted?.isPaused && accepted.resume();
  if (accepted) used.add(accepted);
  pause();
  accepted?.addEventListener("open", pause);
  accepted?.addEventListener("error", () => {});
  let timer;
  let removeListeners;
  let removePageListeners;
  // The functions of the link, and the functions of `liveness`.
  let receive;
  let isServing;
  let notifyClosed;
  let isWaiting;
  let pendingIds;
  let report;
  let setTimer;
  let now;
  /** @type {any} Before the first link exists, this is not the class of `portway`. */
  let CallError = Error;
  let resetSilence;
  let watchPeer;
  let pingPeer;
  let confirmPings;
  let stopWatching;

  /** Calls a function of the application, if it is defined. If the function throws, reports the exception. */
  const callHandler = (handler, value) => runUserCode(() => handler?.(value), report);
  const isOver = (bytes) => socket?.bufferedAmount > bytes;
  const requests = runningRequests(isOver, () => new Promise((resolve) => setTimer(resolve, DRAIN_CHECK_MS)));

  /**
   * Returns a `CallError` with `data`: the close code, its reason, and whether a handshake has closed the connection.
   * `isTooLarge` returns whether the message of the call with this id was too large for the peer.
   */
  function socketError(reason, text, data, cause, isTooLarge, method, id) {
    const error = new CallError(isTooLarge?.(id) ? "too-large" : reason, text, method, id, cause);
    if (data) error.data = data;
    return Object.defineProperty(error, "forCall", {
      value: (method, id) => socketError(reason, text, data, cause, isTooLarge, method, id),
    });
  }

  // Messages.

  const checkLength = (length) => checkValue("maxMessage", maxMessage, OPTIONS.maxMessage[0], length);

  /** Sends a text. The parameters are the result of `outgoing`. */
  function post(ids, text, texts) {
    ids.forEach((id, index) => {
      repeatable.get(id)?.push(texts[index]);
      if (id && text.length > MIN_LARGE_CHARACTERS) largeCalls.set(id, text.length);
    });
    socket.send(text);
  }

  function send(message, transfer) {
    if (transfer?.length) throw new TypeError("a WebSocket cannot transfer objects");
    const entry = outgoing(message);
    const [ids, { length }] = entry;
    checkLength(length);
    const hasCalls = ids.some(Boolean);
    // Only the messages of the application are limited or queued. All other messages are answers, whose number the peer
    // determines, or notifications whose loss is not an error.
    const isOwn = someMessage(message, isOfApplication);
    if (isReady && socket.readyState === OPEN) {
      if (isOwn && isOver(MAX_UNWRITTEN_BYTES)) throw socketError("congested", "the peer does not read");
      post(...entry);
      // Without this limit, a peer that sends requests, and does not read their answers, could fill the memory.
      if (!someMessage(message, isCall) && isOver(2 * MAX_UNWRITTEN_BYTES)) giveUp("the peer does not read");
      if (hasCalls) watchPeer();
    } else if (isOwn && !endError) {
      if (!hasCalls && sessionCount && !options.queueNotifications)
        throw socketError("session-ended", "no connection: set queueNotifications");
      dropEnded();
      const characters = waiting.reduce((sum, [, { length }]) => sum + length, length);
      // A single message may wait, whatever its length.
      if (waiting.length && (waiting.length >= MAX_OFFLINE_MESSAGES || characters > MAX_OFFLINE_CHARACTERS))
        throw socketError("too-many-calls", "too many messages wait");
      waiting.push(entry);
    }
  }

  /** Sends the texts of `first`. */
  const sendFirst = (login) => login.forEach((text) => socket.send(text));

  /** Sends the waiting messages. */
  function flush() {
    dropEnded();
    for (const entry of waiting.splice(0)) post(...entry);
  }

  /** Removes the data and the waiting texts of calls that have ended. */
  function dropEnded() {
    const pending = pendingIds();
    const isWanted = (id) => id === undefined || pending.has(id);
    for (const calls of [repeatable, largeCalls]) calls.forEach((_, id) => isWanted(id) || calls.delete(id));
    waiting = waiting.flatMap((entry) => keepWanted(entry, isWanted));
  }

  function onData({ data }) {
    resetSilence();
    const size = data.length ?? data.byteLength;
    requests.arrived(size);
    const unreadable = [];
    let messages;
    try {
      checkLength(size);
      messages = readMessages(typeof data === "string" ? data : decode(data), unreadable);
    } catch (/** @type {any} */ error) {
      return refuse(error instanceof RangeError ? OVERSIZE : PARSE_ERROR, error);
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
   * reported. If calls are pending, the message may be a response, so the error is also reported for an unknown call.
   */
  function refuse(answer, error) {
    if (isServing()) send(answer);
    else report(error);
    if (isWaiting()) report(error, [undefined]);
  }

  // Attempts and connections.

  async function open() {
    if (policy.state !== "connecting") return;
    const own = (attempt = {});
    clearTimeout(timer);
    if (connectTimeout && connectTimeout <= MAX_TIMEOUT_MS)
      timer = setTimer(() => giveUp(`no connection within ${connectTimeout} ms`), connectTimeout);
    let address;
    let names;
    let login;
    let cause;
    let newSocket;
    try {
      [address, names, login] = checkAttempt(
        await Promise.all(inputs.map(async (input) => (isFunction(input) ? input() : input))),
      );
      if (attempt !== own) return;
      // Parts of the URL are removed, because they may contain a password or a ticket.
      destination = address && ` to ${address}`.replace(/[?#].*|[^/?#]*@/gs, "");
      newSocket = accepted || new WebSocket(address, names);
      checkValue("WebSocket.addEventListener", newSocket.addEventListener, FUNCTION_OF_WS);
      resume();
      if (accepted?.readyState > OPEN) {
        socket = undefined;
        return giveUp("the connection has ended");
      }
    } catch (error) {
      // The URL or a subprotocol is invalid, or the page may not connect to the URL, or the class is not a WebSocket.
      // Another attempt would also fail, unless a function returns another value. The message of the error may contain
      // the URL with its secrets.
      const isFinal = login && (newSocket || !inputs.slice(0, 2).some(isFunction));
      return attempt === own && giveUp(textOf(error).replace(address || "", ""), error, isFinal);
    }
    socket = newSocket;
    socket.binaryType = "arraybuffer";
    callHandler(transport.onSocket, socket);
    removeListeners = addListeners(socket, {
      open: () => begin(address, login),
      message: onData,
      // Some WebSocket classes omit the reason, or emit an event without any of these members.
      close: ({ code = ABNORMAL, reason, wasClean }) =>
        lost({ code, reason: reason ?? "", wasClean: !!wasClean }, cause),
      // Some classes emit no `close` after the failure of an attempt.
      error: ({ error }) => (isReady ? (cause = error) : giveUp("", error)),
    });
    if (accepted?.readyState === OPEN) begin(address, login);
  }

  function begin(address, login) {
    const own = socket;
    resume();
    policy.opened(now());
    schedule();
    sendFirst(login);
    isReady = true;
    sessionCount++;
    // Messages that the application sends in `onSession` are sent before the messages that wait.
    callHandler(options.onSession, { number: sessionCount, url: address, protocol: own.protocol });
    if (socket !== own) return;
    flush();
    watchPeer();
    for (const watcher of watchers) watcher.onSession(sessionCount);
  }

  /** Handles the end of a connection, or of an attempt. */
  function lost(facts, cause) {
    const isWanted = resultOf(
      "shouldReconnect",
      () => options.shouldReconnect?.({ ...facts, attempt: policy.attempt, hasOpened: isReady }),
      undefined,
      report,
      "true, false or undefined",
    );
    policy.lost(
      now(),
      facts.code,
      isOnce || isWanted === false ? "stop" : isWanted && verdictOf(facts.code) === "stop" ? "back-off" : undefined,
    );
    if (policy.state === "closed") return end(facts, cause);
    const { due } = policy;
    endSession(facts, cause);
    if (policy.due !== due) return;
    schedule();
    callHandler(options.onRetry, { ...facts, attempt: policy.attempt, delay: policy.delay, cause });
  }

  /** Ends the session or the attempt. The calls that wait, and the calls that may be sent again, stay pending. */
  function endSession(facts, cause) {
    if (!abandon(facts, cause)) return;
    dropEnded();
    let tooLarge = facts.code === TOO_BIG && [...largeCalls, [0, 0]].sort(([, a], [, b]) => b - a)[0][0];
    repeatable.delete(tooLarge);
    largeCalls.clear();
    // Calls that were not sent are in `waiting` already.
    for (const [id, texts] of repeatable) if (texts.length % MAX_SENDS) waiting.push([[id], texts[0], [texts[0]]]);
    const error = socketError("session-ended", lastEnd, facts, cause, (id) => id === tooLarge);
    notifyClosed(error, true, false, new Set(waiting.flatMap(([ids]) => ids)));
    // `tooLarge` is reset, because the link also copies the error for requests of the peer, whose ids may equal the ids
    // of calls.
    tooLarge = false;
    reportLost(error);
  }

  /**
   * Ends the transport: no connection follows. If `isOwn` is true, the application has closed the transport, so
   * `onLost` and `onEnd` are not called.
   */
  function end(facts, cause, isOwn) {
    // The application may have closed the transport in `shouldReconnect` or in `jitter`.
    if (endError) return;
    policy.close();
    removePageListeners?.();
    const hadSession = abandon(facts, cause, isOwn);
    endError = () => socketError("peer-gone", lastEnd, facts, cause);
    const error = endError();
    waiting = [];
    notifyClosed?.(error);
    if (hadSession && !isOwn) reportLost(error);
    for (const watcher of watchers) watcher.onEnd(error);
    if (!isOwn) callHandler(options.onEnd, error);
  }

  function reportLost(error) {
    for (const watcher of watchers) watcher.onSession(0);
    callHandler(options.onLost, error);
  }

  /** Closes the socket and removes its listeners. Returns whether there was a session. */
  function abandon({ code, reason }, cause, isOwn) {
    const hadSession = isReady;
    const text = reason || textOf(cause);
    const subject = isOwn
      ? "this side has closed the transport"
      : isReady
        ? `the connection${destination} has ended with code ${code}`
        : `the attempt to connect${destination} has failed`;
    lastEnd = subject + (text && `: ${text}`);
    const own = socket;
    attempt = socket = undefined;
    isReady = false;
    stopWatching?.();
    clearTimeout(timer);
    if (own) {
      removeListeners?.();
      // A socket of `ws` that is closed while it connects emits an error, which must have a listener.
      own.addEventListener("error", () => {});
      // `terminate` of `ws` also ends a socket whose peer does not answer.
      if (code === ABNORMAL) own.terminate?.();
      // A paused socket would not read the answer to the close frame.
      resume();
      own.close(
        closeCode(code),
        reason.slice(0, new TextEncoder().encodeInto(reason, new Uint8Array(MAX_REASON_BYTES)).read),
      );
      // The system may still hold unsent bytes, so the socket stays open until `ws` ends it, after 30 s at the latest.
      // Meanwhile, it must not keep the process alive.
      setTimer?.(() => (own._socket?.unref?.(), own._closeTimer?.unref()), SOCKET_CLOSE).unref?.();
    }
    return hadSession;
  }

  /** Ends a connection or an attempt by a decision of this side. */
  function giveUp(reason, cause, isFinal) {
    (isFinal ? end : lost)({ code: ABNORMAL, reason, wasClean: false }, cause);
  }

  /** Sets the timer to the next change of the policy. */
  function schedule() {
    clearTimeout(timer);
    if (!policy.due) return;
    const onTimer = () => {
      policy.handleTimeout(now());
      schedule();
      open();
    };
    // If the timer fires early, `onTimer` sets it again.
    timer = setTimer(onTimer, Math.min(policy.due - now(), MAX_TIMEOUT_MS));
  }

  // Events of the page.

  /** Pings the peer, or starts an attempt at once, because the network is available or the page is visible again. */
  function pingOrConnect() {
    if (isReady) return pingPeer();
    if (policy.hurry()) open();
  }

  function start() {
    if (policy.state !== "idle") return;
    policy.start();
    open();
  }

  const pageListeners = {
    online: pingOrConnect,
    // The event bubbles from the document to the window.
    visibilitychange: () => document.hidden || pingOrConnect(),
    // Browsers do not put a page with an open socket into the back/forward cache.
    pagehide({ persisted }) {
      if (!persisted) return;
      const facts = { code: 1001, reason: "this page was left", wasClean: true };
      if (isOnce) return end(facts);
      policy = newPolicy();
      endSession(facts);
    },
    pageshow: ({ persisted }) => persisted && start(),
  };

  const close = (code, reason = "") => {
    // The peer receives the notifications that precede `close`, unless a function has not returned `first` yet.
    if (waiting.length && accepted?.readyState === OPEN && (isReady || !isFunction(first))) {
      if (!isReady) sendFirst(constantLogin);
      flush();
    }
    end({ code: closeCode(code), reason: `${reason}`, wasClean: true }, undefined, true);
  };

  /** @type {any} The link and `subscribe` use members that are not declared. `portway/tap` adds `onSocket`. */
  const transport = {
    get state() {
      return policy.state;
    },
    send,
    close,
    destroy: close,
    onMessage(...functions) {
      [receive, isServing] = functions;
      if (removePageListeners || endError) return;
      removePageListeners = addListeners(globalThis, pageListeners);
      // The caller of `onMessage` can finish its setup first.
      queueMicrotask(start);
    },
    onClose(...functions) {
      [notifyClosed, isWaiting, pendingIds, setTimer, now, CallError] = functions;
      [resetSilence, watchPeer, pingPeer, confirmPings, stopWatching] = liveness(
        heartbeat,
        isWaiting,
        // Only `ws` has the first two numbers. `writeQueueSize` is the unwritten part of a large message in Node.
        () => (socket._socket?.bytesRead ?? 0) - (socket._socket?._handle?.writeQueueSize ?? 0) - socket.bufferedAmount,
        (isPortway) =>
          socket.send(JSON.stringify({ jsonrpc: "2.0", method: PING_ID, id: isPortway ? undefined : PING_ID })),
        (ms) => giveUp(`no answer to rpc.ping within ${ms} ms: raise heartbeat`),
        setTimer,
        now,
      );
      if (endError) notifyClosed(endError());
    },
    onError(handler) {
      report = handler;
    },
    onControl(method) {
      const isPing = method === PING_ID;
      if (isPing || method === "rpc.pong") confirmPings();
      if (isPing) send({ jsonrpc: "2.0", method: "rpc.pong" });
    },
    /** Called before an idempotent call is sent. */
    onIdempotent(id, value) {
      checkValue("idempotent", value, "true or false");
      if (value) repeatable.set(id, []);
    },
    /** Returns a description for the error of a call that times out while it waits for a connection. */
    describeTimeout: (id) =>
      waiting.some(([ids]) => ids.includes(id))
        ? `timeout without a connection${lastEnd ? ` (${lastEnd})` : destination}`
        : undefined,
    /**
     * Adds a watcher: `onMessage(message)`, `onSession(number)` (0 at the end of a session), `onEnd(error)`. Returns
     * the function that removes the watcher.
     */
    watch(watcher) {
      watchers.add(watcher);
      if (isReady) watcher.onSession(sessionCount);
      if (endError) queueMicrotask(() => watcher.onEnd(endError()));
      return () => watchers.delete(watcher);
    },
    inFlight: requests,
    // In columns, the calls would be hidden from this transport, which queues, limits and repeats calls.
    columns: false,
  };
  return transport;
}
