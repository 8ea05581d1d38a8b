// The boundaries of this realm: ports, workers, windows and channels. Several links may be on one boundary. Their calls
// must not have the same ids, and only one of them answers a request. The registry is on the global object, since a
// realm may contain several copies of the library.

const newRegistry = () => ({
  objects: new WeakMap(),
  names: new Map(),
  /** The iframes with a listener: each entry has a `frame`, its `currentWindow()` and its `boundary`. */
  frames: new Set(),
});

export const registry = /* @__PURE__ */ (() => (globalThis[Symbol.for("portway.boundaries")] ??= newRegistry()))();

/** The connections of this realm, oldest first. Each has a `target()`, a `channel`, and `giveWay()`. */
export const connections = (registry.connections ??= new Set());

function getOrCreate(map, key) {
  if (!map.has(key)) map.set(key, { ends: new Set(), lastId: 0 });
  return map.get(key);
}

/**
 * Returns the boundary of a port, a worker or a channel. `ends` are the links on it, and `lastId` is the id of its last
 * call.
 */
export function boundaryOf(object) {
  return getOrCreate(registry.objects, object);
}

/**
 * Returns the boundary of a window whose messages arrive at the window `source`. While a transport on an iframe listens
 * on the global window, all windows that are in the iframe one after another have the same boundary.
 */
export function boundaryOfWindow(source, target) {
  const windows = (boundaryOf(source).windows ??= new WeakMap());
  for (const { frame, currentWindow, boundary } of source === globalThis ? registry.frames : []) {
    if (frame === target || currentWindow() === target) windows.set(target, boundary);
  }
  return getOrCreate(windows, target);
}

/** Returns the boundary of all channels with a name. Other realms share it, so its ids are random. */
export function boundaryOfName(name) {
  return Object.assign(getOrCreate(registry.names, name), { isShared: true });
}

/**
 * The internals of each transport of the library: an object with the `boundary` of the transport. An object that wraps
 * a transport, or inherits from it, has no internals.
 */
export const transportInternals = new WeakMap();

/** Adds an end to its boundary. Returns the id before its first id. */
export function addEnd(boundary, end) {
  // Another end may use small ids.
  const isRandom = boundary.isShared || boundary.ends.size > 0;
  boundary.ends.add(end);
  return isRandom ? Math.floor(Math.random() * 2 ** 48) : boundary.lastId;
}

/** Removes an end. Answers to its calls may still arrive, so the ids of later ends begin after its last id. */
export function removeEnd(boundary, end, lastId) {
  boundary.ends.delete(end);
  boundary.lastId = lastId;
}

/** Returns the end that answers a request: the first end with the highest rank, or `own` if no end has a rank. */
export function chooseEnd({ ends }, own, method, origin, id) {
  let chosen = own;
  let highest = 0;
  for (const end of ends) {
    const rank = end.answerRank(method, origin, id);
    if (rank > highest) [chosen, highest] = [end, rank];
  }
  return chosen;
}

/** Returns whether a boundary may have pending calls of other links. */
export function hasOtherPendingCalls({ isShared, ends }, own) {
  return isShared || [...ends].some((end) => end !== own && end.pending() > 0);
}
