// The boundaries of this realm: the ports, workers, windows and channels over which the realm exchanges messages.
// Several links (ends of connections) may be on one boundary. The calls of all links on a boundary must have different
// ids, and only one of the links answers a request. The registry of boundaries is on the global object, because all
// copies of the library in a realm must share it.

const newRegistry = () => ({
  objects: new WeakMap(),
  names: new Map(),
  /**
   * The iframes whose transports listen on the global window: each entry has a `frame`, its `currentWindow()` and its
   * `boundary`.
   */
  frames: new Set(),
});

export const registry = /* @__PURE__ */ (() => (globalThis[Symbol.for("portway.boundaries")] ??= newRegistry()))();

/**
 * The connections that `connect` has made in this realm, oldest first. Each has a `target()`, a `channel`, and
 * `yieldToNewer()`.
 */
export const connections = (registry.connections ??= new Set());

function getOrCreate(map, key) {
  if (!map.has(key)) map.set(key, { links: new Set(), lastId: 0 });
  return map.get(key);
}

/**
 * Returns the boundary of a port, a worker or a channel. The boundary is an object: `links` are the links on it, and
 * `lastId` is the last id that the most recently removed link has used.
 */
export function boundaryOf(object) {
  return getOrCreate(registry.objects, object);
}

/**
 * Returns the boundary of the window `target`, whose messages arrive at the window `source`. An iframe may have several
 * windows, one after another. While a transport on the iframe listens on the global window, all windows of the iframe
 * have one boundary.
 */
export function boundaryOfWindow(source, target) {
  const windows = (boundaryOf(source).windows ??= new WeakMap());
  for (const { frame, currentWindow, boundary } of source === globalThis ? registry.frames : []) {
    if (frame === target || currentWindow() === target) windows.set(target, boundary);
  }
  return getOrCreate(windows, target);
}

/**
 * Returns the boundary that all channels of this realm with the name `name` share. Other realms may also have channels
 * with this name, so the ids of calls begin at a random number.
 */
export function boundaryOfName(name) {
  return Object.assign(getOrCreate(registry.names, name), { isShared: true });
}

/**
 * The internals of each transport of the library: an object with the `boundary` of the transport. An object that wraps
 * a transport, or inherits from it, has no internals.
 */
export const transportInternals = new WeakMap();

/** Adds a link to a boundary. Returns a number: the ids of the link's calls begin after this number. */
export function addLink(boundary, link) {
  // Other links on the boundary may use small ids. A random start makes equal ids unlikely.
  const isRandom = boundary.isShared || boundary.links.size > 0;
  boundary.links.add(link);
  return isRandom ? Math.floor(Math.random() * 2 ** 48) : boundary.lastId;
}

/**
 * Removes a link. `lastId` is the id of the last call of this link. Answers to its calls may still arrive, so the ids
 * of the next link begin after `lastId`.
 */
export function removeLink(boundary, link, lastId) {
  boundary.links.delete(link);
  boundary.lastId = lastId;
}

/** Returns the link that answers a request: the first link with the highest rank, or `own` if all ranks are 0. */
export function chooseLink({ links }, own, method, origin, id) {
  let chosen = own;
  let highest = 0;
  for (const link of links) {
    const rank = link.answerRank(method, origin, id);
    if (rank > highest) [chosen, highest] = [link, rank];
  }
  return chosen;
}

/** Returns whether links other than `own` may have pending calls on a boundary. */
export function hasOtherPendingCalls({ isShared, links }, own) {
  return isShared || [...links].some((link) => link !== own && link.pending() > 0);
}
