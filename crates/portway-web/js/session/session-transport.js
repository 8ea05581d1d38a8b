// A transport that begins another session after the peer has reloaded. Each session has a port or a virtual port of its
// own. Messages that are sent while there is no session wait for the next session. PROTOCOL.md has the state diagrams.

import { connections, transportInternals } from "../driver/boundaries.js";
import { truncate, callError, peerGoneError, messageError, workerFailedError } from "../driver/errors.js";
import { Handshake, INCOMPATIBLE_VERSION, LOCK, VERSION, isId, newId } from "./handshake.js";
import { queueTask } from "../driver/queue-task.js";
import {
  ANSWER_TIME,
  COPIED_GOODBYE_TIMEOUT,
  GOODBYE_TIMEOUT,
  HEARTBEAT,
  LOCK_TIMEOUT,
  MAX_SESSION_QUEUE,
  RELOAD_SILENCE,
} from "../driver/limit-values.js";
import { runUserCode } from "../driver/error-reporter.js";
import { addListeners } from "../transport/event-listeners.js";
import { Heartbeat, heartbeatMs } from "../transport/heartbeat.js";
import { holdLock, watchLock } from "./liveness-lock.js";
import { originMismatchMessage } from "../transport/origin.js";
import { requestOrNotification as notification } from "../driver/messages.js";
import { SessionQueue } from "./session-queue.js";
import {
  ANOTHER_DOCUMENT,
  CLOSED,
  CONNECTING,
  GOODBYE_PENDING,
  OPEN,
  RELOAD_SUSPECTED,
  replacedError,
  sessionEndedError,
} from "./session-states.js";
import { whenLoaded } from "./connect-target.js";
import { setTimer } from "../driver/timers.js";

const notify = ({ port }, method, params) => port.postMessage(notification(method, params));

export class SessionTransport {
  /** Whether the peer accepts lists: arrays of messages that are posted together. */
  coalesces = false;
  /** Whether the peer accepts columns: one notification, `rpc.columns`, for several messages of one kind. */
  columns = false;
  boundary;
  isSession = true;
  #state = CONNECTING;
  #target;
  #channel;
  #heartbeatMs;
  #onSession;
  #onLost;
  #onOpen;
  #onFail;
  #handshake;
  #heartbeat;
  /** The peer of the session; undefined in the states `CONNECTING` and `CLOSED`. */
  #peer;
  #sessionCount = 0;
  #window;
  /** @type {any} Messages that arrive before the application has the peer object, and their origins. */
  #earlyMessages = [];
  /** Authenticates goodbye copies. Only the port carries this key, so other scripts of the window do not know it. */
  #key;
  /** The key of the last goodbye copy that did not match the session. A copy may arrive before its `rpc.key`. */
  #unknownGoodbyeKey;
  /** @type {SessionQueue | undefined} The messages for the next session; undefined if no session can follow. */
  #queue = new SessionQueue();
  #receiver;
  #notifyClosed;
  #hasPendingCalls;
  #pendingIds;
  #reportError;
  #cleanups = [];
  /** Its `abort` releases the lock of this side, and ends the watch of the peer's lock. */
  #lockAbort;
  /** Resolves to whether this side holds its lock. */
  #lockHeld;
  /** The error that the target has reported at its end. After this error, no session can follow. */
  #endError;
  #isOpenReported = false;
  /** Whether the peer's lock replaces the heartbeat. */
  #seesPeerLock = false;
  /** Delays the error for a forbidden origin, because another document may soon replace the document of this origin. */
  #forbiddenOriginTimer;
  /** The entry of this transport among the connections of the realm. */
  #connection;

