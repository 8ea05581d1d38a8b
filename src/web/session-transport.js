// A transport whose other side may come and go: each session has a port or a lane of its own, and what is sent between two
// sessions waits for the next.

import { connections, insides } from "./boundaries.js";
import { beginning, failure, gone, unreadable, unstarted } from "./errors.js";
import { Handshake, INCOMPATIBLE_VERSION, LOCK, VERSION, isId, newId } from "./handshake.js";
import { runLater } from "./later.js";
import {
  ANSWER_TIME,
  COPIED_GOODBYE_TIMEOUT,
  GOODBYE_TIMEOUT,
  HEARTBEAT,
  LOCK_TIMEOUT,
  MAX_SESSION_QUEUE,
  MIN_HEARTBEAT,
  RELOAD_SILENCE,
} from "./limit-values.js";
import { listen } from "./event-listeners.js";
import { Heartbeat } from "./heartbeat.js";
import { holdLock, watchLock } from "./liveness-lock.js";
import { strangerText } from "./origin.js";
import { callMessage as note } from "./messages.js";
import { setTimer } from "./timers.js";

const LONGEST_TIMER = 2 ** 31;

/** Nobody behind the door has answered a hello, in that many milliseconds. A window that does not allow us is silent. */
export function noAnswer(ms, { allowed, target }) {
  if (target() === globalThis.window)
    return failure("no-answer", `no answer within ${ms} ms: this window is its own parent`);
  const hint = allowed ? `, and allow the origin "${globalThis.origin}"` : "";
  return failure("no-answer", `no answer within ${ms} ms: has its script loaded, does it connect(), too${hint}?`);
}

const ended = (text) => failure("session-ended", text);
const replaced = (cause) => gone("another connection has taken its place", cause);

/** Runs once this document has loaded, unless the signal is aborted before. */
function whenLoaded(run, signal) {
  if (document.readyState === "complete") run();
  else addEventListener("load", run, { once: true, signal });
}

/**
 * A transport to whom is behind the door. `onOpen` is called as the first session begins, `onFail` if there will be none.
 */
