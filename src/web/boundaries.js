// Boundaries on which several transports of one realm are made: no two calls there may have one id, and each request gets
// one answer. The registry is on the global object, since a realm may hold more than one copy of this library.

const newRegistry = () => ({
  objects: new WeakMap(),
  names: new Map(),
  /** The frames that are listened to: each entry has a `frame`, its `currentWindow()` and its `boundary`. */
  frames: new Set(),
});

export const registry = /* @__PURE__ */ (() => (globalThis[Symbol.for("portway.boundaries")] ??= newRegistry()))();

/** The connections of this realm, oldest first. Each has a `target()`, a `channel`, and `giveWay()`. */
export const connections = (registry.connections ??= new Set());

function registered(map, key) {
  if (!map.has(key)) map.set(key, { ends: new Set(), lastId: 0 });
  return map.get(key);
}

/**
 * The boundary of an object: a port, a worker, a channel. `ends` are the links on it, and `lastId` is the last id that a call
 * on it had.
 */
export function boundaryOf(object) {
  return registered(registry.objects, object);
}

/**
 * The boundary of a window whose messages arrive at the window `source`. All windows that are in a frame, one after another, are
 * one boundary while a transport on the frame listens on the global window.
 */
export function boundaryOfWindow(source, target) {
  const windows = (boundaryOf(source).windows ??= new WeakMap());
  for (const { frame, currentWindow, boundary } of source === globalThis ? registry.frames : []) {
    if (frame === target || currentWindow() === target) windows.set(target, boundary);
  }
  return registered(windows, target);
}

/** The boundary of all channels of one name. Other realms share it, so its ids are chosen at random. */
export function boundaryOfName(name) {
  return Object.assign(registered(registry.names, name), { isShared: true });
}

/**
 * What stands behind each transport of the library: an object that has the `boundary` of the transport, and perhaps more. It is
 * found by the very transport, so that an object that wraps one, or inherits from it, is a transport of its own.
 */
export const insides = new WeakMap();

/** Adds an end to its boundary; returns the id after which its ids begin. */
export function enter(boundary, end) {
  // The ids 1, 2, 3 of another end may be in use.
  const isRandom = boundary.isShared || boundary.ends.size > 0;
  boundary.ends.add(end);
  return isRandom ? Math.floor(Math.random() * 2 ** 48) : boundary.lastId;
}

/** Removes an end. Answers to its calls may still come, so later ends go on after its last id. */
export function leave(boundary, end, lastId) {
  boundary.ends.delete(end);
  boundary.lastId = lastId;
}

/**
 * The end that answers a request: the first of those that have the method, else of those that serve others. What came by a
 * session of its own is answered by its own end.
 */
export function answering({ ends }, own, method, origin, id) {
  let chosen = own;
  let most = 0;
  for (const end of ends) {
    const rank = end.serves(method, origin, id);
    if (rank > most) [chosen, most] = [end, rank];
  }
  return chosen;
}

/** Whether calls of other links may wait on a boundary, too. */
export function othersWait({ isShared, ends }, own) {
  return isShared || [...ends].some((end) => end !== own && end.pending() > 0);
}