  /**
   * `onOpen` is called when the first session begins, and `onFail` if no session can begin.
   * @param {any} target
   * @param {import("../../types/connect.js").ConnectOptions} options
   */
  constructor(target, { channel = "", heartbeat = HEARTBEAT, onSession, onLost }, onOpen, onFail) {
    this.boundary = target.boundary;
    this.#target = target;
    this.#channel = channel;
    this.#heartbeatMs = heartbeatMs(heartbeat);
    this.#onSession = onSession;
    this.#onLost = onLost;
    this.#onOpen = onOpen;
    this.#onFail = onFail;
    const interval = (this.#heartbeatMs || HEARTBEAT) / 3;
    this.#heartbeat = new Heartbeat(interval, target.currentWindow !== undefined, this.#check);
    this.#handshake = new Handshake(target, channel, this);
    this.#connection = { channel, target: target.identity, yieldToNewer: this.#yieldToNewer };
    transportInternals.set(this, this);
  }

  /** Whether the peer is notified when this side is destroyed. */
  sendsGoodbye = () => this.#peer !== undefined && !this.#peer.isPlain;
  /** Whether this side receives requests of this origin on the target itself: true only for a plain peer's origin. */
  receivesFrom = (origin) => this.#peer?.isPlain === true && this.#peer.origin === origin;
  lastOrigin = () => this.#peer?.origin;

  start() {
    this.#cleanups = [
      this.#target.listen(this.#onTargetMessage, this.#onTargetClosed, this.#onTargetError, this.#onLoad),
      addListeners(globalThis, {
        pagehide: () => {
          if (this.#peer) this.#endSession(sessionEndedError("this page was left"), true, "left");
          // Browsers do not restore a page from their cache if it holds a lock.
          this.#releaseLock();
        },
        pageshow: ({ persisted }) => {
          if (!persisted) return;
          if (!this.#lockAbort) this.#acquireLock();
          this.#handshake.start();
        },
      }),
    ];
    for (const other of connections) if (this.#isOnSameTarget(other)) other.yieldToNewer();
    connections.add(this.#connection);
    this.#acquireLock();
    // If this side holds its lock before the handshake, the peer can watch that lock from the beginning of the session.
    const begin = () => this.#state !== CLOSED && !this.#handshake.isStarted && this.#handshake.start();
    const waiting = setTimer(begin, LOCK_TIMEOUT);
    this.#lockHeld.then(begin);
    // The first check of the target runs in a later task. So the current task can append the iframe to the document.
    const checking = setTimer(() => this.#heartbeat.start());
    this.#cleanups.push(() => [waiting, checking].forEach(clearTimeout));
  }

  send(message, transfer) {
    if (this.#peer) this.#peer.port.postMessage(message, transfer);
    else this.#queue?.push(message, transfer, this.#pendingIds);
    // The check runs after the message was posted, because it may end the session that the message belongs to.
    if (this.#heartbeat.isIdle) this.#heartbeat.start();
  }

  onMessage(receiver) {
    this.#receiver = receiver;
  }

  onClose(notifyClosed, hasPendingCalls, pendingIds) {
    this.#notifyClosed = notifyClosed;
    this.#hasPendingCalls = hasPendingCalls;
    this.#pendingIds = pendingIds;
  }

  onError(report) {
    this.#reportError = report;
  }

  onControl(method, params) {
    const peer = this.#peer;
    if (!peer) return;
    if (method === "rpc.ping") notify(peer, "rpc.pong");
    // Messages that arrived together with the goodbye are handled first, because their replies belong to this session.
    else if (method === "rpc.bye")
      Promise.resolve().then(() => this.#peer === peer && this.#onGoodbye(Object(params).reason));
    else if (method === "rpc.key" && isId(params?.key)) {
      peer.key = params.key;
      if (this.#unknownGoodbyeKey === peer.key) this.#onGoodbyeCopy();
    } else if (method === "rpc.load") peer.isLoaded = true;
    else if (method === "rpc.pong") peer.awaitsPong = false;
    else if (method === "rpc.lock" && !peer.isWatched) this.#watchPeerLock(peer);
  }

  destroy() {
    this.#release("closed");
    this.#close();
  }

  #onTargetMessage = (message, origin, isAllowed) => {
    if (this.#handshake.handleMessage(message, origin, isAllowed) || !isAllowed) return;
    if (message.method === "rpc.bye") {
      const { key, reason } = Object(message.params);
      if (!isId(key)) return;
      if (key === this.#peer?.key) return this.#onGoodbyeCopy(reason);
      this.#unknownGoodbyeKey = key;
      this.#handshake.extendOffer();
    } else if (this.#peer ? this.#peer.isPlain : this.#sessionCount === 0) {
      // A message of another origin was sent by another document. A new session begins with that document.
      if (this.#peer && origin !== this.#peer.origin) {
        this.#endSession(sessionEndedError(ANOTHER_DOCUMENT), true);
        // The application may have destroyed its peer in `onLost`.
        if (this.#state === CLOSED) return;
        this.#handshake.beginPlain(origin);
      }
      this.#receive(message, origin);
    }
  };

  #onTargetClosed = (error) => this.#endSession(error, false);

  /** Handles an error of a worker. Before the first session, the error means that the worker has not started. */
  #onTargetError = (cause, end) => {
    if (this.#sessionCount === 0) return this.#onFail(workerFailedError("worker-failed", cause));
    if (!end) return;
    this.#endError = end;
    if (!this.#peer) return this.#endSession(end, false);
    // The session ends after a pause, because messages on its port may still arrive.
    this.#runAfterPause(this.#peer, this.#onPeerEnded);
  };

  /** Handles the load event of the iframe. If the peer has sent `rpc.load` before, another document has loaded now. */
  #onLoad = () => {
    // Earlier messages of a forbidden origin were sent by an earlier document.
    this.#forbiddenOriginTimer = clearTimeout(this.#forbiddenOriginTimer);
    if (this.#peer?.isLoaded) this.#suspectReload(this.#peer);
  };

  /** Listens on a port that may become the port of a session. */
  listen(peer, onFirstMessage) {
    const stop = addListeners(peer.port, {
      message: ({ data }) => {
        if (this.#peer !== peer) onFirstMessage?.();
        if (this.#peer !== peer) return;
        if (this.#state === RELOAD_SUSPECTED) this.#state = OPEN;
        this.#receive(data);
      },
      messageerror: () => {
        const error = messageError();
        this.#reportError(error);
        if (this.#peer === peer) this.#reportError(error, null);
      },
      close: () => this.#peer === peer && this.#runAfterPause(peer, this.#onPeerEnded),
    });
    peer.port.start();
    peer.release = () => {
      stop();
      peer.port.close();
    };
  }

  begin(peer) {
    this.#state = OPEN;
    this.#peer = peer;
    this.#window = this.#target.currentWindow?.();
    this.#queue ??= new SessionQueue();
    this.#seesPeerLock = false;
    this.coalesces = peer.features.includes("batch");
    this.columns = peer.features.includes("columns");
    this.#sessionCount++;
    if (!this.#isOpenReported)
      this.#earlyMessages = peer.isPlain ? this.#earlyMessages.filter(({ origin }) => origin === peer.origin) : [];
    if (!this.#lockAbort) this.#acquireLock();
    // The watch of the peer's lock begins before the session is reported. So the end of the peer is noticed at once.
    if (peer.features.includes(LOCK)) this.#watchPeerLock(peer).then(() => this.#peer === peer && this.#reportOpen());
    else this.#reportOpen();
    this.#key = newId();
    if (!peer.isPlain && this.#target.currentWindow) {
      notify(peer, "rpc.key", { key: this.#key });
      whenLoaded(() => notify(peer, "rpc.load"), this.#lockAbort.signal);
    }
    if (!peer.isPlain) this.#lockHeld.then((isHeld) => isHeld && this.#peer === peer && notify(peer, "rpc.lock"));
    this.#restartHeartbeat();
    if (this.#peer !== peer) return;
    // After an earlier loss of the peer, the link refuses calls until it receives a message.
    this.#receiver(notification("rpc.pong"));
    const info = { number: this.#sessionCount, origin: peer.origin, features: peer.features };
    runUserCode(() => this.#onSession?.(info), this.#reportError);
    this.#queue?.flush(this.#pendingIds, (message, transfer) => this.#peer?.port.postMessage(message, transfer));
  }

  /** Handles a hello with a new id during a session. Returns whether another session should begin at once. */
  onNewHello(origin) {
    const peer = this.#peer;
    const replace = () => this.#endSession(sessionEndedError(), true, "replaced");
    if (peer.isPlain) {
      replace();
      return this.#state !== CLOSED;
    }
    // A hello of another origin may be late, because some browsers still deliver messages of a replaced document.
    if (origin !== peer.origin) this.#suspectReload(peer);
    // Messages and the goodbye of the old document may still arrive. The new document repeats its hello.
    else this.#runAfterPause(peer, replace);
    return false;
  }

  onForbiddenOrigin(origin) {
    const error = callError("wrong-origin", originMismatchMessage(origin, this.#target.allowed));
    if (this.#sessionCount === 0)
      this.#forbiddenOriginTimer ??= setTimer(() => this.#sessionCount === 0 && this.#onFail(error), RELOAD_SILENCE);
    else if (!this.#peer) this.#endSession(peerGoneError(ANOTHER_DOCUMENT, error), false);
    else if (!this.#peer.isPlain) this.#suspectReload(this.#peer);
  }

  /** Ends the attempt to connect. A current session continues. */
  onIncompatibleVersion(version) {
    if (this.#peer) return;
    const text = `the peer has protocol version ${version}, this side version ${VERSION}`;
    const error = callError(INCOMPATIBLE_VERSION, text);
    this.#endSession(this.#sessionCount === 0 ? error : peerGoneError(text, error), false);
  }

  onRefused(error) {
    if (this.#sessionCount === 0) this.#onFail(callError("refused", truncate(error.message), error));
  }

  #onGoodbye(reason) {
    const error = reason === "replaced" ? replacedError() : this.#target.closedReason();
    this.#endSession(error ?? sessionEndedError(), error === undefined);
    if (reason === "replaced") this.#close();
  }

  /** Handles a goodbye copy. Ends the session if the page was left. Otherwise, the goodbye or a timeout ends it. */
  #onGoodbyeCopy(reason) {
    if (reason === "left") return this.#onGoodbye(reason);
    const peer = this.#peer;
    this.#state = GOODBYE_PENDING;
    setTimer(() => this.#peer === peer && this.#onGoodbye(reason), COPIED_GOODBYE_TIMEOUT);
  }

  /** Ends the session of a peer that has ended without a goodbye. */
  #onPeerEnded = () => {
    const error = this.#endError ?? this.#target.closedReason();
    if (!error && this.#target.currentWindow) this.#endSession(sessionEndedError(), true);
    else this.#endSession(error ?? peerGoneError("the worker or process has ended"), false);
  };

  /** Pings the peer, because another document may be in the window. Without an answer, the session ends. */
  #suspectReload(peer) {
    // The ping follows a pause, because an old document in another process still answers for a moment.
    this.#runAfterPause(peer, () => {
      if (this.#state === RELOAD_SUSPECTED) return;
      this.#state = RELOAD_SUSPECTED;
      notify(peer, "rpc.ping");
      this.#restartHeartbeat();
    });
  }

  /** Runs `action` after a pause, unless the session has ended or a goodbye is pending. */
  #runAfterPause(peer, action) {
    // The action runs in a queued task, so that messages that arrived while this thread was blocked are handled first.
    const run = () => this.#peer === peer && this.#state !== GOODBYE_PENDING && action();
    setTimer(() => queueTask(run), GOODBYE_TIMEOUT);
  }

  /** Ends the session with this error. If `reconnects` is false, later calls are rejected. */
  #endSession(error, reconnects, reason) {
    if (this.#sessionCount === 0) return this.#onFail(error);
    // The newest connection on a target gets the next session.
    if (reconnects && [...connections].findLast(this.#isOnSameTarget) !== this.#connection) {
      this.#endSession(replacedError(error), false, reason);
      return this.#close();
    }
    const previousPeer = this.#peer;
    this.#release(reason);
    this.#queue = reconnects ? new SessionQueue() : undefined;
    if (!reconnects) this.#heartbeat.stop();
    this.#notifyClosed?.(error, reconnects);
    if (previousPeer) runUserCode(() => this.#onLost?.(error), this.#reportError);
    if (!this.#isOpenReported && !reconnects) this.#onFail(error);
  }

  /** Releases the session. If `reason` is defined, sends a goodbye with this reason. */
  #release(reason) {
    if (!this.#peer) return;
    const { port, isPlain, origin, release } = this.#peer;
    if (reason && !isPlain) {
      port.postMessage(notification("rpc.bye", { reason }));
      // Some browsers do not deliver port messages that are sent during unload. So a copy is posted to the window.
      if (this.#target.currentWindow)
        this.#target.post(notification("rpc.bye", { key: this.#key, reason }), undefined, origin);
    }
    release();
    this.#releaseLock();
    this.#state = CONNECTING;
    this.#peer = undefined;
    this.coalesces = this.columns = false;
    this.#earlyMessages = this.#isOpenReported ? undefined : [];
    this.#handshake.end();
  }

  /** Closes the transport for good. The caller must have ended the session before. */
  #close() {
    this.#state = CLOSED;
    connections.delete(this.#connection);
    clearTimeout(this.#forbiddenOriginTimer);
    this.#handshake.stop();
    this.#heartbeat.stop();
    this.#releaseLock();
    for (const cleanup of this.#cleanups.splice(0)) cleanup();
  }

  /** Ends this connection, unless it has a session. A session continues until the newer connection has one. */
  #yieldToNewer = () => {
    if (this.#peer) return;
    this.#endSession(replacedError(), false);
    this.#close();
  };

  #isOnSameTarget = (other) => other.channel === this.#channel && other.target() === this.#target.identity();

  /** Checks the target and the peer. Returns whether a call or `connect` is pending, or undefined to stop the timer. */
  #check = () => {
    const { closedReason, currentWindow } = this.#target;
    const error = closedReason();
    if (error) return this.#endSession(error, false);
    if (this.#peer && this.#window !== currentWindow?.()) {
      this.#endSession(sessionEndedError(ANOTHER_DOCUMENT), true);
      // A peer without sessions sends no hello, so this side sends one to the new window.
      if (this.#state !== CLOSED) this.#handshake.start();
    }
    const heartbeat = this.#heartbeat;
    const isSuspected = this.#state === RELOAD_SUSPECTED;
    const maxSilence = isSuspected ? RELOAD_SILENCE : this.#heartbeatMs;
    const isMeasured =
      (isSuspected || this.#state === OPEN) && maxSilence > 0 && !this.#peer.isPlain && !this.#seesPeerLock;
    if (isMeasured && heartbeat.silentMs >= maxSilence - 1) {
      heartbeat.silentMs = 0;
      if (isSuspected) return this.#endSession(sessionEndedError(ANOTHER_DOCUMENT), true);
      this.#notifyClosed?.(callError("unresponsive", `the peer has been silent for ${this.#heartbeatMs} ms`), true);
    } else if (isMeasured && heartbeat.silentMs > 0) {
      notify(this.#peer, "rpc.ping");
    }
    if (isMeasured || currentWindow !== undefined)
      return this.#sessionCount === 0 || this.#hasPendingCalls?.() === true;
  };

  #restartHeartbeat() {
    this.#heartbeat.silentMs = 0;
    this.#heartbeat.start();
  }

  /** Requests the lock of this side. Called before the handshake, because this thread may block afterwards. */
  #acquireLock() {
    this.#lockAbort = new AbortController();
    const { id } = this.#handshake;
    this.#lockHeld = holdLock(id, this.#lockAbort.signal).then((isHeld) => {
      if (id === this.#handshake.id) this.#handshake.isLocked = isHeld;
      return isHeld;
    });
  }

  #releaseLock() {
    this.#lockAbort?.abort();
    this.#lockAbort = undefined;
    this.#handshake.isLocked = false;
  }

  /** Watches the lock of the peer. Resolves when the first check of the lock has completed. */
  #watchPeerLock(peer) {
    peer.isWatched = true;
    // Only a worker or a window of this origin certainly shares locks. Any other peer may name a lock of this side.
    const sharesLocks = this.#target.sharesLocks === true;
    const isShared = sharesLocks || (peer.origin === globalThis.origin && peer.origin !== "null");
    const onHeld = () => (this.#seesPeerLock = isShared);
    const onReleased = () => this.#runAfterPause(peer, () => this.#verifyEnd(peer));
    return watchLock(peer.id, this.#lockAbort.signal, sharesLocks, onHeld, onReleased);
  }

  /** Pings a peer whose lock is free: a script may have stolen the lock. Without an answer, the peer has ended. */
  #verifyEnd(peer) {
    peer.awaitsPong = true;
    notify(peer, "rpc.ping");
    const decide = () => {
      if (peer.awaitsPong) return this.#onPeerEnded();
      // From here on, the heartbeat replaces the lock.
      this.#seesPeerLock = false;
      this.#restartHeartbeat();
    };
    // The wait has two steps. If this thread was blocked, the answer is handled between these steps.
    setTimer(() => this.#runAfterPause(peer, decide), ANSWER_TIME);
  }

  /** Reports the first session to the application. */
  #reportOpen() {
    if (this.#isOpenReported) return;
    this.#isOpenReported = true;
    this.#onOpen();
    // The code that awaits `connect` runs first, and can add handlers.
    queueTask(this.#deliverEarlyMessages);
  }

  #deliverEarlyMessages = () => {
    const messages = this.#earlyMessages ?? [];
    this.#earlyMessages = undefined;
    const peer = this.#peer;
    for (const { message } of messages) if (this.#peer === peer) this.#receiver(message);
  };

  #receive(message, origin) {
    this.#heartbeat.silentMs = 0;
    if (this.#earlyMessages?.length === MAX_SESSION_QUEUE && this.#isOpenReported) this.#deliverEarlyMessages();
    if (this.#earlyMessages === undefined) this.#receiver(message);
    else if (this.#earlyMessages.length < MAX_SESSION_QUEUE) this.#earlyMessages.push({ message, origin });
  }
}