export function sessionTransport(door, { channel = "", heartbeat = HEARTBEAT, onSession, onLost }, onOpen, onFail) {
  heartbeat = heartbeat > 0 && heartbeat < LONGEST_TIMER ? Math.max(heartbeat, MIN_HEARTBEAT) : 0;
  let session;
  let number = 0;
  /** The window that the session is with. */
  let window;
  /** What has come before it may be handed over, and from which origin; then undefined. */
  let held = [];
  /** Shows that a goodbye over the window is ours: all who see messages there know the id. */
  let key;
  /** What is to be sent; undefined if nobody will get it. */
  let queue = [];
  let handler;
  let close;
  let isWaiting;
  let waitingIds;
  let report;
  let cleanups = [];
  /** Aborted with the session, for its locks. */
  let life;
  /** Resolves to whether this side holds its lock. */
  let isHeld;
  /** Why no session can follow: set once the target has reported its end. */
  let ending;
  /** Whether the application knows that a session has begun. */
  let isOpen = false;
  /** Whether the other side's life is told by its lock. */
  let isLocked;
  /** Runs until a document of an origin that is not allowed has been in the window for long enough to be sure of it. */
  let stranger;
  /**
   * The key of the last window goodbye whose session has not sent its key yet. The goodbye may have arrived before the `rpc.key`
   * message.
   */
  let unknownByeKey;

  const guard = (run) => {
    try {
      run()?.then?.(undefined, report);
    } catch (error) {
      report(error);
    }
  };

  const handshake = new Handshake(door, channel, {
    adopt(other, onFirst) {
      const stop = listen(other.port, {
        message({ data }) {
          if (session !== other) onFirst?.();
          other.isDoubted = false;
          if (session === other) receive(data);
        },
        messageerror() {
          const error = unreadable();
          report(error);
          if (session === other) report(error, null);
        },
        close: () => session === other && suspect(other),
      });
      other.port.start();
      other.letGo = () => {
        stop();
        other.port.close();
      };
    },
    begin,
    replaced(origin) {
      // A window has one document. Of another one that was there before, some browsers still deliver messages.
      if (!session.isPlain && origin !== session.origin) return doubt(session);
      const replace = () => lose(ended("the other side is new"), true, "replaced");
      // What the old one has sent may still be on its way, with its goodbye at the end; and the new one says hello again.
      if (!session.isPlain) return void soon(session, replace);
      replace();
      // It may have been destroyed for that.
      return cleanups.length > 0;
    },
    stranger(origin) {
      const error = failure("wrong-origin", strangerText(origin, door.allowed));
      if (number === 0) stranger ??= setTimer(() => number === 0 && onFail(error), RELOAD_SILENCE);
      else if (session === undefined) lose(gone("another document is in its place", error), false);
      else if (!session.isPlain) doubt(session);
    },
    incompatible(version) {
      if (session !== undefined) return;
      const text = `the peer speaks version ${version} of the session protocol, this side version ${VERSION}: update the older one`;
      const error = failure(INCOMPATIBLE_VERSION, text);
      lose(number === 0 ? error : gone(text, error), false);
    },
    refused: (error) => number === 0 && onFail(failure("refused", beginning(error.message), error)),
  });

  // What shows that the other side is gone, and what to do when nothing is heard.
  const pulse = new Heartbeat((heartbeat || HEARTBEAT) / 3, door.current !== undefined, () => {
    const error = door.loss();
    if (error !== undefined) return lose(error, false);
    if (session !== undefined && window !== door.current?.()) lose(ended("its window is another one"), true);
    const patience = session?.isDoubted ? RELOAD_SILENCE : heartbeat;
    const beats = patience > 0 && session !== undefined && !session.isPlain && !session.isBidden && !isLocked;
    if (beats && pulse.silentMs >= patience - 1) {
      pulse.silentMs = 0;
      if (session.isDoubted) return lose(ended("its frame has loaded another document"), true);
      close?.(failure("unresponsive", `the other side is silent for ${heartbeat} ms`), true);
    } else if (beats && pulse.silentMs > 0) {
      session?.port.postMessage(note("rpc.ping"));
    }
    if (beats || door.current !== undefined) return number === 0 || isWaiting?.() === true;
  });

  function begin(other) {
    session = other;
    window = door.current?.();
    queue ??= [];
    isLocked = false;
    transport.coalesces = other.features.includes("batch");
    transport.columns = other.features.includes("columns");
    number++;
    if (!isOpen) held = other.isPlain ? held.filter(({ origin }) => origin === other.origin) : [];
    if (life === undefined) hold();
    // Only after its lock is watched: from then on, the death of the peer is noticed.
    if (other.features.includes(LOCK)) watch(other).then(() => session === other && open());
    else open();
    key = newId();
    const tell = (method, params) => session === other && other.port.postMessage(note(method, params));
    if (!other.isPlain && door.current !== undefined) {
      tell("rpc.key", { key });
      whenLoaded(() => tell("rpc.load"), life.signal);
    }
    if (!other.isPlain) isHeld.then((isHeld) => isHeld && tell("rpc.lock"));
    pulse.silentMs = 0;
    pulse.start();
    if (session !== other) return;
    // To the link, this is a sign of life.
    handler(note("rpc.pong"));
    guard(() => onSession?.({ number, origin: other.origin, features: other.features }));
    prune();
    for (const [message, transfer] of queue?.splice(0) ?? []) session?.port.postMessage(message, transfer);
  }

  /** Reports the session to the application. */
  function open() {
    if (isOpen) return;
    isOpen = true;
    onOpen();
    // The code that waits for this runs first, and can add its handlers.
    runLater(release);
  }

  /** Watches the lock of the peer. Resolves once it is known whether this side sees it. */
  function watch(other) {
    other.isWatched = true;
    // A worker and a window of this origin certainly share locks. Any other peer may have named a lock of this side. It is only
    // asked once that lock is free.
    const isSure = door.sharesLocks === true;
    const isShared = isSure || (other.origin === globalThis.origin && other.origin !== "null");
    return watchLock(
      other.id,
      life.signal,
      isSure,
      () => (isLocked = isShared),
      () => soon(other, () => ask(other)),
    );
  }

  /** Lets go of calls that have ended before they could be sent. */
  function prune() {
    const ids = waitingIds();
    const waits = ({ id }) => id === undefined || ids.has(id);
    queue = queue
      ?.map(([message, transfer]) => [Array.isArray(message) ? message.filter(waits) : message, transfer])
      .filter(([message]) => (Array.isArray(message) ? message.length > 0 : waits(message)));
  }

  /** Asks for the lock of this side: for the first session at once, since who is to begin it may be blocked right after. */
  function hold() {
    life = new AbortController();
    const { id } = handshake;
    isHeld = holdLock(id, life.signal).then((isHeld) => {
      if (id === handshake.id) handshake.isLocked = isHeld;
      return isHeld;
    });
  }

  function release() {
    const messages = held ?? [];
    held = undefined;
    const other = session;
    for (const { message } of messages) if (session === other) handler(message);
  }

  function receive(message, origin) {
    pulse.silentMs = 0;
    if (held?.length === MAX_SESSION_QUEUE && isOpen) release();
    if (held === undefined) handler(message);
    else if (held.length < MAX_SESSION_QUEUE) held.push({ message, origin });
  }

  /** The session has ended, if there is one; unless `reopens`, nothing is to be expected of the other side. */
  function lose(error, reopens, reason) {
    if (number === 0) return onFail(error);
    // The newest connection wins: it gets the next session.
    if (reopens && [...connections].findLast(isOnSameTarget) !== connection)
      return (lose(replaced(error), false, reason), stop());
    const was = session;
    end(reason);
    queue = reopens ? [] : undefined;
    if (!reopens) pulse.stop();
    close?.(error, reopens);
    if (was !== undefined) guard(() => onLost?.(error));
    if (!isOpen && !reopens) onFail(error);
  }

  function post(message, transfer) {
    if (session !== undefined) return session.port.postMessage(message, transfer);
    // Whoever comes next knows of no call to give up.
    if (queue === undefined || message.method === "$/cancelRequest") return;
    if (queue.length >= MAX_SESSION_QUEUE) prune();
    if (queue.length >= MAX_SESSION_QUEUE) throw failure("too-many-calls", "too many calls wait for a session");
    // A copy, as a port would have made it; and what cannot be sent is told now.
    queue.push(structuredClone([message, transfer], { transfer: transfer ?? [] }));
  }

  /** Lets go of the session, and says goodbye. */
  function end(reason) {
    if (session === undefined) return;
    const { port, isPlain, origin, letGo } = session;
    if (reason !== undefined && !isPlain) {
      port.postMessage(note("rpc.bye", { reason }));
      // Of a document that goes, not every browser delivers what it sends through ports.
      if (door.current !== undefined) door.post(note("rpc.bye", { key, reason }), undefined, origin);
    }
    letGo();
    releaseLock();
    session = undefined;
    transport.coalesces = transport.columns = false;
    held = isOpen ? undefined : [];
    handshake.end();
  }

  function releaseLock() {
    life?.abort();
    life = undefined;
    handshake.isLocked = false;
  }

  /** There are signs that the other side has gone, and it may have said why. */
  function suspect(other) {
    soon(other, loseDead);
  }

  function loseDead() {
    const error = ending ?? door.loss();
    if (error === undefined && door.current !== undefined) lose(ended("the other side has gone"), true);
    else lose(error ?? gone("the worker or thread of the other side has ended"), false);
  }

  /** The lock of the peer is free. It may have been stolen, so the peer is asked once, and dead without an answer. */
  function ask(other) {
    other.isAsked = true;
    other.port.postMessage(note("rpc.ping"));
    const decide = () => {
      if (other.isAsked) return loseDead();
      // From here on, only a heartbeat shows that it lives.
      isLocked = false;
      pulse.silentMs = 0;
      pulse.start();
    };
    // In two steps: if this thread was blocked, the answer comes in between.
    setTimer(() => soon(other, decide), ANSWER_TIME);
  }

  /**
   * A document loads once: if it has told so, this is another one in its frame. A goodbye is not sure to come: a process of
   * Firefox can end with its last document before it is sent.
   */
  function onLoad() {
    // What was said before was of another document.
    stranger = clearTimeout(stranger);
    if (session?.isLoaded) doubt(session);
  }

  /** There may be another document in the window: the peer is asked, and gone if it is silent. */
  function doubt(other) {
    // Not at once: where it is in a process of its own, the old document still answers for a moment.
    soon(other, () => {
      if (other.isDoubted) return;
      other.isDoubted = true;
      other.port.postMessage(note("rpc.ping"));
      pulse.silentMs = 0;
      pulse.start();
    });
  }

  /** Ends a session, unless its own goodbye comes first, or has been announced over the window. */
  function soon(other, end) {
    // If this thread was blocked, messages that have arrived are handled first.
    setTimer(() => runLater(() => session === other && !other.isBidden && end()), GOODBYE_TIMEOUT);
  }

  function leave({ reason }) {
    const error = reason === "replaced" ? replaced() : door.loss();
    lose(error ?? ended("the other side has reloaded, navigated or closed"), error === undefined);
    if (reason === "replaced") stop();
  }

  /** Handles a goodbye over the window. A peer that has not left the document sends another one through the port, after all else. */
  function bidden(reason) {
    if (reason === "left") return leave({ reason });
    const other = session;
    other.isBidden = true;
    setTimer(() => session === other && leave({ reason }), COPIED_GOODBYE_TIMEOUT);
  }

  function stop() {
    connections.delete(connection);
    clearTimeout(stranger);
    handshake.stop();
    pulse.stop();
    releaseLock();
    for (const cleanup of cleanups.splice(0)) cleanup();
  }

  const connection = {
    channel,
    target: door.target,
    /** A newer connection has begun. A connection with a session keeps it until the peer begins a session with the newer one. */
    giveWay() {
      if (session !== undefined) return;
      lose(replaced(), false);
      stop();
    },
  };
  const isOnSameTarget = (other) => other.channel === channel && other.target() === door.target();

  const transport = {
    /** Whether the other side takes lists of messages. */
    coalesces: false,
    /** Whether it reads columns. */
    columns: false,
    boundary: door.boundary,
    isSession: true,
    /** Whether the peer is notified when this side is destroyed. */
    saysGoodbye: () => session !== undefined && !session.isPlain,
    /** Whether it hears a call that others on the boundary hear, too: only with a peer that knows no sessions. */
    hears: (origin) => session?.isPlain === true && session.origin === origin,
    lastOrigin: () => session?.origin,
    /** Begins to listen, and to say hello. */
    start() {
      // What runs may throw, too, and go on. What throws before it has said a word has not started.
      const fail = (cause, end) => {
        if (number > 0) {
          if (end === undefined) return;
          ending = end;
          // There may still be messages in the port of the session.
          return session === undefined ? lose(end, false) : suspect(session);
        }
        onFail(unstarted("worker-failed", cause));
      };
      const hear = (message, origin, isAllowed) => {
        if (handshake.takes(message, origin, isAllowed) || !isAllowed) return;
        if (message.method === "rpc.bye") {
          const { key, reason } = Object(message.params);
          if (!isId(key)) return;
          if (key === session?.key) return bidden(reason);
          unknownByeKey = key;
          handshake.keepAnswer();
        } else if (session === undefined ? number === 0 : session.isPlain) {
          // What another origin says is of another document, and belongs to a session of its own.
          if (session !== undefined && origin !== session.origin) {
            lose(ended("a document of another origin is in its place"), true);
            // The application may have destroyed its peer for that.
            if (cleanups.length === 0) return;
            handshake.beginPlain(origin);
          }
          receive(message, origin);
        }
      };
      cleanups = [
        door.listen(hear, (error) => lose(error, false), fail, onLoad),
        listen(globalThis, {
          pagehide() {
            if (session !== undefined) lose(ended("this page was left"), true, "left");
            // Browsers do not keep a page that holds a lock for the way back.
            releaseLock();
          },
          pageshow({ persisted }) {
            if (!persisted) return;
            if (life === undefined) hold();
            handshake.start();
          },
        }),
      ];
      for (const other of connections) if (isOnSameTarget(other)) other.giveWay();
      connections.add(connection);
      hold();
      // A side that gets its lock before the handshake is watched from the first moment of the session.
      const begin = () => cleanups.length > 0 && !handshake.isReady && handshake.start();
      const waiting = setTimer(begin, LOCK_TIMEOUT);
      isHeld.then(begin);
      // The application may append an iframe to the document in this turn.
      const looking = setTimer(() => pulse.start());
      cleanups.push(() => [waiting, looking].forEach(clearTimeout));
    },
    send(message, transfer) {
      post(message, transfer);
      // After that: what is sent belongs to the session that there was, even if this look ends it.
      if (pulse.isIdle) pulse.start();
    },
    onMessage(receiver) {
      handler = receiver;
    },
    onClose(onEnd, waits, ids) {
      close = onEnd;
      isWaiting = waits;
      waitingIds = ids;
    },
    onError(handler) {
      report = handler;
    },
    onControl(method, params) {
      const other = session;
      if (other === undefined) return;
      if (method === "rpc.ping") other.port.postMessage(note("rpc.pong"));
      // Not before what came with it is done: its replies are for the session that ends.
      else if (method === "rpc.bye") Promise.resolve().then(() => session === other && leave(Object(params)));
      else if (method === "rpc.key" && isId(params?.key)) {
        other.key = params.key;
        if (unknownByeKey === other.key) bidden();
      } else if (method === "rpc.load") other.isLoaded = true;
      else if (method === "rpc.pong") other.isAsked = false;
      else if (method === "rpc.lock" && !other.isWatched) watch(other);
    },
    destroy() {
      end("closed");
      stop();
    },
  };
  insides.set(transport, transport);
  return transport;
}
